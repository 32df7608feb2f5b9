//! The goal's check, and how the work ends.

use super::{Worker, answer};
use crate::channel::ChannelError;
use crate::decide::{Ending, Fault};
use crate::memory::Newest;
use crate::models::ModelError;
use crate::{chain, claims, goal};
use outlast_journal::agent::{Final, Work};
use outlast_journal::error::Advice;
use outlast_journal::worker::{CallAsk, CallProgram};
use outlast_journal::{limits, text};

impl Worker<'_> {
    /// Runs the goal's check, and tells what it came to.
    pub(super) async fn check(&mut self) -> Result<(), ChannelError> {
        let Some(check) = self.agent.request.until.clone() else {
            return Ok(());
        };
        let iteration = self.memory.goal.checks + 1;
        let id = goal::call_id(iteration);
        self.memory.ends.remove(&id);
        let ask = CallAsk {
            call: id.clone(),
            program: CallProgram::Shell(check.clone()),
            stdin: None,
            timeout_ms: self.check_ms(),
            grace_ms: self.grace_ms(),
            is_on_host: false,
        };
        self.channel.call(ask).await?;
        self.memory.unknown.remove(&id);
        while !self.memory.ends.contains_key(&id) && !self.memory.unknown.contains(&id) {
            self.hear().await?;
        }
        let log = Self::call_log(&self.dir, &id);
        let output = goal::newest_output(&log).unwrap_or_else(|error| error.to_string());
        let evaluated = goal::evaluate(iteration, &check, self.memory.ends.get(&id), &output);
        // A check that the cancel stopped says nothing of the goal.
        if self.is_cancelling && !evaluated.passed {
            return Ok(());
        }
        self.tell([Work::GoalEvaluated(Box::new(evaluated))]).await
    }

    fn check_ms(&self) -> u64 {
        let asked = self.agent.request.check_ms;
        asked.map_or(limits::GOAL_CHECK_MS, |ms| ms.min(limits::GOAL_CHECK_MS))
    }

    /// Tells that the model gave no turn.
    pub(super) async fn fail(&mut self, error: &ModelError) -> Result<(), ChannelError> {
        self.fail_with(error.code(), &chain(error), error.hint())
            .await
    }

    /// Tells that the work ended with an error.
    pub(super) async fn fail_with(
        &mut self,
        code: &str,
        message: &str,
        suggestion: String,
    ) -> Result<(), ChannelError> {
        let end = Final {
            error: Some(code.to_owned()),
            message: Some(message.to_owned()),
            suggestions: vec![suggestion],
            ..self.end(
                "error",
                "self",
                text::first_line_label(message, limits::SUMMARY_CHARS),
            )
        };
        self.tell([Work::Final(Box::new(end))]).await
    }

    /// Tells how the work ended.
    pub(super) async fn finish(&mut self, ending: Ending) -> Result<(), ChannelError> {
        if ending == Ending::Cancelled {
            self.cancel_runs().await;
        }
        let counts = &self.memory.counts;
        let turns = counts.turns;
        let end = match ending {
            Ending::Success => self.success(),
            Ending::Cancelled => self.end("cancelled", "cancel", "cancelled".to_owned()),
            Ending::Turns => {
                let summary = format!("stopped: all {turns} turns are used");
                self.end("max_turns", "limit:turns", summary)
            }
            Ending::Tokens => {
                let summary = format!("stopped: {} tokens are used", counts.tokens);
                self.end("budget", "limit:tokens", summary)
            }
            Ending::Cost => {
                let summary = "stopped: it cost what it may cost".to_owned();
                self.end("budget", "limit:cost", summary)
            }
            Ending::Stalled => {
                let summary = "stopped: the same call with the same result, again and again";
                self.end("stalled", "limit:repeats", summary.to_owned())
            }
            Ending::Blocked => {
                let summary = "stopped: a tool that it asked for twice was denied";
                self.end("blocked", "limit:denials", summary.to_owned())
            }
            Ending::GoalChecks => {
                let checks = self.memory.goal.checks;
                let summary = format!("stopped: the check did not pass in {checks} times");
                self.end("goal_pending", "limit:goal_checks", summary)
            }
            Ending::GoalSame => {
                let times = self.memory.goal.equal_failures;
                let summary =
                    format!("stopped: the check failed with the same output {times} times");
                self.end("goal_pending", "limit:goal_repeats", summary)
            }
            Ending::Fault(fault) => return self.finish_with_fault(fault).await,
        };
        self.tell([Work::Final(Box::new(end))]).await
    }

    async fn finish_with_fault(&mut self, fault: Fault) -> Result<(), ChannelError> {
        let (message, suggestion) = match fault {
            Fault::Malformed => (
                "the model wrote several calls in a row that cannot be read".to_owned(),
                "choose a model that is made for tools",
            ),
            Fault::AnswerInvalid => (
                format!(
                    "the answer does not keep the schema: {}",
                    self.answer_faults().join("; ")
                ),
                "resume the run, or ask for a simpler form",
            ),
            Fault::AnswerCut => (
                "the model's message was cut by its length, again and again".to_owned(),
                "ask for less at once, or choose a model that writes more",
            ),
            Fault::Refused => (
                "the model refused to go on".to_owned(),
                "word the task in another way, or choose another model",
            ),
            Fault::WindowFull => (
                "what the model has to read does not fit into its window".to_owned(),
                "give a shorter task, or choose a model that holds more",
            ),
            Fault::JournalUnwritable => (
                "the run's journal takes nothing more".to_owned(),
                "make room on the disk, and resume the run",
            ),
        };
        let hint = suggestion.to_owned();
        self.fail_with(fault.code(), &message, hint).await
    }

    fn success(&self) -> Final {
        let text = match &self.memory.newest {
            Newest::Message { text, .. } => text.as_str(),
            Newest::Nothing | Newest::Calls => "",
        };
        let first = text::first_line_label(text, limits::SUMMARY_CHARS);
        let summary = if first.is_empty() {
            "completed without a final message".to_owned()
        } else {
            first
        };
        let schema = self.agent.request.schema.as_ref();
        let answer = schema.and_then(|schema| answer::read(schema, text).ok());
        Final {
            text: text.to_owned(),
            answer: answer.unwrap_or_default(),
            ..self.end("success", "self", summary)
        }
    }

    /// Returns an end with the newest text of the model, and what of it is only said.
    fn end(&self, status: &str, ended_by: &str, summary: String) -> Final {
        let is_checked = self.memory.goal.checks > 0;
        let text = self.memory.last_text.clone();
        Final {
            status: status.to_owned(),
            summary,
            ungrounded_claims: claims::ungrounded(&text, &self.memory.receipts, is_checked),
            text,
            answer: serde_json::Value::Null,
            ended_by: ended_by.to_owned(),
            error: None,
            message: None,
            suggestions: Vec::new(),
        }
    }
}
