//! Agent runs are started, cancelled, asked and answered as every surface needs it.

use crate::calls::{begin, kinds, request, results};
use crate::home::{LIMIT, Place, kill};
use libtest_mimic::Trial;
use outlast_journal::agent::AgentRequest;
use outlast_journal::{CommandLine, Containment, Kind, Limits, Status, Tier};
use outlast_lib::{
    Advice, AnswerError, CancelQuery, Cancelled, Request, RunId, StartError, StopCause,
};
use outlast_testkit::{eventually, eventually_some};
use serde_json::json;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_cancel_stops_the_call_and_lets_the_worker_say_what_was_done,
        a_call_that_ignores_term_is_gone_soon_after_a_cancel,
        a_cancel_now_and_a_time_limit_end_the_whole_tree_at_once,
        a_worker_that_does_not_end_its_work_is_stopped_by_a_second_cancel_without_grace,
        an_ask_is_answered_once_by_the_first_who_does,
        a_call_on_the_host_runs_only_when_somebody_approved_it,
        what_is_sent_reaches_the_model_once_also_over_a_restart,
        an_agent_run_is_refused_in_the_order_of_its_faults,
        agents_start_agents_one_deep,
        a_task_without_a_secret_and_bounds_in_range_are_what_is_written,
    );
}

fn cancel(place: &Place, id: &RunId) -> Cancelled {
    let query = CancelQuery::default();
    place.store.cancel(id, &query).expect("it can be cancelled")
}

fn a_cancel_stops_the_call_and_lets_the_worker_say_what_was_done() {
    let place = Place::new();
    let script = "sh echo a >>effects\nsh echo $$ >pid; trap 'echo told >>effects; exit 9' TERM; \
                  while :; do sleep 0.05; done\nsh echo never >>effects";
    let id = begin(&place, script);
    place.pid_in("pid");
    let cancelled = cancel(&place, &id);
    assert!(cancelled.cancelled, "{cancelled:?}");
    let record = place.ended(&id);
    assert_eq!(
        (record.status, record.ended_by.as_deref()),
        (Status::Cancelled, Some("cancel"))
    );
    assert_eq!(
        record.summary.as_deref(),
        Some("the script ended as cancelled")
    );
    assert_eq!(place.lines("effects"), ["a", "told"]);
    let results = results(&place, &id);
    assert_eq!(results[1]["end"], "cancelled");
    assert_eq!(results[1]["exit_code"], 9);
    place.is_sound();
    place.is_deserted();
}

/// Case AL-04.
fn a_call_that_ignores_term_is_gone_soon_after_a_cancel() {
    let place = Place::new();
    let id = begin(
        &place,
        "sh trap '' TERM; echo $$ >pid; setsid -f sleep 600; while :; do sleep 0.1; done",
    );
    place.pid_in("pid");
    let begun = Instant::now();
    cancel(&place, &id);
    let record = place.ended(&id);
    // The grace of a run here is one second.
    assert!(begun.elapsed() < Duration::from_secs(3 + 8));
    assert_eq!(record.status, Status::Cancelled);
    let results = results(&place, &id);
    assert_eq!(results[0]["end"], "cancelled");
    assert_eq!(results[0]["signal"], "KILL");
    place.is_deserted();
}

fn a_cancel_now_and_a_time_limit_end_the_whole_tree_at_once() {
    let place = Place::new();
    let text = "sh trap '' TERM; echo $$ >pid; while :; do sleep 0.1; done";
    let id = begin(&place, text);
    place.pid_in("pid");
    place.cancel_now(&id);
    assert_eq!(place.record(&id).status, Status::Cancelled);
    let ended = kinds(&place, &id, "call.ended");
    assert_eq!(ended[0]["end"], "cancelled", "{ended:?}");
    place.is_deserted();

    let limited = Request {
        timeout_ms: Some(500),
        grace_ms: Some(200),
        ..request(&place, text)
    };
    let id = place.begin(&limited);
    let record = place.ended(&id);
    assert_eq!(
        (record.status, record.ended_by.as_deref()),
        (Status::TimedOut, Some(StopCause::Timeout.ended_by()))
    );
    place.is_sound();
    place.is_deserted();
}

fn a_worker_that_does_not_end_its_work_is_stopped_by_a_second_cancel_without_grace() {
    let place = Place::new();
    let id = begin(&place, "sh echo x >>parked\npark");
    place.has_lines("parked", 1);
    eventually("the worker waits", LIMIT, || {
        results(&place, &id).len() == 1
    });
    let asked = cancel(&place, &id);
    assert_eq!(asked.status, Status::Running);
    assert!(place.record(&id).cancelling);
    assert!(cancel(&place, &id).is_cancelling);
    place.cancel_now(&id);
    assert_eq!(place.record(&id).status, Status::Cancelled);
    place.is_deserted();
}

fn answer(
    place: &Place,
    id: &RunId,
    ask: Option<&str>,
    is_approved: bool,
) -> Result<String, AnswerError> {
    place
        .store
        .answer(id, ask, is_approved, Some("so be it"), "trial")
}

fn an_ask_is_answered_once_by_the_first_who_does() {
    let place = Place::new();
    let id = begin(&place, "host echo done >>effects");
    let asked = || place.record(&id).needs_approval;
    let open = eventually_some("an ask", LIMIT, asked);
    assert_eq!(open.ask, "1.1");
    let other = answer(&place, &id, Some("9.9"), true);
    assert_eq!(other.expect_err("no such ask").code(), "no_open_ask");
    let first = answer(&place, &id, None, false);
    assert_eq!(first.expect("it is open"), "1.1");
    let second = answer(&place, &id, Some("1.1"), true);
    let code = second.expect_err("it was answered").code();
    let codes = ["no_open_ask", "run_ended", "run_stopping"];
    assert!(codes.contains(&code), "{code}");
    place.ended(&id);
    assert_eq!(asked(), None);
    let answered = kinds(&place, &id, "answered");
    assert_eq!(
        answered,
        [json!({"ask": "1.1", "is_approved": false, "text": "so be it", "by": "trial"})]
    );
}

