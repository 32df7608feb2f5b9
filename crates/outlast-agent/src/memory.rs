//! What a worker knows: its journal, folded to the conversation, its calls and its counters.
//!
//! A living worker takes each fact when it stands in the journal, by the same functions by
//! which its successor reads it there. So both make the same request to the model.

mod calls;
mod counts;

pub(crate) use calls::Call;
pub(crate) use counts::{Counts, Receipt, length};

use crate::message::{Arguments, Message};
use crate::stall::Repeats;
use outlast_journal::agent::{
    Asked, CallRequest, CallResult, Compacted, Final, GoalEvaluated, Input, ModelTurn, TodoItem,
    Work,
};
use outlast_journal::worker::{Answered, CallEnded};
use outlast_journal::{Fact, Line};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Who an input is from when it is the worker's own word, by its beginning.
pub(crate) mod by {
    /// The first message: the task.
    pub(crate) const OPENING: &str = "outlast:opening";
    /// What became of open calls.
    pub(crate) const RESTART: &str = "outlast:restart";
    /// The final answer does not keep the schema.
    pub(crate) const REPAIR: &str = "outlast:repair";
    /// The message was cut.
    pub(crate) const CUT: &str = "outlast:cut";
    /// How much is left of the budget.
    pub(crate) const BUDGET: &str = "outlast:budget";
    /// A run that this one started has ended; its id follows.
    pub(crate) const RUN: &str = "outlast:run:";
}

/// Codes of a call that was not run since it was denied.
pub(crate) const DENIALS: [&str; 3] = ["denied", "above_tier", "local_reads_only"];

/// What the newest turn of the model was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Newest {
    /// There was none.
    #[default]
    Nothing,
    /// It asked for calls.
    Calls,
    /// It said something and asked for nothing.
    Message {
        /// What.
        text: String,
        /// Why it stopped, in the journal's word.
        stop: String,
    },
}

/// A journal, folded.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    /// The conversation, but for what waits for the next turn.
    pub(crate) messages: Vec<Message>,
    /// What the model is told with the next turn.
    pending: Vec<String>,
    /// The calls of the newest turn, in order, until all have results.
    pub(crate) calls: Vec<Call>,
    pub(crate) newest: Newest,
    /// Text of the newest turn that said something.
    pub(crate) last_text: String,
    /// Whether readers were not told of the newest turn's text yet.
    pub(crate) has_untold_text: bool,
    pub(crate) counts: Counts,
    pub(crate) repeats: Repeats,
    pub(crate) goal: Goal,
    pub(crate) todo: Vec<TodoItem>,
    pub(crate) receipts: Vec<Receipt>,
    pub(crate) ended: Option<Final>,
    /// Runs of whose end the model was told.
    pub(crate) told_runs: BTreeSet<String>,
    /// Turns in which a tool was denied, by tool.
    denials: BTreeMap<String, BTreeSet<u64>>,
    pub(crate) has_opening: bool,
    /// Every call with its result, for the tools' own memory; taken once.
    pub(crate) done: Vec<(CallRequest, CallResult)>,
    /// Whether `done` is kept: only while a journal is read.
    is_reading: bool,
    /// The newest input from outside of this run, by its number.
    inputs: u64,
    /// Directory of the run whose journal is read.
    dir: PathBuf,
    /// Ends of calls that are not those of the newest turn: of the goal's checks.
    pub(crate) ends: BTreeMap<String, CallEnded>,
    /// Such calls whose end nobody knows.
    pub(crate) unknown: BTreeSet<String>,
    /// Whether this run's own journal tells the model of a restart.
    pub(crate) has_restart_note: bool,
}

/// How the goal's checks went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Goal {
    /// Checks so far.
    pub(crate) checks: u64,
    /// Whether the newest one passed.
    pub(crate) has_passed: bool,
    /// How often the newest one's failure came in a row.
    pub(crate) equal_failures: u64,
    /// The turn after which the newest one was.
    pub(crate) at_turn: u64,
    newest: Option<(Option<i32>, String)>,
}

impl Memory {
    /// Begins to read the journal of the run in `dir`. What is open of the one before will not
    /// be heard of any more.
    pub(crate) fn begin_run(&mut self, dir: &Path) {
        dir.clone_into(&mut self.dir);
        self.is_reading = true;
        self.ended = None;
        self.ends.clear();
        self.inputs = 0;
        self.unknown.clear();
        self.has_restart_note = false;
        for call in &mut self.calls {
            call.is_of_dead_run = true;
        }
    }

