//! A run whose supervisor is gone is closed once, says what is known, and is killed by nobody.

use crate::testing::{Fixture, Maker, Process, Run, hold, nobody};
use outlast_journal::{Fact, Line, MainExit, Queued, Record, Seq, State, Status, limits};
use outlast_supervisor::process;

fn summary(fixture: &Fixture, run: &Run) -> String {
    let record = fixture.store.record(&run.id).unwrap();
    assert_eq!(record.status, Status::Interrupted);
    assert_eq!(record.ended_by.as_deref(), Some("unknown"));
    record.summary.unwrap()
}

fn lines(run: &Run) -> Vec<String> {
    let text = String::from_utf8(run.journal()).unwrap();
    assert!(text.ends_with('\n'), "{text}");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn many_readers_at_once_write_one_end() {
    let fixture = Fixture::new();
    for number in 0..20 {
        let run = fixture.run(number).claimed().started().make();
        let records: Vec<Record> = std::thread::scope(|scope| {
            let readers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| fixture.store.record(&run.id).unwrap()))
                .collect();
            readers
                .into_iter()
                .map(|reader| reader.join().unwrap())
                .collect()
        });
        assert_eq!(lines(&run).len(), 3);
        let state = State::fold(&run.journal());
        assert_eq!(state.status(), Status::Interrupted);
        assert_eq!((state.next_seq, state.damaged_lines), (Seq(2), 0));
        // A reader that met another at work saw the run as it was before.
        for record in records {
            assert!(matches!(
                record.status,
                Status::Running | Status::Interrupted
            ));
        }
        assert_eq!(fixture.store.record(&run.id).unwrap().ended, state.ended_at);
    }
}

#[test]
fn what_is_known_is_said() {
    let fixture = Fixture::new();
    let check = |maker: Maker<'_>, said: &str| {
        let run = maker.make();
        assert_eq!(summary(&fixture, &run), format!("interrupted: {said}"));
    };
    let begun = "the start was cut off before the command ran";
    check(fixture.run(1), begun);
    let claimed = "the supervisor is gone; whether the command ran is unknown";
    check(fixture.run(2).claimed(), claimed);
    let started = "the supervisor is gone; exit code unknown";
    check(fixture.run(3).claimed().started(), started);
    let (boot, here) = (process::boot_id(), process::pid_namespace());
    let restarted = "the machine was restarted; exit code unknown";
    check(
        fixture.run(4).claimed_as("another", here).started(),
        restarted,
    );
    let unseen = format!("{started}; its processes cannot be seen from this PID namespace");
    check(
        fixture.run(5).claimed_as(&boot, here + 1).started(),
        &unseen,
    );
    let waiting = "the supervisor is gone; it was waiting for a place";
    let queued = Fact::Queued(Queued { ticket: 1 });
    check(fixture.run(6).claimed().fact(&queued), waiting);
}

#[test]
fn how_the_main_process_ended_is_kept_when_it_is_known() {
    let fixture = Fixture::new();
    let exited = |number, exit_code, signal: Option<&str>| {
        let fact = Fact::MainExited(MainExit {
            exit_code,
            signal: signal.map(str::to_owned),
        });
        let run = fixture.run(number).claimed().started().fact(&fact).make();
        fixture.store.record(&run.id).unwrap()
    };
    let code = exited(1, Some(3), None);
    let said = "interrupted: the supervisor is gone; the command had exited with 3";
    assert_eq!(
        (code.exit_code, code.summary.as_deref()),
        (Some(3), Some(said))
    );
    let killed = exited(2, None, Some("SEGV"));
    let said = "interrupted: the supervisor is gone; the command had been killed by SIGSEGV";
    assert_eq!(
        (killed.signal.as_deref(), killed.summary.as_deref()),
        (Some("SEGV"), Some(said))
    );
}

#[test]
fn a_torn_line_is_closed_before_the_end_is_written() {
    let fixture = Fixture::new();
    let run = fixture
        .run(1)
        .claimed()
        .started()
        .bytes(b"{\"v\":1,\"seq\":1,\"ty")
        .make();
    summary(&fixture, &run);
    let lines = lines(&run);
    assert_eq!(lines.len(), 4);
    assert_eq!(lines[2], "{\"v\":1,\"seq\":1,\"ty");
    let state = State::fold(&run.journal());
    assert!(state.is_ended() && !state.is_torn);
    assert_eq!(state.damaged_lines, 1);
}

#[test]
fn an_end_that_its_writer_did_not_finish_is_no_end() {
    let fixture = Fixture::new();
    let whole = fixture.run(1).claimed().started();
    let ended = fixture.ended(2).journal();
    let end = ended
        .split_inclusive(|byte| *byte == b'\n')
        .next_back()
        .unwrap();
    let run = whole.bytes(&end[..end.len() - 1]).make();
    assert_eq!(
        summary(&fixture, &run),
        "interrupted: the supervisor is gone; exit code unknown"
    );
}

#[test]
fn reserved_space_at_the_end_of_a_journal_makes_no_unreadable_line() {
    let fixture = Fixture::new();
    let run = fixture.run(1).claimed().started().bytes(&[0; 100]).make();
    summary(&fixture, &run);
    assert!(!run.journal().contains(&0));
    assert_eq!(State::fold(&run.journal()).damaged_lines, 0);
    assert_eq!(lines(&run).len(), 3);
}

