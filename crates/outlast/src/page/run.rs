//! The page of one run: everything a person asks of it, and what to type next.

use crate::{
    look::{Look, Paint, clean, pad},
    page::{agent, events},
    verdict::{Verdict, state_words},
    words,
};
use outlast_journal::{Event, Kind, Leftovers, Lifetime, Record, RunId, Spec, Status, Stdin};

use outlast_lib::Document;

/// Columns of the names at the left.
const NAME_COLUMNS: usize = 10;
/// Events on the page, newest.
const EVENTS_MAX: usize = 8;

/// Everything that the page is made of.
pub(crate) struct Page<'a> {
    /// The run.
    pub(crate) record: &'a Record,
    /// What was bound, if it can be read.
    pub(crate) spec: Option<&'a Spec>,
    /// Its events.
    pub(crate) events: &'a [Event],
    /// What it came to, of an agent run that has ended.
    pub(crate) document: Option<&'a Document>,
    /// Its last lines of output.
    pub(crate) last_lines: &'a str,
    /// The shortest beginning of its id that names no other run.
    pub(crate) short_id: &'a str,
    /// Runs that were started inside it, outlived it, and go on.
    pub(crate) inside: &'a [RunId],
    /// The unit of systemd that holds it, if one does.
    pub(crate) unit: Option<&'a str>,
}

