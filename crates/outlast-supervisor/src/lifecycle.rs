//! Decides what the supervisor does next.
//!
//! Plain data in, plain data out. The run loop carries it out.

use outlast_journal::{Fact, Leftovers, MainExit, Note, Status, Stop, StopCause};

/// Something that happened to the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// The main process was reaped.
    MainEnded(MainExit),
    /// No process of the tree is left.
    TreeEmpty,
    /// Somebody or something wants the run, or what is left of it, stopped.
    Stop(Stop),
    /// The time between the first signal and KILL passed.
    GraceOver,
    /// What is left has withstood KILL for too long.
    KillTimeUp,
    /// The main process, a worker, has told how its work ended, and leaves.
    Concluded,
    /// A worker that was asked to end its work has had its time.
    PatienceOver,
}

/// Something the run loop must do, in the order given.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// Append to the journal.
    Append(Fact),
    /// Run the stop command, signal the whole tree, and start the grace timer.
    Terminate {
        /// Milliseconds until [`Input::GraceOver`].
        grace_ms: u64,
    },
    /// Bring [`Input::GraceOver`] forward to at most this many milliseconds from now.
    Hurry {
        /// Milliseconds.
        grace_ms: u64,
    },
    /// Kill the tree until it is empty.
    Kill,
    /// Ask the worker to end its work, and stop what it has started.
    AskWorker(Stop),
    /// Drain the output, write the end, give the places back and tell everybody.
    End(Outcome),
    /// Tell those who cancelled that the tree is gone, or will not go.
    TellCancelled,
    /// Leave. Nothing follows.
    Leave,
}

/// How the run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The state.
    pub(crate) status: Status,
    /// Who or what ended it.
    pub(crate) ended_by: &'static str,
    /// What the wait status said, if the main process could be reaped.
    pub(crate) main: Option<MainExit>,
    /// Whether the worker has told how its work ended, and that is how the run did.
    pub(crate) is_concluded: bool,
    /// Whether something withstands KILL.
    pub(crate) is_given_up: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopping {
    No,
    /// The worker was asked to end its work.
    Asked,
    Terminating,
    Killing,
    GivenUp,
}

/// The life of one run, from exec to the last process of its tree.
#[derive(Clone, Debug)]
pub(crate) struct Lifecycle {
    policy: Leftovers,
    grace_ms: u64,
    /// Whether the main process is a worker, which a cancel asks first.
    has_worker: bool,
    is_concluded: bool,
    cause: Option<StopCause>,
    main: Option<MainExit>,
    is_main_exit_told: bool,
    is_tree_empty: bool,
    stopping: Stopping,
    has_ended: bool,
    has_left: bool,
}

impl Lifecycle {
    /// Returns the life of a run whose command has just been executed.
    pub(crate) fn started(policy: Leftovers, grace_ms: u64) -> Self {
        Self {
            policy,
            grace_ms,
            has_worker: false,
            is_concluded: false,
            cause: None,
            main: None,
            is_main_exit_told: false,
            is_tree_empty: false,
            stopping: Stopping::No,
            has_ended: false,
            has_left: false,
        }
    }

    /// Returns the life of a run whose worker has just been executed.
    pub(crate) fn of_worker(policy: Leftovers, grace_ms: u64) -> Self {
        Self {
            has_worker: true,
            ..Self::started(policy, grace_ms)
        }
    }

    /// Whether the tree is being stopped, not only its worker asked.
    pub(crate) fn is_stopping(&self) -> bool {
        !matches!(self.stopping, Stopping::No | Stopping::Asked)
    }

    /// Whether the end was decided.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes one input and returns what to do about it.
    pub(crate) fn step(&mut self, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        if self.has_left {
            return actions;
        }
        match input {
            Input::MainEnded(exit) => {
                self.main.get_or_insert(exit);
            }
            Input::TreeEmpty => self.is_tree_empty = true,
            Input::Stop(stop) => self.stop(&stop, &mut actions),
            Input::GraceOver => {
                if self.stopping == Stopping::Terminating && !self.is_tree_empty {
                    self.stopping = Stopping::Killing;
                    actions.push(Action::Kill);
                }
            }
            Input::KillTimeUp => {
                if self.stopping == Stopping::Killing && !self.is_tree_empty {
                    self.stopping = Stopping::GivenUp;
                    if self.has_ended {
                        actions.push(Action::TellCancelled);
                    }
                }
            }
            Input::Concluded => self.is_concluded = true,
            Input::PatienceOver => {
                if self.stopping == Stopping::Asked && !self.is_tree_empty {
                    self.terminate(self.grace_ms, &mut actions);
                }
            }
        }
        self.settle(&mut actions);
        actions
    }

