//! A run ends when its time, its deadline, its session or its readers are gone, and says which.

use crate::home::{LIMIT, Place, kill, reference};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{Lifetime, ProcessRef, Record, Request, Status, Timestamp, WaitQuery};
use outlast_testkit::eventually;
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_time_limit_is_counted_from_exec,
        a_deadline_ends_a_run_as_timed_out,
        a_session_s_end_cancels_its_runs_and_no_others,
        a_session_that_is_gone_already_ends_the_run_at_once,
        a_reused_pid_is_not_the_session,
        a_session_run_without_a_holder_is_refused,
        a_run_that_nobody_reads_is_stopped,
        a_run_that_is_read_goes_on,
        a_wait_is_reading_all_the_time_it_lasts,
        following_is_reading_all_the_time_it_lasts,
        a_list_is_no_reading,
        a_wait_ends_at_its_own_limit,
    );
}

fn ended_by(record: &Record) -> (Status, &str) {
    (
        record.status,
        record.ended_by.as_deref().unwrap_or_default(),
    )
}

fn a_time_limit_is_counted_from_exec() {
    let place = Place::new();
    let request = Request {
        timeout_ms: Some(500),
        ..place.direct(&["sleep", "600"])
    };
    let record = place.ended(&place.begin(&request));
    assert_eq!(ended_by(&record), (Status::TimedOut, "timeout"));
    let elapsed = record.elapsed_ms.expect("it is known");
    assert!((500..1_500).contains(&elapsed), "{elapsed} ms");
    assert_eq!(record.timeout_secs, Some(0.5));
    place.is_deserted();
}

fn a_deadline_ends_a_run_as_timed_out() {
    let place = Place::new();
    let now = place.record(&place.start("exit 0")).created;
    let deadline = Timestamp(now.0 + 1_500);
    let request = Request {
        deadline: Some(deadline),
        ..place.direct(&["sleep", "600"])
    };
    let record = place.ended(&place.begin(&request));
    assert_eq!(ended_by(&record), (Status::TimedOut, "deadline"));
    assert!(record.ended >= Some(deadline), "{record:?}");
    assert_eq!(record.deadline, Some(deadline));
    place.is_deserted();
}

fn of_session(place: &Place, holder: ProcessRef, text: &str) -> Request {
    Request {
        lifetime: Lifetime::Session,
        holder: Some(holder),
        ..place.shell(text)
    }
}

/// MU-02.
fn a_session_s_end_cancels_its_runs_and_no_others() -> Result<(), Failed> {
    let place = Place::new();
    let mut session = Command::new("sleep").arg("600").spawn()?;
    let bound = place.begin(&of_session(&place, reference(session.id()), "sleep 60"));
    let free = place.start("while [ ! -e go ]; do sleep 0.02; done; echo kept");
    session.kill()?;
    let killed = Instant::now();
    session.wait()?;
    let record = place.ended(&bound);
    assert!(killed.elapsed() < Duration::from_secs(5));
    assert_eq!(ended_by(&record), (Status::Cancelled, "session"));
    place.touch("go");
    let record = place.ended(&free);
    assert_eq!((record.status, record.output.bytes), (Status::Completed, 5));
    place.is_deserted();
    Ok(())
}

fn a_session_that_is_gone_already_ends_the_run_at_once() -> Result<(), Failed> {
    let place = Place::new();
    let mut session = Command::new("sleep").arg("600").spawn()?;
    let holder = reference(session.id());
    session.kill()?;
    session.wait()?;
    let record = place.ended(&place.begin(&of_session(&place, holder, "sleep 60")));
    assert_eq!(ended_by(&record), (Status::Cancelled, "session"));
    Ok(())
}

fn a_reused_pid_is_not_the_session() -> Result<(), Failed> {
    let place = Place::new();
    let mut session = Command::new("sleep").arg("600").spawn()?;
    let mut holder = reference(session.id());
    holder.start_ticks -= 1;
    let record = place.ended(&place.begin(&of_session(&place, holder, "sleep 60")));
    assert_eq!(ended_by(&record), (Status::Cancelled, "session"));
    session.kill()?;
    session.wait()?;
    Ok(())
}

