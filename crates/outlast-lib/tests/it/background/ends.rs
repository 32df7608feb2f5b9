//! An end is told once, to whom it concerns, and soon.
//!
//! Case AL-03.

use super::{Host, id_of, limit_ms, open};
use libtest_mimic::{Failed, Trial};
use outlast_lib::background::wake_prompt;
use outlast_lib::{CancelQuery, Status};
use rustix::time::{ClockId, clock_gettime};
use serde_json::json;
use std::fs;
use std::io::Write;
use std::os::fd::AsFd;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        an_end_wakes_within_two_seconds_and_once,
        a_wait_hears_of_a_run_that_is_started_while_it_waits,
        an_end_that_was_read_or_cancelled_wakes_nobody,
        a_cancel_does_not_wake_who_waits_meanwhile,
        an_output_read_before_the_end_leaves_the_end_to_be_told,
        a_released_end_is_handed_out_again_and_an_acknowledged_one_never,
        of_many_ends_each_is_handed_out_once_also_to_threads,
        a_wait_ends_with_its_time_and_with_its_interrupt,
        a_wait_costs_no_cpu,
        a_wait_is_not_made_busy_by_the_starts_of_others,
        a_killed_supervisor_wakes_as_an_end_does,
        a_run_that_could_not_start_was_told_and_wakes_nobody,
    );
}

/// AL-03.
fn an_end_wakes_within_two_seconds_and_once() {
    let host = Host::new();
    let id = host.run("while [ ! -e go ]; do sleep 0.02; done; echo built");
    assert_eq!(host.drained(), [], "it goes on");
    host.place.touch("go");
    let asked = Instant::now();
    assert!(host.is_woken(limit_ms()));
    assert!(
        asked.elapsed() < Duration::from_secs(2),
        "{:?}",
        asked.elapsed()
    );
    let finished = host.background.drain_finished().expect("it can be read");
    assert_eq!(finished.len(), 1, "{finished:?}");
    let one = &finished[0];
    assert_eq!((one.run.id, one.restored), (id, false));
    assert_eq!(
        (one.run.status, one.run.exit_code),
        (Status::Completed, Some(0))
    );
    assert_eq!(one.run.summary.as_deref(), Some("built"));
    let prompt = wake_prompt(&finished).expect("there is a reason");
    assert!(prompt.contains(id.as_str()), "{prompt}");
    assert!(
        !host.is_woken(200),
        "an end that was handed out wakes nobody"
    );
    assert_eq!(host.drained(), []);
    host.background.acknowledge(&[id]).expect("it can be noted");
    assert_eq!(host.drained(), []);
}

fn a_wait_hears_of_a_run_that_is_started_while_it_waits() {
    let host = Host::new();
    let other = open(&host.place, "s", |_| {});
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| (host.is_woken(limit_ms()), Instant::now()));
        // Another object, and so as another process: this one hears of it by the store alone.
        let begun = other.call("background_run", &json!({"command": "sleep 0.1"}));
        let id = id_of(&begun.value());
        host.ended(&id);
        let ended = Instant::now();
        let (is_woken, woken) = waiting.join().expect("the thread ends");
        assert!(is_woken);
        assert!(woken.saturating_duration_since(ended) < Duration::from_secs(2));
        assert_eq!(host.drained(), [(id, false)]);
    });
}

fn an_end_that_was_read_or_cancelled_wakes_nobody() {
    let host = Host::new();
    let read = host.run("echo x");
    host.ended(&read);
    host.call("background_output", &json!({"id": read}));
    let cancelled = host.run("exec sleep 600");
    host.call("background_cancel", &json!({"id": cancelled}));
    assert!(!host.is_woken(200));
    assert_eq!(host.drained(), []);
    // A cancel by somebody else is news.
    let foreign = host.run("exec sleep 600");
    let query = CancelQuery::default();
    host.place
        .store
        .cancel(&foreign, &query)
        .expect("it can be cancelled");
    assert!(host.is_woken(limit_ms()));
    assert_eq!(host.drained(), [(foreign, false)]);
}

fn a_cancel_does_not_wake_who_waits_meanwhile() {
    let host = Host::new();
    let id = host.run("exec sleep 600");
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| host.is_woken(1_000));
        host.call("background_cancel", &json!({"id": id}));
        assert!(!waiting.join().expect("the thread ends"));
    });
}

fn an_output_read_before_the_end_leaves_the_end_to_be_told() {
    let host = Host::new();
    let id = host.run("echo early; while [ ! -e go ]; do sleep 0.02; done");
    let read = host.call("background_output", &json!({"id": id}));
    assert_eq!(read["status"], "running");
    host.place.touch("go");
    assert!(host.is_woken(limit_ms()));
    assert_eq!(host.drained(), [(id, false)]);
}

fn a_released_end_is_handed_out_again_and_an_acknowledged_one_never() -> Result<(), Failed> {
    let host = Host::new();
    let id = host.run("true");
    host.ended(&id);
    assert_eq!(host.drained(), [(id, false)]);
    host.background.release(&[id]);
    assert!(host.is_woken(limit_ms()));
    assert_eq!(host.drained(), [(id, false)]);
    host.background.acknowledge(&[id])?;
    host.background.release(&[id]);
    assert_eq!(host.drained(), []);
    let later = open(&host.place, "s", |_| {});
    assert_eq!(later.drain_finished()?, []);
    Ok(())
}