impl Page<'_> {
    /// Returns the page, drawn.
    pub(crate) fn draw(&self, look: &Look) -> String {
        let mut lines = vec![self.head(look)];
        let facts = [
            (self.what(), self.command()),
            ("model", agent::model(self.spec)),
            ("until", agent::until(self.spec)),
            ("bounds", agent::bounds(self.spec)),
            ("asks", agent::asks(self.record, look.now)),
            ("result", agent::result(self.document)),
            ("goal", agent::goal(self.document)),
            ("unproven", agent::claims(self.document)),
            ("unknown", agent::unknown(self.document)),
            ("where", self.place(look)),
            ("by", self.origin()),
            ("time", self.times(look)),
            ("limits", self.limits(look)),
            ("posture", self.posture()),
            ("appeared", appeared(self.record).unwrap_or_default()),
            ("survives", self.survives()),
            ("ends", self.ends()),
            ("reads", self.reads()),
            ("exit", self.exit()),
            ("use", self.usage()),
            ("output", self.output()),
            ("left", self.left()),
        ];
        for (name, text) in facts {
            if !text.is_empty() {
                lines.push(format!(
                    "{}{text}",
                    look.paint(Paint::Dim, &pad(name, NAME_COLUMNS))
                ));
            }
        }
        self.draw_events(look, &mut lines);
        self.draw_output(look, &mut lines);
        lines.push(String::new());
        let next = self.next_steps().into_iter();
        lines.extend(next.map(|step| format!("{} {step}", look.paint(Paint::Dim, "→"))));
        lines.push(String::new());
        lines.join("\n")
    }

    fn head(&self, look: &Look) -> String {
        let verdict = Verdict::of(self.record);
        let sign = look.paint(verdict.paint, verdict.glyph);
        let label = look.paint(Paint::Bold, &clean(&self.record.label));
        let state = look.paint(verdict.paint, &state_words(self.record));
        let id = look.paint(Paint::Dim, self.record.id.as_str());
        format!("{sign} {label}: {state}  {id}")
    }

    fn what(&self) -> &'static str {
        match self.record.kind {
            Kind::Command => "command",
            Kind::Agent => "task",
        }
    }

    fn command(&self) -> String {
        let command = clean(&self.record.command);
        match &self.record.shell {
            None => command,
            Some(shell) => {
                let login = if shell.login { " -l" } else { "" };
                let pipefail = if shell.pipefail { " -o pipefail" } else { "" };
                format!("{command}  (by {}{login}{pipefail})", clean(&shell.program))
            }
        }
    }

    fn place(&self, look: &Look) -> String {
        let cwd = look.path(&self.record.cwd);
        if self.record.cwd == self.record.project {
            cwd
        } else {
            format!("{cwd}, project {}", look.path(&self.record.project))
        }
    }

    fn origin(&self) -> String {
        let origin = &self.record.origin;
        let mut parts = vec![clean(origin.host.as_deref().unwrap_or("unknown"))];
        if let Some(session) = &self.record.session {
            parts.push(format!("session {}", clean(session)));
        }
        if let Some(thread) = &origin.thread {
            parts.push(format!("thread {}", clean(thread)));
        }
        if let Some(parent) = self.record.parent {
            parts.push(format!("inside run {parent}"));
        }
        if !origin.ancestry.is_empty() {
            parts.push(format!("by way of {}", clean(&origin.ancestry.join(" → "))));
        }
        parts.join(", ")
    }

    fn times(&self, look: &Look) -> String {
        let record = self.record;
        let ago = look.now.unix_ms().saturating_sub(record.created.unix_ms());
        let mut parts = vec![format!(
            "created {} ({} ago)",
            words::moment(record.created, look),
            words::age(ago)
        )];
        if let Some(ended) = record.ended {
            parts.push(format!("ended {}", words::moment(ended, look)));
        }
        match (record.elapsed_ms, record.started) {
            (Some(ms), _) => parts.push(format!("ran {}", words::span(ms))),
            (None, Some(_)) => parts.push("ran for an unknown time".to_owned()),
            (None, None) => {}
        }
        parts.join(", ")
    }

    fn limits(&self, look: &Look) -> String {
        let record = self.record;
        let mut parts = vec![match record.timeout_secs {
            Some(seconds) => format!("time {}", words::limit(milliseconds(seconds))),
            None => "no time limit".to_owned(),
        }];
        if let Some(deadline) = record.deadline {
            parts.push(format!("deadline {}", words::moment(deadline, look)));
        }
        if let Some(seconds) = record.idle_ttl_secs {
            parts.push(format!(
                "unread for {}",
                words::limit(milliseconds(seconds))
            ));
        }
        if let Some(spec) = self.spec {
            parts.push(format!("grace {}", words::limit(spec.grace_ms)));
            parts.push(format!("output {}", words::bytes(spec.output_bytes_max)));
            if let Some(signal) = &spec.stop_signal {
                parts.push(format!("stopped by SIG{signal}"));
            }
            if let Some(command) = &spec.stop_command {
                parts.push(format!("stop command `{}`", clean(command)));
            }
        }
        parts.join(", ")
    }

    fn posture(&self) -> String {
        let posture = &self.record.posture;
        if posture.mode == "host" {
            let (tier, network) = (clean(&posture.tier), clean(&posture.network));
            format!("uncontained: it may do what you may do (tier {tier}, network {network})")
        } else {
            clean(&posture.line())
        }
    }

    /// What a detached run outlasts. Of an ended one there is nothing to say any more.
    fn survives(&self) -> String {
        let record = self.record;
        let is_live = !record.status.is_ended() && record.lifetime == Lifetime::Detached;
        let Some(survives) = record.survives.filter(|_| is_live) else {
            return String::new();
        };
        let unit = self.unit.map(|unit| {
            let unit = clean(unit);
            (
                survives.unit_restart,
                format!("a restart of its systemd unit {unit}"),
            )
        });
        let things = [
            (survives.host_exit, "its caller's end".to_owned()),
            (survives.terminal, "a closed terminal".to_owned()),
        ];
        let (kept, lost): (Vec<_>, Vec<_>) = things
            .into_iter()
            .chain(unit)
            .partition(|(is_survived, _)| *is_survived);
        let names = |things: Vec<(bool, String)>, and: &str| {
            let names: Vec<String> = things.into_iter().map(|(_, name)| name).collect();
            names.join(and)
        };
        match (names(kept, " and "), names(lost, " or ")) {
            (kept, lost) if lost.is_empty() => kept,
            (kept, lost) if kept.is_empty() => format!("not {lost}"),
            (kept, lost) => format!("{kept}; not {lost}"),
        }
    }

    /// What decides about its end beside its command, its limits and its readers.
    fn ends(&self) -> String {
        let mut parts = Vec::new();
        match self.record.lifetime {
            Lifetime::Detached => {}
            Lifetime::Session => parts.push("with its session at the latest"),
        }
        match self.spec.map(|spec| spec.leftovers) {
            Some(Leftovers::Report) | None => {}
            Some(Leftovers::Wait) => parts.push("when all its processes have"),
            Some(Leftovers::Stop) => parts.push("with its command, and stops what outlives that"),
        }
        parts.join(", ")
    }

    fn reads(&self) -> String {
        match self.spec.map(|spec| spec.stdin) {
            Some(Stdin::Null) => "nothing".to_owned(),
            Some(Stdin::Pipe) => "what `outlast send` writes".to_owned(),
            None => String::new(),
        }
    }

    /// Whose exit code it is, where that is easily taken for another.
    fn exit(&self) -> String {
        match (self.record.exit_rule.as_deref(), self.record.exit_code) {
            (Some("last_of_pipe"), Some(code)) => format!(
                "{code} is that of the last part of the pipe; \
                 with --pipefail any part that fails counts"
            ),
            (Some(_) | None, _) => String::new(),
        }
    }

    fn usage(&self) -> String {
        match self.record.usage {
            Some(usage) => format!(
                "CPU {}, peak memory {}",
                words::span(usage.cpu_ms),
                words::bytes(usage.peak_rss_bytes)
            ),
            None => String::new(),
        }
    }

    fn output(&self) -> String {
        let output = &self.record.output;
        let mut parts = vec![words::bytes(output.bytes)];
        if let Some(gap) = output.gap {
            parts.push(format!(
                "{} dropped (bytes {}–{})",
                words::bytes(gap.bytes()),
                gap.from,
                gap.to.saturating_sub(1)
            ));
        }
        if let Some(lost) = output.lost {
            parts.push(format!("{} that the disk did not take", words::bytes(lost)));
        }
        if let Some(after) = output.after_end {
            parts.push(format!("{} more after the end", words::bytes(after)));
        }
        parts.join(", ")
    }

    fn left(&self) -> String {
        let record = self.record;
        let processes = record.leftovers.iter();
        let mut parts: Vec<String> = processes
            .map(|left| format!("{} `{}`", left.pid, clean(&left.command)))
            .collect();
        parts.extend(self.inside.iter().map(|id| format!("run {id}")));
        parts.extend(
            record
                .unkillable
                .iter()
                .map(|pid| format!("{pid} (cannot be killed)")),
        );
        parts.join(", ")
    }

    fn draw_events(&self, look: &Look, lines: &mut Vec<String>) {
        if self.events.is_empty() {
            return;
        }
        lines.push(String::new());
        let older = self.events.len().saturating_sub(EVENTS_MAX);
        if older > 0 {
            let older = words::count(older as u64, "older event", "older events");
            lines.push(look.paint(Paint::Dim, &format!("  … {older}")));
        }
        let newest = self.events.iter().skip(older);
        lines.extend(newest.map(|event| events::line(event, look)));
    }

    fn draw_output(&self, look: &Look, lines: &mut Vec<String>) {
        if self.last_lines.trim().is_empty() {
            return;
        }
        lines.push(String::new());
        let bar = look.paint(Paint::Dim, "│");
        let drawn = self.last_lines.lines().map(|line| {
            let line = look.fit(&clean(line), 2);
            format!("{bar} {line}").trim_end().to_owned()
        });
        lines.extend(drawn);
    }

    fn next_steps(&self) -> Vec<String> {
        let id = self.short_id;
        if self.record.needs_approval.is_some() {
            return vec![
                format!("outlast approve {id}"),
                format!("outlast deny {id}"),
            ];
        }
        match self.record.status {
            Status::Queued | Status::Running => vec![
                format!("outlast logs -f {id}"),
                format!("outlast wait {id}"),
                format!("outlast cancel {id}"),
            ],
            Status::Completed
            | Status::Failed
            | Status::Cancelled
            | Status::TimedOut
            | Status::Interrupted => {
                let mut steps = vec![format!("outlast logs {id}")];
                if self.document.is_some() && self.record.status != Status::Completed {
                    steps.push(format!("outlast resume {id}   (goes on where it ended)"));
                }
                if !(self.record.leftovers.is_empty() && self.inside.is_empty()) {
                    steps.push(format!("outlast cancel {id}   (stops what is left)"));
                }
                steps
            }
        }
    }
}

/// Returns what is to be said of names that could not be protected since they were absent.
pub(crate) fn appeared(record: &Record) -> Option<String> {
    let names = &record.posture.appeared;
    if names.is_empty() {
        return None;
    }
    let names = clean(&names.join(", "));
    Some(format!(
        "{names}: not there before, and other programs obey it; look before you trust it"
    ))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a record's seconds were made from whole milliseconds"
)]
fn milliseconds(seconds: f64) -> u64 {
    (seconds * 1_000.0).round() as u64
}

#[cfg(test)]
mod tests;
