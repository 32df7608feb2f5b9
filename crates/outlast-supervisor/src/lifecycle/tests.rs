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
    play_in(Lifecycle::started(policy, 5_000), inputs)
}

fn play_worker(inputs: &[Input]) -> Vec<(usize, Action)> {
    play_in(Lifecycle::of_worker(Leftovers::Report, 5_000), inputs)
}

fn play_in(mut life: Lifecycle, inputs: &[Input]) -> Vec<(usize, Action)> {
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
    outcome_of(play(policy, inputs))
}

fn outcome_of(actions: Vec<(usize, Action)>) -> Option<Outcome> {
    let actions = actions.into_iter();
    let mut ends = actions.filter_map(|(_, action)| match action {
        Action::End(outcome) => Some(outcome),
        Action::Append(_)
        | Action::Terminate { .. }
        | Action::Hurry { .. }
        | Action::Kill
        | Action::AskWorker(_)
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
fn every_order(
    alphabet: &[Input],
    length: usize,
    at: &mut Vec<Input>,
    check: &mut impl FnMut(&[Input]),
) -> u64 {
    if at.len() == length {
        check(at);
        return 1;
    }
    let main_ended = at.iter().any(|input| matches!(input, Input::MainEnded(_)));
    let empty = at.contains(&Input::TreeEmpty);
    let mut count = 0;
    for input in alphabet {
        let can_happen = match input {
            Input::MainEnded(_) => !main_ended && !empty,
            Input::Concluded => !main_ended && !at.contains(input),
            // The main process is of the tree.
            Input::TreeEmpty => main_ended && !empty,
            Input::Stop(_) | Input::GraceOver | Input::KillTimeUp | Input::PatienceOver => true,
        };
        if can_happen {
            at.push(input.clone());
            count += every_order(alphabet, length, at, check);
            at.pop();
        }
    }
    count
}

fn check_promises(policy: Leftovers, inputs: &[Input]) {
    check_log(&format!("{policy:?}"), inputs, play(policy, inputs));
}

fn check_log(policy: &str, inputs: &[Input], log: Vec<(usize, Action)>) {
    let (mut ends, mut appended_end, mut left, mut notes) = (0, false, false, 0);
    let empty_at = inputs.iter().position(|input| *input == Input::TreeEmpty);
    let main_at = inputs
        .iter()
        .position(|input| matches!(input, Input::MainEnded(_)));
    let first_stop = inputs.iter().find_map(|input| match input {
        Input::Stop(stop) => Some(stop.cause),
        Input::MainEnded(_)
        | Input::TreeEmpty
        | Input::GraceOver
        | Input::KillTimeUp
        | Input::Concluded
        | Input::PatienceOver => None,
    });
    for (at, action) in log {
        assert!(!left, "{policy} {inputs:?}: {action:?} after leaving");
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
                        "{policy} {inputs:?}: a stopped tree lives"
                    );
                }
                assert!(outcome.is_given_up || main_at.is_some_and(|main| main <= at));
            }
            Action::Append(_) => {
                assert!(!appended_end, "{policy} {inputs:?}: a fact after the end");
                notes += 1;
            }
            Action::Terminate { .. }
            | Action::Kill
            | Action::Hurry { .. }
            | Action::AskWorker(_) => {
                assert!(!is_empty, "{policy} {inputs:?}: a signal to an empty tree");
            }
            Action::TellCancelled => {}
            Action::Leave => {
                assert!(is_empty && ends == 1, "{policy} {inputs:?}: left too early");
                left = true;
            }
        }
    }
    assert!(ends <= 1 && notes <= 2);
    assert_eq!(
        left,
        empty_at.is_some(),
        "{policy} {inputs:?}: gone exactly with the tree"
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
    let count = every_order(&alphabet(), 7, &mut Vec::new(), &mut check);
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

#[test]
fn every_order_of_six_inputs_keeps_the_promises_of_a_worker() {
    let mut alphabet = alphabet();
    alphabet.retain(|input| *input != exit(9));
    alphabet.extend([Input::Concluded, Input::PatienceOver]);
    let mut check = |inputs: &[Input]| check_log("worker", inputs, play_worker(inputs));
    let count = every_order(&alphabet, 6, &mut Vec::new(), &mut check);
    assert!(count > 100_000, "the orders were played: {count}");
}

#[test]
fn a_cancel_asks_a_worker_once_and_its_patience_ends_in_the_usual_stop() {
    let cancel = stop(StopCause::Cancel, 5_000);
    let log = play_worker(&[
        cancel.clone(),
        cancel,
        Input::PatienceOver,
        Input::GraceOver,
    ]);
    let asked = Stop {
        cause: StopCause::Cancel,
        grace_ms: 5_000,
        by: None,
    };
    assert!(matches!(&log[0], (0, Action::Append(Fact::Note(_)))));
    assert_eq!(
        log[1..],
        [
            (0, Action::AskWorker(asked)),
            (2, Action::Terminate { grace_ms: 5_000 }),
            (3, Action::Kill),
        ]
    );
}

#[test]
fn what_is_no_plain_cancel_stops_a_worker_at_once_also_after_one() {
    let now = play_worker(&[stop(StopCause::Cancel, 0)]);
    assert_eq!(now[1], (0, Action::Kill));
    let late = play_worker(&[
        stop(StopCause::Cancel, 5_000),
        stop(StopCause::Timeout, 5_000),
    ]);
    assert_eq!(late[2], (1, Action::Terminate { grace_ms: 5_000 }));
}

#[test]
fn a_worker_that_has_told_its_end_before_a_cancel_decides_the_outcome() {
    let cancel = stop(StopCause::Cancel, 5_000);
    let told_first = [Input::Concluded, cancel.clone(), exit(0), Input::TreeEmpty];
    let outcome = outcome_of(play_worker(&told_first)).unwrap();
    assert!(outcome.is_concluded);
    assert_eq!(outcome.ended_by, "self");
    let cancelled_first = [cancel, Input::Concluded, exit(0), Input::TreeEmpty];
    let outcome = outcome_of(play_worker(&cancelled_first)).unwrap();
    assert!(!outcome.is_concluded);
    assert_eq!(outcome.status, Status::Cancelled);
}

#[test]
fn what_a_worker_leaves_after_a_cancel_is_stopped_before_the_end() {
    let log = play_worker(&[stop(StopCause::Cancel, 5_000), exit(0), Input::TreeEmpty]);
    assert!(log.contains(&(1, Action::Terminate { grace_ms: 5_000 })));
    assert!(matches!(log.last(), Some((2, Action::Leave))));
}