fn of_many_ends_each_is_handed_out_once_also_to_threads() {
    let host = Host::new();
    let mut ids: Vec<_> = (0..6).map(|_| host.run("true")).collect();
    for id in &ids {
        host.ended(id);
    }
    let mut drained: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| host.drained())).collect();
        let drained = threads.into_iter().map(ScopedJoinHandle::join);
        drained
            .flat_map(|ends| ends.expect("it ends"))
            .map(|(id, _)| id)
            .collect()
    });
    drained.sort_unstable();
    ids.sort_unstable();
    assert_eq!(drained, ids);
}

fn a_wait_ends_with_its_time_and_with_its_interrupt() -> Result<(), Failed> {
    let host = Host::new();
    assert!(!host.is_woken(50), "without a run");
    host.run("exec sleep 600");
    assert!(!host.is_woken(50), "with one");
    let (reader, mut writer) = std::io::pipe()?;
    std::thread::scope(|scope| {
        let fd = reader.as_fd();
        let waiting = scope.spawn(move || host.background.wait_for_end(None, Some(fd)));
        writer.write_all(b"x")?;
        assert!(!waiting.join().expect("the thread ends")?);
        Ok(())
    })
}

/// Returns the CPU time that this thread has used.
fn used() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(
        u64::try_from(time.tv_sec).expect("it is positive"),
        u32::try_from(time.tv_nsec).expect("it is below a second"),
    )
}

fn a_wait_costs_no_cpu() {
    let host = Host::new();
    host.run("exec sleep 600");
    host.is_woken(1);
    let before = used();
    host.is_woken(2_000);
    let cost = used().saturating_sub(before);
    assert!(cost < Duration::from_millis(40), "{cost:?} for two seconds");
}

/// Looks over which the cost of one is taken.
const LOOKS: u32 = 10;

fn a_wait_is_not_made_busy_by_the_starts_of_others() -> Result<(), Failed> {
    let host = Host::new();
    let id = host.run("exec sleep 600");
    // A start is a rename in the folder of a month: what is heard of it, without the run.
    let run_dir = host.place.run_dir(&id);
    let hidden = [".noise-1", ".noise-2"].map(|name| run_dir.with_file_name(name));
    fs::create_dir(&hidden[0])?;
    let (stop, is_stopped) = mpsc::channel::<()>();
    let (cost, renames) = std::thread::scope(|scope| {
        let noise = scope.spawn(move || {
            let mut renames = 0;
            let pace = Duration::from_millis(10);
            while is_stopped.recv_timeout(pace) == Err(RecvTimeoutError::Timeout) {
                let (from, to) = (renames % 2, (renames + 1) % 2);
                fs::rename(&hidden[from], &hidden[to]).expect("it is ours");
                renames += 1;
            }
            renames
        });
        let before = used();
        assert!(!host.is_woken(2_000));
        let looked = used();
        for _ in 0..LOOKS {
            host.is_woken(0);
        }
        let one = used().saturating_sub(looked) / LOOKS;
        let cost = looked.saturating_sub(before).div_duration_f64(one);
        drop(stop);
        (cost, noise.join().expect("the thread ends"))
    });
    assert!(renames > 20, "{renames} make nothing busy");
    // Nine looks, each with two waits beside it, cost as much as 14 to 20; without a pause
    // between them it is more than 50.
    assert!(cost < 36.0, "{cost} looks beside {renames} starts");
    Ok(())
}

fn a_killed_supervisor_wakes_as_an_end_does() {
    let host = Host::new();
    let id = host.run("exec sleep 600");
    let supervisor = host.place.supervisor_of(&id);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| host.is_woken(limit_ms()));
        crate::home::kill(supervisor);
        let killed = Instant::now();
        assert!(waiting.join().expect("the thread ends"));
        assert!(killed.elapsed() < Duration::from_secs(2));
    });
    let finished = host.background.drain_finished().expect("it can be read");
    assert_eq!(finished[0].run.status, Status::Interrupted);
    assert!(!finished[0].restored);
}

fn a_run_that_could_not_start_was_told_and_wakes_nobody() {
    let host = super::agents::host_of(|_| {
        Ok(outlast_lib::background::Spawned::Command {
            words: vec!["/no/such/agent".to_owned()],
            env: Vec::new(),
            child_session_id: None,
        })
    });
    let error = host.refused("background_agent", &json!({"task": "t"}));
    assert_eq!(error["code"], "no_such_program");
    let id = id_of(&error);
    assert_eq!(host.ended(&id).status, Status::Failed);
    assert!(!host.is_woken(100));
    assert_eq!(host.drained(), []);
    let read = host.call("background_output", &json!({"id": id}));
    let log = read["output"].as_str().unwrap_or_default();
    assert!(log.starts_with("[sub-agent could not be run: "), "{log}");
}