#[test]
fn a_run_whose_lock_is_held_is_left_alone() {
    let fixture = Fixture::new();
    let (run, lock) = fixture.live(1);
    let before = run.journal();
    assert_eq!(
        fixture.store.record(&run.id).unwrap().status,
        Status::Running
    );
    assert_eq!(run.journal(), before);
    drop(lock);
    assert_eq!(
        fixture.store.record(&run.id).unwrap().status,
        Status::Interrupted
    );
}

#[test]
fn a_run_that_ended_is_not_interrupted_whoever_holds_its_lock() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let before = run.journal();
    assert_eq!(
        fixture.store.record(&run.id).unwrap().status,
        Status::Completed
    );
    let lock = run.hold();
    assert_eq!(
        fixture.store.record(&run.id).unwrap().status,
        Status::Completed
    );
    drop(lock);
    assert_eq!(run.journal(), before);
}

#[test]
fn a_store_that_is_only_read_tells_the_same_and_writes_nothing() {
    let fixture = Fixture::new();
    let run = fixture.run(1).claimed().started().make();
    run.put("output.log", b"one\ntwo\n");
    let before = run.journal();
    let mut read = fixture.read_only().record(&run.id).unwrap();
    assert_eq!(run.journal(), before);
    let events = fixture.read_only().events(&run.id, Seq(0), 10).unwrap();
    assert_eq!(events.events.len(), 2);
    assert_eq!(events.events[1].kind, "failed");
    let written = fixture.store.record(&run.id).unwrap();
    assert_ne!(run.journal(), before);
    read.ended = written.ended;
    read.updated = written.updated;
    assert_eq!(read, written);
    assert_eq!((written.output.bytes, written.output.kept), (8, 8));
    assert!(written.output.last_output_at.is_some());
}

#[test]
fn what_is_left_of_the_tree_is_named_and_lives_on() {
    let fixture = Fixture::new();
    let left = fixture.process_of(&fixture.id(1));
    let other = fixture.process_of(&fixture.id(2));
    let run = fixture.run(1).claimed().started().make();
    let record = fixture.store.record(&run.id).unwrap();
    let pids: Vec<i32> = record.leftovers.iter().map(|left| left.pid).collect();
    assert_eq!(pids, [left.reference().pid]);
    assert_eq!(record.leftovers[0].command, "sleep 600");
    assert!(left.is_alive() && other.is_alive());
    drop(left);
    assert_eq!(fixture.store.record(&run.id).unwrap().leftovers, []);
}

#[test]
fn processes_of_another_boot_are_not_looked_at() {
    let fixture = Fixture::new();
    let _same_cookie = fixture.process_of(&fixture.id(1));
    let run = fixture
        .run(1)
        .claimed_as("another", process::pid_namespace())
        .started()
        .make();
    assert_eq!(fixture.store.record(&run.id).unwrap().leftovers, []);
}

#[test]
fn more_leftovers_than_are_named_are_counted() {
    let fixture = Fixture::new();
    let most = limits::LEFTOVERS_NAMED_MAX;
    let _left: Vec<Process> = (0..most + 3)
        .map(|_| fixture.process_of(&fixture.id(1)))
        .collect();
    let run = fixture.run(1).claimed().started().make();
    fixture.store.record(&run.id).unwrap();
    let end = State::fold(&run.journal()).end.unwrap();
    assert_eq!((end.leftovers.len(), end.leftovers_more), (most, 3));
    let line = run
        .journal()
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .max();
    assert!(line.unwrap() < 16 << 10);
}

#[test]
fn the_end_is_found_that_came_between_the_look_at_the_journal_and_at_the_lock() {
    let fixture = Fixture::new();
    let run = fixture.ended(1);
    let spec = fixture.store.spec(&run.id).unwrap();
    let settled = super::settle(&fixture.store, &run.dir, &spec).unwrap();
    assert!(matches!(settled, super::Settled::Ended(state) if state.status() == Status::Completed));
    let settled = super::settle(&fixture.read_only(), &run.dir, &spec).unwrap();
    assert!(matches!(settled, super::Settled::Ended(state) if state.status() == Status::Completed));
}

#[test]
fn a_run_whose_lock_was_taken_meanwhile_counts_as_alive() {
    let fixture = Fixture::new();
    let run = fixture.run(1).claimed().started().make();
    let spec = fixture.store.spec(&run.id).unwrap();
    let _lock = hold(&run.dir.join("lock"));
    let settled = super::settle(&fixture.store, &run.dir, &spec).unwrap();
    assert!(matches!(settled, super::Settled::Alive(_)));
}

#[test]
fn a_line_of_a_later_version_survives_the_settling() {
    let fixture = Fixture::new();
    let later = b"{\"v\":9,\"seq\":1,\"ts\":\"2026-01-01T00:00:00.000Z\",\"type\":\"new\"}\n";
    let run = fixture
        .run(1)
        .claimed()
        .started_as(nobody())
        .bytes(later)
        .make();
    summary(&fixture, &run);
    let journal = run.journal();
    let last = journal
        .split(|byte| *byte == b'\n')
        .rfind(|line| !line.is_empty())
        .unwrap();
    assert_eq!(Line::from_bytes(last).unwrap().seq, Some(Seq(2)));
}
