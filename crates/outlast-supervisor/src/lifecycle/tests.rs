//! Every order of inputs keeps the promises of a run.

use super::{Action, Input, Lifecycle, Outcome};
use outlast_journal::{Fact, Leftovers, MainExit, Status, Stop, StopCause};

const POLICIES: [Leftovers; 3] = [Leftovers::Report, Leftovers::Wait, Leftovers::Stop];

fn exit(code: i32) -> Input {
    Input::MainEnded(MainExit {
        exit_code: Some(code),
        signal: None,
    })
}

fn killed() -> Input {
    Input::MainEnded(MainExit {
        exit_code: None,
        signal: Some("KILL".to_owned()),
    })
}

fn stop(cause: StopCause, grace_ms: u64) -> Input {
    Input::Stop(Stop {
        cause,
        grace_ms,
        by: None,
    })
}

fn alphabet() -> Vec<Input> {
    vec![
        exit(0),
        exit(9),
        killed(),
        Input::TreeEmpty,
        stop(StopCause::Cancel, 5_000),
        stop(StopCause::Timeout, 5_000),
        stop(StopCause::Cancel, 0),
        Input::GraceOver,
        Input::KillTimeUp,
    ]
}

fn play(policy: Leftovers, inputs: &[Input]) -> Vec<(usize, Action)> {
    let mut life = Lifecycle::started(policy, 5_000);
    let mut log = Vec::new();
    for (at, input) in inputs.iter().enumerate() {
        log.extend(
            life.step(input.clone())
                .into_iter()
                .map(|action| (at, action)),
        );
    }
    log
}

fn outcome(policy: Leftovers, inputs: &[Input]) -> Option<Outcome> {
    let actions = play(policy, inputs).into_iter();
    let mut ends = actions.filter_map(|(_, action)| match action {
        Action::End(outcome) => Some(outcome),
        Action::Append(_)
        | Action::Terminate { .. }
        | Action::Hurry { .. }
        | Action::Kill
        | Action::TellCancelled
        | Action::Leave => None,
    });
    ends.next()
}

fn status(policy: Leftovers, inputs: &[Input]) -> Option<(Status, &'static str)> {
    outcome(policy, inputs).map(|outcome| (outcome.status, outcome.ended_by))
}

#[test]
fn a_cancel_that_loses_to_the_exit_does_not_change_the_outcome() {
    let inputs = [exit(0), stop(StopCause::Cancel, 5_000), Input::TreeEmpty];
    for policy in [Leftovers::Report, Leftovers::Stop] {
        assert_eq!(status(policy, &inputs), Some((Status::Completed, "self")));
    }
}

#[test]
fn a_run_that_waits_for_its_leftovers_can_still_be_cancelled() {
    let inputs = [exit(0), stop(StopCause::Cancel, 5_000), Input::TreeEmpty];
    let outcome = outcome(Leftovers::Wait, &inputs).unwrap();
    assert_eq!(outcome.status, Status::Cancelled);
    assert_eq!(outcome.main.unwrap().exit_code, Some(0));
}

#[test]
fn the_first_cause_names_the_outcome() {
    let inputs = [
        stop(StopCause::Timeout, 5_000),
        stop(StopCause::Cancel, 5_000),
        killed(),
        Input::TreeEmpty,
    ];
    for policy in POLICIES {
        assert_eq!(status(policy, &inputs), Some((Status::TimedOut, "timeout")));
    }
}

#[test]
fn a_signal_that_was_not_ours_is_unknown_and_fails_the_run() {
    assert_eq!(
        status(Leftovers::Report, &[killed()]),
        Some((Status::Failed, "unknown"))
    );
}

#[test]
fn a_stopped_run_ends_only_when_its_tree_is_empty() {
    let inputs = [stop(StopCause::Cancel, 5_000), killed()];
    for policy in POLICIES {
        assert_eq!(status(policy, &inputs), None);
    }
}

#[test]
fn what_cannot_be_killed_does_not_hold_the_end_for_ever() {
    let inputs = [stop(StopCause::Cancel, 0), Input::KillTimeUp];
    let outcome = outcome(Leftovers::Report, &inputs).unwrap();
    assert!(outcome.is_given_up);
    assert_eq!((outcome.status, outcome.main), (Status::Cancelled, None));
}

#[test]
fn leftovers_are_stopped_by_a_cancel_after_the_end_without_a_second_end() {
    let inputs = [
        exit(0),
        stop(StopCause::Cancel, 5_000),
        Input::GraceOver,
        Input::TreeEmpty,
    ];
    let log = play(Leftovers::Report, &inputs);
    let after: Vec<_> = log.into_iter().filter(|(at, _)| *at > 0).collect();
    assert_eq!(
        after,
        [
            (1, Action::Terminate { grace_ms: 5_000 }),
            (2, Action::Kill),
            (3, Action::TellCancelled),
            (3, Action::Leave),
        ]
    );
}

