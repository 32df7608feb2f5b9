//! Folds a journal into the state that callers see.

use crate::agent::{Asked, Told, Work};
use crate::{Claimed, End, Fact, Line, MainExit, Peek, Queued, Seq, Started, Stop, Timestamp};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Where a run is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// It waits for a place.
    Queued,
    /// It executes.
    Running,
    /// Its main process exited with 0.
    Completed,
    /// It ended in another way by itself, or could not start.
    Failed,
    /// It was stopped because somebody asked.
    Cancelled,
    /// It was stopped at its time limit.
    TimedOut,
    /// Its supervisor or the machine died; how it ended is unknown.
    Interrupted,
}

impl Status {
    /// All states, in the order of a run's life.
    pub const ALL: [Self; 7] = [
        Self::Queued,
        Self::Running,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::Interrupted,
    ];

    /// Returns the word for it in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed_out",
            Self::Interrupted => "interrupted",
        }
    }

    /// Returns the state that `word` names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Returns whether nothing more will happen.
    pub fn is_ended(self) -> bool {
        !matches!(self, Self::Queued | Self::Running)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// An ask of an agent run that nobody has answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAsk {
    /// When it was asked.
    pub since: Timestamp,
    /// What.
    pub asked: Asked,
}

/// Kinds of facts that change no state.
const STATELESS: [&str; 12] = [
    "text",
    "tool_called",
    "tool_result",
    "tool_failed",
    "goal_evaluated",
    "turn.begin",
    "model.turn",
    "call.request",
    "call.result",
    "call.claimed",
    "call.ended",
    "history.compacted",
];

/// What a journal adds up to so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct State {
    /// The supervisor that took the run.
    pub claimed: Option<Claimed>,
    /// The run waits or waited for places.
    pub queued: Option<Queued>,
    /// The command was executed.
    pub started: Option<Started>,
    /// When.
    pub started_at: Option<Timestamp>,
    /// The first stop that was asked for.
    pub stop: Option<Stop>,
    /// The main process ended before its tree.
    pub main_exit: Option<MainExit>,
    /// The end. The first one counts.
    pub end: Option<Box<End>>,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// Time of the newest line.
    pub updated_at: Option<Timestamp>,
    /// Asks of an agent run that nobody has answered yet, oldest first.
    pub asks: Vec<OpenAsk>,
    /// Position of the next event.
    pub next_seq: Seq,
    /// Lines that could not be read.
    pub damaged_lines: u64,
    /// Whether the last line has no newline: its writer died in it.
    pub is_torn: bool,
}

impl State {
    /// Returns what the bytes of a journal add up to. A torn or damaged line is passed over.
    ///
    /// NUL bytes at the end are space that was reserved, not damage.
    pub fn fold(journal: &[u8]) -> Self {
        let mut state = Self::default();
        let written = journal.len() - journal.iter().rev().take_while(|byte| **byte == 0).count();
        let mut rest = &journal[..written];
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            state.apply_bytes(&rest[..end]);
            rest = &rest[end + 1..];
        }
        state.is_torn = !rest.is_empty();
        state
    }

    /// Takes one line, without its newline.
    ///
    /// Of a fact that changes no state only the head is read: an agent run has many, and long.
    pub fn apply_bytes(&mut self, line: &[u8]) {
        if let Some(head) = Peek::of(line)
            && STATELESS.contains(&head.kind)
        {
            self.note(head.ts, head.seq);
            return;
        }
        match Line::from_bytes(line) {
            Ok(line) => self.apply(&line),
            Err(_) => self.damaged_lines += 1,
        }
    }

    /// Takes one line.
    pub fn apply(&mut self, line: &Line) {
        self.note(line.ts, line.seq);
        match line.fact() {
            Ok(Fact::Claimed(claimed)) => self.claimed = Some(claimed),
            Ok(Fact::Queued(queued)) => self.queued = Some(queued),
            Ok(Fact::Started(started)) => {
                self.started = Some(started);
                self.started_at = Some(line.ts);
            }
            Ok(Fact::MainExited(exit)) => self.main_exit = Some(exit),
            Ok(Fact::Note(note)) => {
                if self.stop.is_none() {
                    self.stop = note.stop;
                }
            }
            Ok(Fact::Ended(end)) if !end.status.is_ended() => self.damaged_lines += 1,
            Ok(Fact::Ended(end)) => {
                self.asks.clear();
                if self.end.is_none() {
                    self.end = Some(end);
                    self.ended_at = Some(line.ts);
                }
            }
            Ok(Fact::Answered(answered)) => {
                self.asks.retain(|open| open.asked.ask != answered.ask);
            }
            Ok(Fact::Told(told)) => self.ask(&told, line.ts),
            Ok(
                Fact::WorkerStarted(_) | Fact::CallClaimed(_) | Fact::CallEnded(_) | Fact::Unknown,
            ) => {}
            Err(_) => self.damaged_lines += 1,
        }
    }

    fn note(&mut self, ts: Timestamp, seq: Option<Seq>) {
        self.updated_at = self.updated_at.max(Some(ts));
        if let Some(seq) = seq {
            self.next_seq = self.next_seq.max(Seq(seq.0.saturating_add(1)));
        }
    }

    fn ask(&mut self, told: &Told, since: Timestamp) {
        let work = Work::read(&told.kind, told.message.as_deref(), &told.data);
        if let Some(Work::Ask(asked)) = work {
            self.asks.retain(|open| open.asked.ask != asked.ask);
            self.asks.push(OpenAsk { since, asked });
        }
    }

    /// Returns where the run is in its life, its supervisor being alive.
    pub fn status(&self) -> Status {
        match (&self.end, &self.queued, &self.started) {
            (Some(end), _, _) => end.status,
            (None, Some(_), None) => Status::Queued,
            (None, _, _) => Status::Running,
        }
    }

    /// Returns whether the end is written.
    pub fn is_ended(&self) -> bool {
        self.end.is_some()
    }
}

#[cfg(test)]
mod tests;
