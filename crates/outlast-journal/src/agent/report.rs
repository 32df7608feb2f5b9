//! What the journal of an agent run adds up to, for those who read it.
//!
//! Folds lines, in their order, of one run or of a chain of resumed ones. What
//! a worker needs to go on is folded by the worker; how it is shown is the
//! business of `document`.

use super::{CallClass, Final, ToolCalled, Work};
use crate::worker::{CallEnd, CallEnded};
use crate::{Fact, Line, RunId};
use serde_json::Value;
use std::collections::BTreeMap;

/// A tool that really ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// Whether it did what it says.
    pub ok: bool,
    /// The call, in few words.
    pub brief: String,
    /// Through what it was done, where not by the worker itself.
    pub via: Option<String>,
}

/// A call that was begun and of which nobody knows how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownCall {
    /// The call.
    pub call: String,
    /// The tool.
    pub tool: String,
    /// The call, in few words.
    pub brief: String,
}

/// What the checks of a goal came to so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GoalSeen {
    /// How often it was checked.
    pub iterations: u64,
    /// Whether the newest check passed.
    pub passed: bool,
    /// Whether a process ran the newest check and said so.
    pub grounded: bool,
}

/// A call on its way.
#[derive(Clone, Debug, PartialEq)]
struct OpenCall {
    tool: String,
    class: CallClass,
    brief: String,
    is_claimed: bool,
    ended: Option<CallEnded>,
}

/// What the journal of an agent run adds up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Turns that the model answered, over the whole chain.
    pub turns: u64,
    /// The model that answered last, as its provider calls it.
    pub model: Option<String>,
    /// All tokens that count against a budget.
    pub tokens: u64,
    /// Tokens by kind, as the model's client counts them.
    pub usage: BTreeMap<String, u64>,
    /// What the turns cost, in millionths of a US dollar.
    pub cost_micros: u64,
    /// Turns without a price.
    pub turns_unpriced: u64,
    /// What really ran, in its order.
    pub receipts: Vec<Receipt>,
    /// What was told to the model as unknown.
    pub unknown: Vec<UnknownCall>,
    /// The checks of the goal, if there was one.
    pub goal: Option<GoalSeen>,
    /// How the work ended, as the worker told it.
    pub last: Option<Box<Final>>,
    /// Workers of the run, the first one included; of a chain, of its newest run.
    pub workers: u32,
    /// Runs before this one in its chain, oldest first.
    pub resumed: Vec<RunId>,
    open: BTreeMap<String, OpenCall>,
    briefs: BTreeMap<String, String>,
}

impl Report {
    /// Returns what the bytes of one journal add up to.
    pub fn fold(journal: &[u8]) -> Self {
        let mut report = Self::default();
        report.take_journal(journal);
        report
    }

    /// Goes on with the journal of the run that resumes `before`, whose lines were all taken.
    ///
    /// How the run before ended and its workers are past; counts go on, and its
    /// open calls are settled by the worker of the next.
    pub fn resume(&mut self, before: RunId) {
        self.resumed.push(before);
        self.last = None;
        self.workers = 0;
    }

    /// Takes the lines of a journal. A torn or damaged line is passed over.
    pub fn take_journal(&mut self, journal: &[u8]) {
        for line in journal.split_inclusive(|byte| *byte == b'\n') {
            let Some(line) = line.strip_suffix(b"\n") else {
                continue;
            };
            if let Ok(line) = Line::from_bytes(line) {
                self.take(&line);
            }
        }
    }

    /// Takes one line.
    pub fn take(&mut self, line: &Line) {
        if let Some(work) = Work::read(&line.kind, line.message.as_deref(), &line.data) {
            self.take_work(work);
            return;
        }
        match line.fact() {
            Ok(Fact::WorkerStarted(started)) => self.workers = started.number,
            Ok(Fact::CallClaimed(claimed)) => {
                if let Some(open) = self.open.get_mut(&claimed.call) {
                    open.is_claimed = true;
                }
            }
            Ok(Fact::CallEnded(ended)) => {
                if let Some(open) = self.open.get_mut(&ended.call) {
                    open.ended = Some(*ended);
                }
            }
            Ok(
                Fact::Claimed(_)
                | Fact::Queued(_)
                | Fact::Started(_)
                | Fact::MainExited(_)
                | Fact::Note(_)
                | Fact::Answered(_)
                | Fact::Told(_)
                | Fact::Ended(_)
                | Fact::Unknown,
            )
            | Err(_) => {}
        }
    }