    fn stop(&mut self, stop: &Stop, actions: &mut Vec<Action>) {
        // The main process has decided already when only its leftovers are being stopped.
        let is_told = self.main.is_some() || self.is_concluded;
        let is_decided = is_told && self.policy != Leftovers::Wait;
        if !self.has_ended && !is_decided && self.cause.is_none() {
            self.cause = Some(stop.cause);
            actions.push(Action::Append(Fact::Note(Note {
                stop: Some(stop.clone()),
                ..Note::default()
            })));
        }
        if self.is_tree_empty {
            return;
        }
        let may_ask = self.has_worker && !is_told && stop.grace_ms > 0;
        match self.stopping {
            Stopping::No if may_ask && stop.cause == StopCause::Cancel => {
                self.stopping = Stopping::Asked;
                actions.push(Action::AskWorker(stop.clone()));
            }
            Stopping::Asked if may_ask && stop.cause == StopCause::Cancel => {}
            Stopping::No
            | Stopping::Asked
            | Stopping::Terminating
            | Stopping::Killing
            | Stopping::GivenUp => self.terminate(stop.grace_ms, actions),
        }
    }

    fn terminate(&mut self, grace_ms: u64, actions: &mut Vec<Action>) {
        match self.stopping {
            Stopping::No | Stopping::Asked | Stopping::Terminating if grace_ms == 0 => {
                self.stopping = Stopping::Killing;
                actions.push(Action::Kill);
            }
            Stopping::No | Stopping::Asked => {
                self.stopping = Stopping::Terminating;
                actions.push(Action::Terminate { grace_ms });
            }
            Stopping::Terminating => actions.push(Action::Hurry { grace_ms }),
            Stopping::Killing => {}
            // A later cancel tries again what withstood the first.
            Stopping::GivenUp => {
                self.stopping = Stopping::Killing;
                actions.push(Action::Kill);
            }
        }
    }

    /// Writes the end and leaves as soon as the state allows it.
    fn settle(&mut self, actions: &mut Vec<Action>) {
        if !self.has_ended {
            self.settle_end(actions);
        }
        if self.has_ended && self.is_tree_empty {
            self.has_left = true;
            actions.push(Action::TellCancelled);
            actions.push(Action::Leave);
        }
    }

    fn settle_end(&mut self, actions: &mut Vec<Action>) {
        let is_given_up = self.stopping == Stopping::GivenUp;
        let Some(main) = &self.main else {
            if is_given_up {
                self.end(actions);
            }
            return;
        };
        let waits_for_tree = self.cause.is_some() || self.policy != Leftovers::Report;
        if !waits_for_tree || self.is_tree_empty || is_given_up {
            self.end(actions);
            return;
        }
        if !self.is_main_exit_told {
            actions.push(Action::Append(Fact::MainExited(main.clone())));
            self.is_main_exit_told = true;
        }
        // A worker that was asked and has left has nobody behind it to wait for.
        let is_left_alone = self.stopping == Stopping::Asked;
        let is_policy = self.policy == Leftovers::Stop && self.stopping == Stopping::No;
        if is_left_alone || is_policy {
            self.terminate(self.grace_ms, actions);
        }
    }

    fn end(&mut self, actions: &mut Vec<Action>) {
        self.has_ended = true;
        let is_given_up = self.stopping == Stopping::GivenUp;
        let (status, ended_by) = match (self.cause, &self.main) {
            (Some(cause), _) => (cause.status(), cause.ended_by()),
            (None, Some(exit)) if exit.exit_code == Some(0) => (Status::Completed, "self"),
            (None, Some(exit)) if exit.exit_code.is_some() => (Status::Failed, "self"),
            (None, _) => (Status::Failed, "unknown"),
        };
        actions.push(Action::End(Outcome {
            status,
            ended_by,
            main: self.main.clone(),
            is_concluded: self.is_concluded && self.cause.is_none(),
            is_given_up,
        }));
        if is_given_up {
            actions.push(Action::TellCancelled);
        }
    }
}

#[cfg(test)]
mod tests;