    /// Ends reading: what follows is this worker's own.
    pub(crate) fn end_reading(&mut self) -> Vec<(CallRequest, CallResult)> {
        self.is_reading = false;
        for call in &mut self.calls {
            call.is_of_dead_worker = call.request.is_some();
        }
        std::mem::take(&mut self.done)
    }

    /// Takes a line of a journal.
    #[expect(
        clippy::match_same_arms,
        reason = "what is known is listed; what only a later version knows is apart"
    )]
    pub(crate) fn read(&mut self, line: &Line) {
        if let Some(work) = Work::read(&line.kind, line.message.as_deref(), &line.data) {
            self.take(&work);
            return;
        }
        match line.fact() {
            Ok(Fact::CallClaimed(claimed)) => {
                if let Some(call) = self.call_mut(&claimed.call) {
                    call.is_claimed = true;
                }
            }
            Ok(Fact::CallEnded(ended)) => self.take_end(&ended),
            Ok(Fact::Answered(answered)) => self.take_answer(answered),
            Ok(
                Fact::Claimed(_)
                | Fact::Queued(_)
                | Fact::Started(_)
                | Fact::MainExited(_)
                | Fact::Note(_)
                | Fact::WorkerStarted(_)
                | Fact::Told(_)
                | Fact::Ended(_)
                | Fact::Unknown,
            )
            | Err(_) => {}
            // A later version's fact is none of a worker of this one.
            Ok(_) => {}
        }
    }

    /// Takes a fact of a worker.
    #[expect(
        clippy::match_same_arms,
        reason = "what is known is listed; what only a later version knows is apart"
    )]
    pub(crate) fn take(&mut self, work: &Work) {
        match work {
            Work::TurnBegin(_) => self.begin_turn(),
            Work::ModelTurn(turn) => self.take_turn(turn),
            Work::Text(_) => self.has_untold_text = false,
            Work::CallRequest(request) => {
                if let Some(call) = self.call_mut(&request.call) {
                    call.request = Some((**request).clone());
                }
            }
            Work::ToolCalled(called) => {
                if let Some(call) = self.call_mut(&called.call) {
                    call.is_called = true;
                }
            }
            Work::CallResult(result) => self.take_result(result),
            Work::ToolResult(ended) => self.end_told(&ended.call),
            Work::ToolFailed(ended) => {
                let is_denial = ended.code.as_deref().is_some_and(is_denial);
                if is_denial {
                    let turns = self.denials.entry(ended.tool.clone()).or_default();
                    turns.insert(self.counts.turns);
                }
                self.end_told(&ended.call);
            }
            Work::GoalEvaluated(goal) => self.take_goal(goal),
            Work::Ask(asked) => self.take_ask(asked),
            Work::TodoSet(todo) => self.todo.clone_from(&todo.items),
            Work::Compacted(compacted) => self.take_compacted(compacted),
            Work::Input(input) => self.take_input(input),
            Work::Final(end) => self.ended = Some((**end).clone()),
            Work::Meta(_) | Work::Note(..) => {}
            // A later version's fact is none of a worker of this one.
            _ => {}
        }
    }

    /// Takes a text for the model.
    pub(crate) fn take_input(&mut self, input: &Input) {
        // The supervisor tells an input that a worker may have read in the journal already.
        if input.number > 0 && input.number <= self.inputs {
            return;
        }
        self.inputs = self.inputs.max(input.number);
        let by = input.by.as_deref().unwrap_or_default();
        match by {
            by::OPENING => self.has_opening = true,
            by::REPAIR => self.counts.repairs += 1,
            by::CUT => self.counts.cuts += 1,
            by::BUDGET => self.counts.budget_notes += 1,
            by::RESTART => self.has_restart_note = true,
            _ => {
                if let Some(run) = by.strip_prefix(by::RUN) {
                    self.told_runs.insert(run.to_owned());
                }
                self.repeats.begin_anew();
            }
        }
        self.tell_with_next_turn(input.text.clone());
    }

    /// Takes the end of a call.
    pub(crate) fn take_end(&mut self, ended: &CallEnded) {
        let dir = self.dir.clone();
        if let Some(call) = self.call_mut(&ended.call) {
            call.ended = Some((ended.clone(), dir));
        } else {
            self.ends.insert(ended.call.clone(), ended.clone());
        }
    }

    /// Takes the answer to an ask. The first one counts.
    pub(crate) fn take_answer(&mut self, answered: Answered) {
        if let Some(call) = self.call_mut(&answered.ask) {
            call.answered.get_or_insert(answered);
        }
    }

    /// Takes that nobody knows how a call ended.
    pub(crate) fn take_unknown(&mut self, call: &str) {
        match self.call_mut(call) {
            Some(call) => call.is_unknown = true,
            None => {
                self.unknown.insert(call.to_owned());
            }
        }
    }

    /// Returns whether the model has something to be told.
    pub(crate) fn has_pending(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Returns whether a tool was denied, the model heard of it, and it was denied once more.
    pub(crate) fn is_denied_twice(&self) -> bool {
        self.denials.values().any(|turns| turns.len() >= 2)
    }

    /// Returns the index of the first call of the newest turn that is not done with.
    pub(crate) fn open_call(&self) -> Option<usize> {
        self.calls.iter().position(|call| !call.is_done())
    }

    fn tell_with_next_turn(&mut self, text: String) {
        self.counts.size.grow(text.len());
        self.pending.push(text);
    }

    fn begin_turn(&mut self) {
        self.flush_calls(true);
        if !self.pending.is_empty() {
            let text = std::mem::take(&mut self.pending).join("\n\n");
            self.messages.push(Message::User { text });
        }
    }

    fn take_turn(&mut self, turn: &ModelTurn) {
        self.counts.take_turn(turn);
        // What only a later version wrote would make a history without its calls; it is rather
        // told as it can be read.
        let Ok(message) = serde_json::from_value::<Message>(turn.message.clone()) else {
            return;
        };
        if let Message::Assistant { text, calls, .. } = &message {
            if !text.trim().is_empty() {
                self.last_text.clone_from(text);
            }
            self.newest = if calls.is_empty() {
                Newest::Message {
                    text: text.clone(),
                    stop: turn.stop.clone(),
                }
            } else {
                Newest::Calls
            };
            let numbered = calls.iter().zip(1..);
            self.calls = numbered
                .map(|(call, number)| Call::new(format!("{}.{number}", turn.turn), call.clone()))
                .collect();
            self.has_untold_text = !text.trim().is_empty();
        }
        self.messages.push(message);
    }

    fn take_result(&mut self, result: &CallResult) {
        let Some(call) = self.call_mut(&result.call) else {
            return;
        };
        call.result = Some(result.clone());
        let request = call.request.clone();
        let is_malformed = matches!(call.model_call.arguments, Arguments::Malformed { .. });
        self.counts.malformed_in_row = if is_malformed {
            self.counts.malformed_in_row + 1
        } else {
            0
        };
        if let Some(request) = request {
            if !is_malformed {
                self.repeats.take(&request, result);
            }
            if !result.is_refused {
                self.receipts.push(Receipt::new(result));
            }
            if self.is_reading {
                self.done.push((request, result.clone()));
            }
        }
        self.flush_calls(false);
    }

    fn end_told(&mut self, call: &str) {
        if let Some(call) = self.call_mut(call) {
            call.is_told = true;
        }
    }

    /// Puts the results into the conversation, in the order of the calls, once all are there.
    fn flush_calls(&mut self, is_turn_beginning: bool) {
        if !is_turn_beginning && self.calls.iter().any(|call| call.result.is_none()) {
            return;
        }
        for call in &mut self.calls {
            if call.is_in_messages {
                continue;
            }
            call.is_in_messages = true;
            let message = call.message();
            if let Message::Result { text, .. } = &message {
                self.counts.size.grow(text.len());
            }
            self.messages.push(message);
        }
    }

    fn take_goal(&mut self, goal: &GoalEvaluated) {
        let this = (goal.exit_code, goal.output_hash.clone());
        self.goal.checks = self.goal.checks.max(goal.iteration);
        self.goal.has_passed = goal.passed;
        self.goal.at_turn = self.counts.turns;
        let is_equal = self.goal.newest.as_ref() == Some(&this);
        self.goal.equal_failures = match (goal.passed, is_equal) {
            (true, _) => 0,
            (false, true) => self.goal.equal_failures + 1,
            (false, false) => 1,
        };
        self.goal.newest = Some(this);
        if !goal.passed {
            self.tell_with_next_turn(goal.shown.clone());
        }
    }

    fn take_ask(&mut self, asked: &Asked) {
        if let Some(call) = self.call_mut(&asked.ask) {
            call.asked = Some(asked.clone());
        }
    }

    fn take_compacted(&mut self, compacted: &Compacted) {
        if let Ok(messages) = serde_json::from_value(compacted.messages.clone()) {
            self.messages = messages;
            self.counts.take_compacted(compacted, &self.messages);
            for text in &self.pending {
                self.counts.size.grow(text.len());
            }
        }
    }

    pub(crate) fn call_mut(&mut self, id: &str) -> Option<&mut Call> {
        self.calls.iter_mut().find(|call| call.id == id)
    }
}

/// Returns whether a tool that failed with this code was denied.
fn is_denial(code: &str) -> bool {
    DENIALS.contains(&code)
}

#[cfg(test)]
mod tests;
