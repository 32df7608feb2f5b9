//! What people read in the run's log while it goes on: what was said, and a line per call.

use outlast_journal::agent::{ToolEnded, Work};
use std::io::Write;

/// The log of a worker: its standard output, which its supervisor keeps.
pub(crate) struct Log<'a> {
    out: &'a mut dyn Write,
}

impl<'a> Log<'a> {
    /// Returns a log that writes to `out`.
    pub(crate) fn new(out: &'a mut dyn Write) -> Self {
        Self { out }
    }

    /// Writes a line. A log that nobody keeps any more is no reason to stop.
    pub(crate) fn line(&mut self, text: &str) {
        let written = writeln!(self.out, "{text}").and_then(|()| self.out.flush());
        written.ok();
    }

    /// Writes what a fact says to people, if it says anything.
    #[expect(
        clippy::match_same_arms,
        reason = "what is known is listed; what only a later version knows is apart"
    )]
    pub(crate) fn fact(&mut self, work: &Work) {
        match work {
            Work::Text(text) => self.line(text.trim_end()),
            // What is told of a call in few words begins with its tool.
            Work::ToolCalled(called) => {
                self.line(&format!("[{}] {}", called.call, called.brief));
            }
            Work::ToolResult(ended) => {
                let word = if ended.ok { "ok" } else { "failed" };
                self.line(&format!("[{}] {word}{}", ended.call, details(ended)));
            }
            Work::ToolFailed(ended) => {
                self.line(&format!(
                    "[{}] {} was not run{}",
                    ended.call,
                    ended.tool,
                    details(ended)
                ));
            }
            Work::GoalEvaluated(goal) => {
                let verdict = match (&goal.why, goal.passed) {
                    (_, true) => "passed".to_owned(),
                    (Some(why), false) => format!("not passed: {why}"),
                    (None, false) => "not passed".to_owned(),
                };
                self.line(&format!("[goal.{}] {verdict}", goal.iteration));
            }
            Work::Ask(asked) => self.line(&format!(
                "[{}] waits for approval until {}: {}",
                asked.ask, asked.expires, asked.question
            )),
            Work::Note(words, _) => self.line(&format!("note: {words}")),
            Work::Final(end) => {
                if let Some(message) = &end.message {
                    self.line(&format!("error: {message}"));
                }
                self.line(&format!("ended: {}", end.status));
            }
            Work::Compacted(compacted) => self.line(&format!(
                "note: {} messages were replaced by a summary",
                compacted.replaced
            )),
            Work::Meta(_)
            | Work::TurnBegin(_)
            | Work::ModelTurn(_)
            | Work::CallRequest(_)
            | Work::CallResult(_)
            | Work::TodoSet(_)
            | Work::Input(_) => {}
            // What only a later version says has no words here.
            _ => {}
        }
    }
}

fn details(ended: &ToolEnded) -> String {
    let mut parts = Vec::new();
    parts.extend(ended.code.clone());
    parts.extend(ended.exit_code.map(|code| format!("exit {code}")));
    parts.extend(ended.elapsed_ms.map(|ms| format!("{ms} ms")));
    let brief = Some(&ended.brief).filter(|brief| !brief.is_empty());
    parts.extend(brief.cloned());
    if parts.is_empty() {
        return String::new();
    }
    format!(" ({})", parts.join(", "))
}
