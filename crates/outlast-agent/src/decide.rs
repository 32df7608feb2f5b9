//! Decides what an agent run does next.
//!
//! Plain data in, plain data out. `work` looks at what is and carries out what is said here.

use outlast_journal::limits;

/// What the decision goes by.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Situation {
    /// The end was told: there is nothing left to do.
    pub(crate) is_ended: bool,
    /// Somebody wants the run cancelled.
    pub(crate) is_cancelling: bool,
    /// The task was not put before the model yet.
    pub(crate) lacks_opening: bool,
    /// Readers were not told of the newest turn's text yet.
    pub(crate) has_untold_text: bool,
    /// The first call of the newest turn that is not done with.
    pub(crate) open_call: Option<OpenCall>,
    /// What the newest turn said, when it asked for nothing.
    pub(crate) message: Option<Said>,
    /// Whether there is something that the model was not told yet.
    pub(crate) has_pending: bool,
    /// Malformed calls in a row.
    pub(crate) malformed_in_row: u64,
    /// A call was repeated after the warning.
    pub(crate) is_stalled: bool,
    /// A tool was denied, and then denied once more.
    pub(crate) is_blocked: bool,
    /// Whether a run that this one started goes on, and has a time limit, or has ended without
    /// that the model was told.
    pub(crate) has_open_runs: bool,
    /// What is used of each budget.
    pub(crate) turns: Budget,
    /// The same.
    pub(crate) tokens: Budget,
    /// The same, in millionths of a US dollar.
    pub(crate) cost_micros: Budget,
    /// The conversation nears the model's window.
    pub(crate) is_near_window: bool,
    /// The conversation was shortened, and is too long all the same.
    pub(crate) cannot_shrink: bool,
    /// How the goal stands, if there is one.
    pub(crate) goal: Option<GoalStands>,
    /// Times that the model was told to mend its answer.
    pub(crate) repairs: u64,
    /// Times that it was told that its message was cut.
    pub(crate) cuts: u64,
}

/// A call that is not done with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenCall {
    /// Which of the turn's calls.
    pub(crate) index: usize,
    /// Whether it may have begun: then it has to be settled, come what may.
    pub(crate) may_have_begun: bool,
}

/// How the newest message ended, which asked for no calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// It is whole, and keeps the schema if there is one.
    Good,
    /// It is whole and does not keep the schema.
    AgainstSchema,
    /// Its end is missing.
    Cut,
    /// The provider or the model refused to go on.
    Refused,
}

/// How a goal stands for the newest message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GoalStands {
    /// Checks so far.
    pub(crate) checks: u64,
    /// Whether the newest message was checked.
    pub(crate) is_checked: bool,
    /// Whether the newest check passed.
    pub(crate) has_passed: bool,
    /// How often the newest failure came in a row.
    pub(crate) equal_failures: u64,
}

/// What is used and what there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Budget {
    /// Used.
    pub(crate) used: u64,
    /// Most; none is without bound.
    pub(crate) max: Option<u64>,
}

impl Budget {
    fn is_used_up(self) -> bool {
        self.max.is_some_and(|max| self.used >= max)
    }
}

/// What is to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Leave: everything is told.
    Leave,
    /// Put the task before the model.
    Open,
    /// Tell readers of the newest turn's text.
    TellText,
    /// Run this call of the newest turn, or settle it.
    Call(usize),
    /// Tell the model that this call was not run, since the run is being cancelled.
    Skip(usize),
    /// Shorten the conversation.
    Compact,
    /// Ask the model for a turn.
    Sample,
    /// Wait for the runs that this one started.
    WaitForRuns,
    /// Run the goal's check.
    Check,
    /// Tell the model to mend its answer.
    Repair,
    /// Tell the model that its message was cut.
    TellCut,
    /// Tell how the run ended.
    Finish(Ending),
}

/// How a run ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Ending {
    /// It is done.
    Success,
    /// Somebody wanted it.
    Cancelled,
    /// All turns are used.
    Turns,
    /// All tokens are.
    Tokens,
    /// All that it may cost is.
    Cost,
    /// It went round in circles.
    Stalled,
    /// It was denied what it needs.
    Blocked,
    /// The goal was checked as often as it may be.
    GoalChecks,
    /// The goal's check failed in the same way again and again.
    GoalSame,
    /// Something is wrong.
    Fault(Fault),
}