fn a_call_on_the_host_runs_only_when_somebody_approved_it() {
    let place = Place::new();
    let mut request = request(&place, "host echo a >>../effects\nhost echo b >>../effects");
    request.cwd = place.home.work();
    request.containment = Some(Containment::new(Tier::SandboxEdit));
    let id = place.begin(&request);
    for (ask, is_approved) in [("1.1", false), ("2.1", true)] {
        eventually("the ask is open", LIMIT, || {
            answer(&place, &id, Some(ask), is_approved).is_ok()
        });
    }
    place.ended(&id);
    assert_eq!(place.lines("effects"), ["b"]);
    assert_eq!(results(&place, &id)[0]["failure"]["code"], "not_approved");
}

fn what_is_sent_reaches_the_model_once_also_over_a_restart() {
    let place = Place::new();
    let id = begin(
        &place,
        "sh until [ -e go ]; do sleep 0.02; done\ninput\ninput",
    );
    place.store.send(&id, b"first", false).expect("it is taken");
    kill(place.main_of(&id).pid);
    place
        .store
        .send(&id, b"second", false)
        .expect("it is taken");
    let blank = place.store.send(&id, b" \n", false);
    assert_eq!(blank.expect_err("it says nothing").code(), "not_a_text");
    place.touch("go");
    let record = place.ended(&id);
    assert_eq!(record.status, Status::Completed);
    let results = results(&place, &id);
    assert_eq!(results[1], json!({"number": 1, "text": "first"}));
    assert_eq!(results[2], json!({"number": 2, "text": "second"}));
    let late = place.store.send(&id, b"late", false);
    assert_eq!(late.expect_err("it has ended").code(), "run_ended");
}

fn an_agent_run_is_refused_in_the_order_of_its_faults() {
    let mut limits = Limits::default();
    limits.agent_runs_max = 1;
    let place = Place::with(limits);
    let first = begin(&place, "park");
    let local = AgentRequest {
        task: " ".to_owned(),
        is_local: true,
        until: Some("true".to_owned()),
        ..AgentRequest::default()
    };
    let mut request = Request {
        command: CommandLine::Agent(Box::new(local.clone())),
        cwd: place.home.path().join("nowhere"),
        ..place.shell("")
    };
    let code = |request: &Request| {
        let refused = place.store.start(request);
        refused.expect_err("it is refused").code()
    };
    assert_eq!(code(&request), "blank");
    let task = AgentRequest {
        task: "park".to_owned(),
        ..local
    };
    request.command = CommandLine::Agent(Box::new(task));
    assert_eq!(code(&request), "work_dir");
    request.cwd = place.home.work();
    let refused = place.store.start(&request);
    assert!(
        matches!(&refused, Err(StartError::AtCapacity { of_agents: true, holders, .. }) if holders[0].0 == first),
        "{refused:?}"
    );
    place.cancel_now(&first);
    assert_eq!(code(&request), "until_refused");
    assert_eq!(place.list().len(), 1, "a refusal leaves no run");
    let id = begin(&place, "park");
    place.cancel_now(&id);
    place.is_sound();
}

/// Case LQ-02.
fn agents_start_agents_one_deep() {
    let place = Place::new();
    let id = begin(&place, "park");
    let inside = |parent: &RunId| {
        let mut inner = request(&place, "park");
        let parent = parent.as_str();
        inner
            .environment
            .push(("OUTLAST_RUN".into(), parent.into()));
        place.store.start(&inner)
    };
    let child = inside(&id).expect("one is allowed").id;
    let spec = |id: &RunId| place.store.spec(id).expect("it can be read");
    assert_eq!((spec(&child).parent, spec(&child).depth), (Some(id), 1));
    assert!(spec(&id).agent.expect("an agent run").has_sub_agents);
    assert!(!spec(&child).agent.expect("an agent run").has_sub_agents);
    let refused = inside(&child).expect_err("two deep");
    assert_eq!(refused.code(), "depth_exceeded");
    place.cancel_now(&child);
    place.cancel_now(&id);
}

fn a_task_without_a_secret_and_bounds_in_range_are_what_is_written() {
    let place = Place::new();
    let asked = AgentRequest {
        task: "park with sk-0123456789abcdef".to_owned(),
        turns_max: Some(500),
        ..AgentRequest::default()
    };
    let mut request = Request {
        command: CommandLine::Agent(Box::new(asked)),
        ..place.shell("")
    };
    let key = ("VENDOR_API_KEY".into(), "sk-0123456789abcdef".into());
    request.environment.push(key);
    let begun = place.store.start(&request).expect("it starts");
    assert_eq!(
        begun.notices,
        ["max-turns of 500 turns was set to 200 turns"]
    );
    let record = place.record(&begun.id);
    assert_eq!(record.kind, Kind::Agent);
    let spec = place.store.spec(&begun.id).expect("it can be read");
    let agent = spec.agent.as_deref().expect("an agent run");
    assert_eq!(agent.turns_max, 200);
    assert!(!spec.to_json().contains("sk-0123456789abcdef"));
    assert!(!agent.call_env_names.contains(&"VENDOR_API_KEY".to_owned()));
    place.cancel_now(&begun.id);
}