    fn take_work(&mut self, work: Work) {
        match work {
            Work::ModelTurn(turn) => {
                self.turns = self.turns.max(turn.turn);
                if !turn.model.is_empty() {
                    self.model = Some(turn.model);
                }
                self.tokens = self.tokens.saturating_add(turn.tokens);
                self.add_usage(&turn.usage);
                match turn.cost_micros {
                    Some(cost) => self.cost_micros = self.cost_micros.saturating_add(cost),
                    None => self.turns_unpriced += 1,
                }
            }
            Work::CallRequest(request) => {
                let brief = self.briefs.remove(&request.call);
                self.open.insert(
                    request.call,
                    OpenCall {
                        tool: request.tool,
                        class: request.class,
                        brief: brief.unwrap_or_default(),
                        is_claimed: false,
                        ended: None,
                    },
                );
            }
            // The call as it is asked for may be told before the request or after it.
            Work::ToolCalled(ToolCalled { call, brief, .. }) => match self.open.get_mut(&call) {
                Some(open) => open.brief = brief,
                None => drop(self.briefs.insert(call, brief)),
            },
            Work::CallResult(result) => {
                self.open.remove(&result.call);
                self.briefs.remove(&result.call);
                if result.is_unknown {
                    self.unknown.push(UnknownCall {
                        call: result.call,
                        tool: result.tool,
                        brief: result.brief,
                    });
                } else if !result.is_refused {
                    self.receipts.push(Receipt {
                        call: result.call,
                        tool: result.tool,
                        ok: result.ok,
                        brief: result.brief,
                        via: result.via,
                    });
                }
            }
            Work::GoalEvaluated(goal) => {
                let seen = self.goal.get_or_insert_default();
                seen.iterations = seen.iterations.max(goal.iteration);
                seen.passed = goal.passed;
                seen.grounded = goal.grounded;
            }
            Work::Final(last) => self.last = Some(last),
            Work::Meta(_)
            | Work::TurnBegin(_)
            | Work::Text(_)
            | Work::ToolResult(_)
            | Work::ToolFailed(_)
            | Work::Ask(_)
            | Work::Note(..)
            | Work::TodoSet(_)
            | Work::Compacted(_)
            | Work::Input(_) => {}
        }
    }

    fn add_usage(&mut self, usage: &Value) {
        for (kind, count) in usage.as_object().into_iter().flatten() {
            if let Some(count) = count.as_u64() {
                let sum = self.usage.entry(kind.clone()).or_default();
                *sum = sum.saturating_add(count);
            }
        }
    }

    /// Returns the report of a run that has ended: calls that were on their way then are
    /// settled by what the journal tells of them.
    ///
    /// A call whose end was written is a receipt. One that was running when the run was stopped
    /// (`is_stopped`) ended with it, and is a receipt that failed. Of every other one that could
    /// change something, nobody knows.
    #[must_use]
    pub fn settled(mut self, is_stopped: bool) -> Self {
        for (call, open) in std::mem::take(&mut self.open) {
            let ok = open.ended.as_ref().is_some_and(is_fine);
            let was_begun = open.ended.is_some() || open.is_claimed;
            if open.ended.is_some() || (is_stopped && was_begun) {
                self.receipts.push(Receipt {
                    call,
                    tool: open.tool,
                    ok,
                    brief: open.brief,
                    via: None,
                });
            } else if was_begun || (open.class != CallClass::Read && !is_stopped) {
                self.unknown.push(UnknownCall {
                    call,
                    tool: open.tool,
                    brief: open.brief,
                });
            }
        }
        self
    }

    /// Returns what all turns cost in US dollars; `None` where one of them has no price.
    #[expect(clippy::cast_precision_loss, reason = "below 2^53 millionths")]
    pub fn cost_usd(&self) -> Option<f64> {
        let is_priced = self.turns > 0 && self.turns_unpriced == 0;
        is_priced.then(|| self.cost_micros as f64 / 1_000_000.0)
    }
}

fn is_fine(ended: &CallEnded) -> bool {
    ended.end == CallEnd::Exited && ended.exit_code == Some(0)
}

#[cfg(test)]
mod tests;