/// What is wrong when a run ends with an error of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Fault {
    /// Calls could not be read, several in a row.
    Malformed,
    /// The answer does not keep the schema, after all repairs.
    AnswerInvalid,
    /// The message was cut again and again.
    AnswerCut,
    /// The model refused.
    Refused,
    /// What it has to read does not fit into the model's window.
    WindowFull,
    /// The journal takes nothing more.
    JournalUnwritable,
}

impl Fault {
    /// Returns the name that programs may match on.
    pub(crate) fn code(self) -> &'static str {
        match self {
            Self::Malformed => "malformed_calls",
            Self::AnswerInvalid => "answer_invalid",
            Self::AnswerCut => "answer_cut",
            Self::Refused => "model_declined",
            Self::WindowFull => "window_full",
            Self::JournalUnwritable => "journal_unwritable",
        }
    }
}

/// Returns what is to be done next.
pub(crate) fn next(now: &Situation) -> Step {
    if now.is_ended {
        return Step::Leave;
    }
    if now.has_untold_text {
        return Step::TellText;
    }
    // A call that may have begun is settled first, also when everything else is over: its
    // outcome belongs into the document.
    if let Some(call) = now.open_call {
        return if now.is_cancelling && !call.may_have_begun {
            Step::Skip(call.index)
        } else {
            Step::Call(call.index)
        };
    }
    if now.is_cancelling {
        return Step::Finish(Ending::Cancelled);
    }
    if now.malformed_in_row >= limits::MALFORMED_CALLS_MAX {
        return Step::Finish(Ending::Fault(Fault::Malformed));
    }
    if now.is_blocked {
        return Step::Finish(Ending::Blocked);
    }
    if now.is_stalled {
        return Step::Finish(Ending::Stalled);
    }
    if let Some(said) = now.message
        && let Some(step) = after_message(now, said)
    {
        return step;
    }
    before_sample(now)
}

/// Returns what follows a message without calls; `None` when the model has to go on.
fn after_message(now: &Situation, said: Said) -> Option<Step> {
    if said == Said::Refused {
        return Some(Step::Finish(Ending::Fault(Fault::Refused)));
    }
    // The goal's verdict comes with something to tell; its bounds stand before that.
    if let Some(goal) = now.goal.filter(|goal| goal.is_checked) {
        if goal.has_passed {
            return Some(Step::Finish(Ending::Success));
        }
        if goal.equal_failures >= limits::GOAL_EQUAL_FAILURES_MAX {
            return Some(Step::Finish(Ending::GoalSame));
        }
        if goal.checks >= limits::GOAL_CHECKS_MAX {
            return Some(Step::Finish(Ending::GoalChecks));
        }
    }
    if now.has_pending {
        return None;
    }
    match said {
        Said::Refused => Some(Step::Finish(Ending::Fault(Fault::Refused))),
        Said::Cut if now.cuts >= limits::ANSWER_CUTS_MAX => {
            Some(Step::Finish(Ending::Fault(Fault::AnswerCut)))
        }
        Said::Cut => Some(Step::TellCut),
        Said::Good | Said::AgainstSchema if now.has_open_runs => Some(Step::WaitForRuns),
        Said::AgainstSchema if now.repairs >= limits::ANSWER_REPAIRS_MAX => {
            Some(Step::Finish(Ending::Fault(Fault::AnswerInvalid)))
        }
        Said::AgainstSchema => Some(Step::Repair),
        Said::Good => Some(match now.goal {
            Some(_) => Step::Check,
            None => Step::Finish(Ending::Success),
        }),
    }
}

fn before_sample(now: &Situation) -> Step {
    if now.turns.is_used_up() {
        return Step::Finish(Ending::Turns);
    }
    if now.tokens.is_used_up() {
        return Step::Finish(Ending::Tokens);
    }
    if now.cost_micros.is_used_up() {
        return Step::Finish(Ending::Cost);
    }
    if now.lacks_opening {
        return Step::Open;
    }
    match (now.is_near_window, now.cannot_shrink) {
        (true, true) => Step::Finish(Ending::Fault(Fault::WindowFull)),
        (true, false) => Step::Compact,
        (false, _) => Step::Sample,
    }
}

#[cfg(test)]
mod tests;