fn a_session_run_without_a_holder_is_refused() {
    let place = Place::new();
    let request = Request {
        lifetime: Lifetime::Session,
        ..place.shell("exit 0")
    };
    let error = place.store.start(&request).expect_err("nobody holds it");
    assert_eq!(outlast_lib::Advice::code(&error), "no_holder");
    assert_eq!(place.list(), []);
}

fn idle(place: &Place, text: &str) -> Request {
    Request {
        idle_ttl_ms: Some(1_000),
        ..place.shell(text)
    }
}

fn a_run_that_nobody_reads_is_stopped() {
    let place = Place::new();
    let id = place.begin(&idle(&place, "exec sleep 600"));
    let supervisor = place.supervisor_of(&id);
    eventually("its supervisor leaves", LIMIT, || {
        !crate::home::is_alive(supervisor)
    });
    let record = place.record(&id);
    assert_eq!(ended_by(&record), (Status::Cancelled, "idle"));
    assert!(record.elapsed_ms >= Some(1_000), "{record:?}");
    assert_eq!(record.idle_ttl_secs, Some(1.0));
    place.is_deserted();
    place.is_sound();
}

fn a_run_that_is_read_goes_on() {
    let place = Place::new();
    let id = place.begin(&idle(&place, "exec sleep 600"));
    let begun = Instant::now();
    eventually("three budgets pass", LIMIT, || {
        place.store.mark_read(&id);
        begun.elapsed() > Duration::from_secs(3)
    });
    assert_eq!(place.record(&id).status, Status::Running);
}

fn a_wait_is_reading_all_the_time_it_lasts() {
    let place = Place::new();
    let id = place.begin(&idle(&place, "sleep 3; exit 3"));
    let record = place.ended(&id);
    assert_eq!((record.status, record.exit_code), (Status::Failed, Some(3)));
}

fn following_is_reading_all_the_time_it_lasts() -> Result<(), Failed> {
    let place = Place::new();
    let id = place.begin(&idle(&place, "sleep 3; echo end"));
    let mut follow = place.store.follow(&id, 0)?;
    let (mut all, mut chunk) = (Vec::new(), Vec::new());
    while !matches!(follow.next(&mut chunk, None)?, outlast_lib::Followed::Ended) {
        all.append(&mut chunk);
    }
    assert_eq!(all, b"end\n");
    assert_eq!(place.record(&id).status, Status::Completed);
    Ok(())
}

fn a_list_is_no_reading() {
    let place = Place::new();
    let id = place.begin(&idle(&place, "exec sleep 600"));
    eventually("it is stopped", LIMIT, || {
        place
            .list()
            .iter()
            .any(|record| record.id == id && record.status == Status::Cancelled)
    });
}

/// TW-05: any and all, and a bound that is no error.
fn a_wait_ends_at_its_own_limit() -> Result<(), Failed> {
    let place = Place::new();
    let long = place.begin(&place.direct(&["sleep", "600"]));
    let short = place.start("sleep 0.3");
    let any = WaitQuery {
        any: true,
        timeout_ms: Some(20_000),
        ..WaitQuery::default()
    };
    let waited = place.store.wait(&[long, short], &any)?;
    assert_eq!((waited.ended, waited.running), (vec![short], vec![long]));
    let all = WaitQuery {
        timeout_ms: Some(300),
        ..WaitQuery::default()
    };
    let asked = Instant::now();
    let waited = place.store.wait(&[long, short], &all)?;
    assert!((300..1_500).contains(&asked.elapsed().as_millis()));
    assert_eq!((waited.ended, waited.running), (vec![short], vec![long]));
    kill(place.main_of(&long).pid);
    let waited = place.store.wait(&[long, short], &all)?;
    assert_eq!(waited.running, []);
    Ok(())
}