#[test]
fn the_policy_stop_ends_the_tree_right_after_the_main_process() {
    let log = play(Leftovers::Stop, &[exit(3), Input::GraceOver]);
    assert!(matches!(log[0], (0, Action::Append(Fact::MainExited(_)))));
    assert_eq!(log[1], (0, Action::Terminate { grace_ms: 5_000 }));
    assert_eq!(log[2], (1, Action::Kill));
}

/// Calls `check` with every sequence of exactly `length` inputs that can happen.
fn every_order(length: usize, at: &mut Vec<Input>, check: &mut impl FnMut(&[Input])) -> u64 {
    if at.len() == length {
        check(at);
        return 1;
    }
    let main_ended = at.iter().any(|input| matches!(input, Input::MainEnded(_)));
    let empty = at.contains(&Input::TreeEmpty);
    let mut count = 0;
    for input in alphabet() {
        let can_happen = match input {
            Input::MainEnded(_) => !main_ended && !empty,
            // The main process is of the tree.
            Input::TreeEmpty => main_ended && !empty,
            Input::Stop(_) | Input::GraceOver | Input::KillTimeUp => true,
        };
        if can_happen {
            at.push(input);
            count += every_order(length, at, check);
            at.pop();
        }
    }
    count
}

fn check_promises(policy: Leftovers, inputs: &[Input]) {
    let (mut ends, mut appended_end, mut left, mut notes) = (0, false, false, 0);
    let empty_at = inputs.iter().position(|input| *input == Input::TreeEmpty);
    let main_at = inputs
        .iter()
        .position(|input| matches!(input, Input::MainEnded(_)));
    let first_stop = inputs.iter().find_map(|input| match input {
        Input::Stop(stop) => Some(stop.cause),
        Input::MainEnded(_) | Input::TreeEmpty | Input::GraceOver | Input::KillTimeUp => None,
    });
    for (at, action) in play(policy, inputs) {
        assert!(!left, "{policy:?} {inputs:?}: {action:?} after leaving");
        let is_empty = empty_at.is_some_and(|empty| empty <= at);
        match action {
            Action::End(outcome) => {
                ends += 1;
                appended_end = true;
                let stopped = outcome.status != Status::Completed
                    && outcome.ended_by != "self"
                    && outcome.ended_by != "unknown";
                if stopped {
                    assert_eq!(Some(outcome.ended_by), first_stop.map(StopCause::ended_by));
                    assert!(
                        is_empty || outcome.is_given_up,
                        "{policy:?} {inputs:?}: a stopped tree lives"
                    );
                }
                assert!(outcome.is_given_up || main_at.is_some_and(|main| main <= at));
            }
            Action::Append(_) => {
                assert!(!appended_end, "{policy:?} {inputs:?}: a fact after the end");
                notes += 1;
            }
            Action::Terminate { .. } | Action::Kill | Action::Hurry { .. } => {
                assert!(
                    !is_empty,
                    "{policy:?} {inputs:?}: a signal to an empty tree"
                );
            }
            Action::TellCancelled => {}
            Action::Leave => {
                assert!(
                    is_empty && ends == 1,
                    "{policy:?} {inputs:?}: left too early"
                );
                left = true;
            }
        }
    }
    assert!(ends <= 1 && notes <= 2);
    assert_eq!(
        left,
        empty_at.is_some(),
        "{policy:?} {inputs:?}: gone exactly with the tree"
    );
}

#[test]
fn a_tree_that_ends_with_its_main_process_is_not_said_to_go_on() {
    for policy in POLICIES {
        let log = play(
            policy,
            &[stop(StopCause::Cancel, 5_000), Input::TreeEmpty, killed()],
        );
        let told =
            |(_, action): &(usize, Action)| matches!(action, Action::Append(Fact::MainExited(_)));
        assert!(!log.iter().any(told), "{policy:?}: {log:?}");
        assert!(matches!(log.last(), Some((2, Action::Leave))));
    }
}

fn every_order_of_seven(policy: Leftovers) {
    let mut check = |inputs: &[Input]| check_promises(policy, inputs);
    let count = every_order(7, &mut Vec::new(), &mut check);
    assert!(count > 100_000, "the orders were played: {count}");
}

#[test]
fn every_order_of_seven_inputs_keeps_the_promises_when_leftovers_are_reported() {
    every_order_of_seven(Leftovers::Report);
}

#[test]
fn every_order_of_seven_inputs_keeps_the_promises_when_leftovers_are_waited_for() {
    every_order_of_seven(Leftovers::Wait);
}

#[test]
fn every_order_of_seven_inputs_keeps_the_promises_when_leftovers_are_stopped() {
    every_order_of_seven(Leftovers::Stop);
}
