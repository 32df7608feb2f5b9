//! Every situation, and that nothing is done in it that must not be.

use super::*;

/// Every combination of what matters, as small values of each part.
#[expect(clippy::too_many_lines, reason = "a list of what there is")]
fn all(mut look: impl FnMut(&Situation)) {
    const FLAGS: [bool; 2] = [false, true];
    let calls = [None, Some(false), Some(true)].map(|begun| {
        begun.map(|may_have_begun| OpenCall {
            index: 1,
            may_have_begun,
        })
    });
    let said = [
        None,
        Some(Said::Good),
        Some(Said::AgainstSchema),
        Some(Said::Cut),
        Some(Said::Refused),
    ];
    let goal = |checks, is_checked, has_passed, equal_failures| {
        Some(GoalStands {
            checks,
            is_checked,
            has_passed,
            equal_failures,
        })
    };
    let goals = [
        None,
        goal(0, false, false, 0),
        goal(1, true, true, 0),
        goal(1, true, false, 1),
        goal(3, true, false, 3),
        goal(10, true, false, 1),
    ];
    let budget = |is_used: bool| Budget {
        used: 7,
        max: Some(if is_used { 7 } else { 8 }),
    };
    for bits in 0_u32..1 << 13 {
        let flag = |bit: u32| FLAGS[(bits >> bit & 1) as usize];
        for open_call in calls {
            for message in said {
                for goal in goals {
                    look(&Situation {
                        is_ended: flag(0),
                        is_cancelling: flag(1),
                        lacks_opening: flag(2),
                        has_untold_text: flag(3),
                        open_call,
                        message,
                        has_pending: flag(4),
                        malformed_in_row: if flag(5) {
                            limits::MALFORMED_CALLS_MAX
                        } else {
                            1
                        },
                        is_stalled: flag(6),
                        is_blocked: flag(7),
                        has_open_runs: flag(8),
                        turns: budget(flag(9)),
                        tokens: budget(flag(10)),
                        cost_micros: Budget { used: 7, max: None },
                        is_near_window: flag(11),
                        cannot_shrink: flag(12),
                        goal,
                        repairs: if flag(12) {
                            limits::ANSWER_REPAIRS_MAX
                        } else {
                            0
                        },
                        cuts: if flag(12) { limits::ANSWER_CUTS_MAX } else { 0 },
                    });
                }
            }
        }
    }
}

#[test]
fn in_every_situation_nothing_is_done_that_must_not_be() {
    all(|now| {
        let step = next(now);
        let must = |holds: bool| assert!(holds, "{step:?} in {now:#?}");
        must((step == Step::Leave) == now.is_ended);
        if now.is_ended {
            return;
        }
        must((step == Step::TellText) == now.has_untold_text);
        if now.has_untold_text {
            return;
        }
        match step {
            Step::Leave | Step::TellText => {}
            Step::Call(index) => {
                must(now.open_call.is_some_and(|call| call.index == index));
                must(!now.is_cancelling || now.open_call.is_some_and(|call| call.may_have_begun));
            }
            Step::Skip(_) => {
                must(now.is_cancelling);
                must(now.open_call.is_some_and(|call| !call.may_have_begun));
            }
            Step::Open | Step::Compact | Step::Sample => {
                must(!now.is_cancelling && now.open_call.is_none());
                must(!now.turns.is_used_up() && !now.tokens.is_used_up());
                must(!now.is_stalled && !now.is_blocked && now.malformed_in_row < 3);
                must(now.message.is_none() || now.has_pending);
                must((step == Step::Open) == now.lacks_opening);
                must(now.lacks_opening || (step == Step::Compact) == now.is_near_window);
                must(step == Step::Open || !(now.is_near_window && now.cannot_shrink));
            }
            Step::WaitForRuns => {
                must(!now.is_cancelling && now.has_open_runs && !now.has_pending);
            }
            Step::Check => {
                must(!now.is_cancelling && now.message == Some(Said::Good));
                must(
                    now.goal
                        .is_some_and(|goal| goal.checks < limits::GOAL_CHECKS_MAX),
                );
                must(!now.has_open_runs && !now.has_pending);
            }
            Step::Repair => must(now.message == Some(Said::AgainstSchema) && now.repairs < 2),
            Step::TellCut => must(now.message == Some(Said::Cut) && now.cuts < 2),
            Step::Finish(ending) => must(is_due(now, ending)),
        }
    });
}

/// Returns whether there is a reason for an ending.
fn is_due(now: &Situation, ending: Ending) -> bool {
    if now.open_call.is_some() {
        return false;
    }
    if now.is_cancelling {
        return ending == Ending::Cancelled;
    }
    let goal = now
        .goal
        .filter(|goal| goal.is_checked && now.message.is_some());
    match ending {
        Ending::Success => match now.goal {
            None => now.message == Some(Said::Good) && !now.has_open_runs && !now.has_pending,
            Some(_) => goal.is_some_and(|goal| goal.has_passed),
        },
        Ending::Turns => now.turns.is_used_up(),
        Ending::Tokens => now.tokens.is_used_up(),
        Ending::Cost => now.cost_micros.is_used_up(),
        Ending::Stalled => now.is_stalled,
        Ending::Blocked => now.is_blocked,
        Ending::GoalChecks => goal.is_some_and(|goal| goal.checks == 10),
        Ending::GoalSame => goal.is_some_and(|goal| goal.equal_failures == 3),
        Ending::Fault(Fault::Malformed) => now.malformed_in_row == 3,
        Ending::Fault(Fault::AnswerInvalid) => {
            now.message == Some(Said::AgainstSchema) && now.repairs == 2
        }
        Ending::Fault(Fault::AnswerCut) => now.message == Some(Said::Cut) && now.cuts == 2,
        Ending::Cancelled | Ending::Fault(Fault::JournalUnwritable) => false,
        Ending::Fault(Fault::Refused) => now.message == Some(Said::Refused),
        Ending::Fault(Fault::WindowFull) => now.is_near_window && now.cannot_shrink,
    }
}

#[test]
fn the_task_stands_before_the_first_turn() {
    let now = Situation {
        lacks_opening: true,
        ..Situation::default()
    };
    assert_eq!(next(&now), Step::Open);
    assert_eq!(next(&Situation::default()), Step::Sample);
}

#[test]
fn a_run_that_waits_for_its_own_runs_goes_on_when_there_is_news() {
    let waits = Situation {
        message: Some(Said::Good),
        has_open_runs: true,
        ..Situation::default()
    };
    assert_eq!(next(&waits), Step::WaitForRuns);
    let told = Situation {
        has_pending: true,
        has_open_runs: true,
        ..waits
    };
    assert_eq!(next(&told), Step::Sample);
}

#[test]
fn costs_are_bounded_as_tokens_are() {
    let now = Situation {
        cost_micros: Budget {
            used: 11,
            max: Some(10),
        },
        ..Situation::default()
    };
    assert_eq!(next(&now), Step::Finish(Ending::Cost));
}
