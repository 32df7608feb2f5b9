//! A worker's calls are run once, by the supervisor, whatever becomes of the worker.

use crate::home::{Place, kill, processes_in};
use crate::worker;
use libtest_mimic::{Completion, Trial};
use outlast_journal::{Containment, Status, Tier, limits, policy};
use outlast_lib::{Record, Request, RunId};
use outlast_testkit::eventually;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::MetadataExt;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_run_ends_as_its_worker_says,
        a_call_runs_once_and_its_end_and_output_are_kept,
        a_call_has_no_key_and_only_what_is_handed_in,
        a_call_that_takes_too_long_is_stopped,
        what_a_call_leaves_is_gone_at_its_end,
        a_worker_that_dies_is_replaced_and_finds_its_call_done,
        a_worker_that_dies_for_good_fails_the_run,
        what_cannot_be_a_call_is_refused,
        contained_calls_are_told_as_bound_and_the_hand_is_in_there,
        a_call_that_floods_keeps_head_and_tail_and_costs_its_supervisor_nothing,
        a_worker_that_sends_garbage_is_replaced,
        a_worker_that_floods_facts_is_still_cancelled,
        a_worker_that_never_reads_is_still_stopped,
        calls_of_a_local_run_are_refused,
        the_hand_is_there_where_landlock_alone_contains,
        a_supervisor_of_an_agent_run_costs_little_more_than_that_of_a_command,
        a_run_started_in_a_call_outlives_it_and_is_cancelled_with_the_agent,
        what_a_call_that_is_stopped_leaves_has_the_rest_of_its_grace,
        a_text_longer_than_an_argument_is_told_as_not_started,
    );
}

/// Returns a request for a run whose worker follows a script.
pub(crate) fn request(place: &Place, script: &str) -> Request {
    Request {
        command: worker::script(script),
        ..place.shell("")
    }
}

pub(crate) fn begin(place: &Place, script: &str) -> RunId {
    place.begin(&request(place, script))
}

/// Returns what the worker was told of each step.
pub(crate) fn results(place: &Place, id: &RunId) -> Vec<Value> {
    let lines = place.journal(id).into_iter();
    let results = lines.filter(|line| line["type"] == "call.result");
    let shown = results.map(|line| line["data"]["shown"].as_str().map(str::to_owned));
    shown
        .map(|shown| serde_json::from_str(&shown.expect("it is a text")).expect("it is JSON"))
        .collect()
}

pub(crate) fn kinds(place: &Place, id: &RunId, kind: &str) -> Vec<Value> {
    let lines = place.journal(id).into_iter();
    lines
        .filter(|line| line["type"] == kind)
        .map(|line| line["data"].clone())
        .collect()
}

fn log(place: &Place, id: &RunId, call: &str) -> String {
    let path = place.run_dir(id).join("calls").join(format!("{call}.log"));
    fs::read_to_string(path).expect("the call has a log")
}

fn done(place: &Place, script: &str) -> (RunId, Record) {
    let id = begin(place, script);
    (id, place.ended(&id))
}

fn a_run_ends_as_its_worker_says() {
    let place = Place::new();
    let (_, record) = done(&place, "sh true");
    assert_eq!(
        (record.status, record.ended_by.as_deref(), record.exit_code),
        (Status::Completed, Some("self"), None)
    );
    assert_eq!(
        record.summary.as_deref(),
        Some("the script ended as success")
    );
    let (_, record) = done(&place, "end max_turns");
    assert_eq!(record.status, Status::Failed);
    let (_, record) = done(&place, "end error");
    assert_eq!(record.wait_code(), 1);
    let failure = record.failure.expect("an error is named");
    assert_eq!(failure.code, "provider_error");
    let (id, record) = done(&place, "turn 3\nturn 4");
    let usage = record.usage.expect("it is told");
    assert_eq!((usage.tokens, usage.cost), (Some(7), Some(7.0)));
    let mut request = request(&place, "sh true");
    if let outlast_lib::CommandLine::Agent(agent) = &mut request.command {
        agent.resumes = Some(id);
    }
    let next = place.begin(&request);
    assert_eq!(place.ended(&next).resumes, Some(id));
    place.is_sound();
    place.is_deserted();
}

fn a_call_runs_once_and_its_end_and_output_are_kept() {
    let place = Place::new();
    let (id, _) = done(&place, "again one echo x >>effects; echo out; exit 3");
    assert_eq!(place.lines("effects"), ["x"]);
    let [result] = &results(&place, &id)[..] else {
        unreachable!("one step");
    };
    assert_eq!(result["end"], "exited");
    assert_eq!(result["exit_code"], 3);
    assert_eq!(result["output_bytes"], 4);
    assert_eq!(log(&place, &id, "one"), "out\n");
    let order: Vec<String> = place
        .journal(&id)
        .iter()
        .filter_map(|line| line["type"].as_str().map(str::to_owned))
        .filter(|kind| kind.starts_with("call."))
        .collect();
    assert_eq!(order, ["call.claimed", "call.ended", "call.result"]);
}

fn a_call_has_no_key_and_only_what_is_handed_in() {
    let place = Place::new();
    let mut request = request(&place, "sh env; tr '\\0' '\\n' </proc/$PPID/environ");
    let named = [("VENDOR_API_KEY", "sk-1234567890"), ("PLAIN", "yes")];
    let named = named.map(|(name, value)| (name.into(), value.into()));
    request.environment.extend(named);
    let id = place.begin(&request);
    place.ended(&id);
    let seen = log(&place, &id, "1.1");
    assert!(!seen.contains("sk-1234567890"), "{seen}");
    assert!(seen.contains("PLAIN=yes\n"), "{seen}");
    assert!(seen.contains(&format!("OUTLAST_RUN={id}\n")), "{seen}");
    assert!(seen.contains("OUTLAST_CALL=1.1\n"), "{seen}");
}

fn a_call_that_takes_too_long_is_stopped() {
    let place = Place::new();
    let (id, _) = done(
        &place,
        "brief 200 trap '' TERM; echo begun; sleep 600\nbrief 200 trap 'exit 7' TERM; sleep 600",
    );
    let results = results(&place, &id);
    assert_eq!(results[0]["end"], "timed_out");
    assert_eq!(results[0]["signal"], "KILL");
    assert_eq!(results[1]["end"], "timed_out");
    place.is_deserted();
}

fn what_a_call_leaves_is_gone_at_its_end() {
    let place = Place::new();
    let script = "sh for i in $(seq 200); do setsid -f sleep 612 </dev/null >/dev/null 2>&1; done; \
                  pgrep -cf '[s]leep 612'\nsh pgrep -cf '[s]leep 612'";
    let (id, _) = done(&place, script);
    let counted = log(&place, &id, "1.1");
    let counted: u32 = counted.trim().parse().expect("a number");
    assert!(counted >= 200, "{counted}");
    assert_eq!(log(&place, &id, "2.1"), "0\n");
    place.is_deserted();
}

fn a_worker_that_dies_is_replaced_and_finds_its_call_done() {
    let place = Place::new();
    let script = "sh echo x >>effects; until [ -e go ]; do sleep 0.02; done; echo y >>effects";
    let id = begin(&place, script);
    place.has_lines("effects", 1);
    kill(place.main_of(&id).pid);
    place.touch("go");
    let record = place.ended(&id);
    assert_eq!(record.status, Status::Completed);
    assert_eq!(place.lines("effects"), ["x", "y"]);
    let workers = kinds(&place, &id, "worker.started");
    assert_eq!(workers.len(), 2);
    assert_eq!(workers[1]["before"], json!({ "signal": "KILL" }));
    assert_eq!(kinds(&place, &id, "call.claimed").len(), 1);
}

fn a_worker_that_dies_for_good_fails_the_run() {
    let place = Place::new();
    let (id, record) = done(&place, &"die\n".repeat(20));
    assert_eq!(record.status, Status::Failed);
    let failure = record.failure.expect("it is said why");
    assert_eq!(failure.code, "run_task_died");
    assert_eq!(kinds(&place, &id, "worker.started").len(), 6);
    place.is_deserted();
}

fn what_cannot_be_a_call_is_refused() {
    let place = Place::new();
    let (id, _) = done(&place, "as ../../x true\nas a/b true\nsh true");
    let results = results(&place, &id);
    let codes: Vec<_> = results.iter().map(|one| &one["failure"]["code"]).collect();
    assert_eq!(codes[..2], ["bad_call_id", "bad_call_id"]);
    assert_eq!(results[2]["exit_code"], 0);
    assert_eq!(kinds(&place, &id, "call.claimed").len(), 1);
}

fn contained_calls_are_told_as_bound_and_the_hand_is_in_there() {
    let place = Place::new();
    let script = "sh id -u; touch inside; touch /etc/outside; echo $?\nhand write this";
    let mut request = request(&place, script);
    request.cwd = place.home.work();
    request.containment = Some(Containment::new(Tier::SandboxEdit));
    let id = place.begin(&request);
    let posture = place.record(&id).posture;
    assert!(posture.backend.is_some(), "{posture:?}");
    assert!(!posture.guarantees.is_empty());
    let record = place.ended(&id);
    assert_eq!(record.status, Status::Completed);
    assert!(place.home.work().join("inside").exists());
    let results = results(&place, &id);
    assert_eq!(results[0]["exit_code"], 0, "{results:?}");
    assert_eq!(log(&place, &id, "2.1"), "hand: write this\n", "{results:?}");
    eventually("all is gone", crate::home::LIMIT, || {
        processes_in(&place.home).is_empty()
    });
}

/// Memory of a process of its own, in KiB.
fn memory_kib(pid: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("Pss_Anon:"));
    let number = line.and_then(|line| line.trim().split(' ').next()?.parse().ok());
    number.expect("the kernel tells memory")
}

fn a_supervisor_of_an_agent_run_costs_little_more_than_that_of_a_command() {
    let place = Place::new();
    let command = place.start("sleep 600");
    let agent = begin(&place, "hand x\nsh true\nsh touch done; sleep 600");
    eventually("its calls are done", crate::home::LIMIT, || {
        place.home.path().join("done").exists()
    });
    let [command, agent] = [command, agent].map(|id| {
        let kib = memory_kib(place.supervisor_of(&id));
        place.cancel_now(&id);
        kib
    });
    assert!(agent < command + 100, "{command} KiB and {agent} KiB");
}

fn a_run_started_in_a_call_outlives_it_and_is_cancelled_with_the_agent() {
    let place = Place::new();
    let program = std::env::current_exe().expect("a program knows its path");
    let inner = "echo $$ >inner; exec sleep 600";
    let script = format!(
        "sh {} __start {} '{inner}' >/dev/null; echo over >>calls\npark",
        program.display(),
        place.store.root().display()
    );
    let id = begin(&place, &script);
    place.has_lines("calls", 1);
    eventually("the call has ended", crate::home::LIMIT, || {
        results(&place, &id).len() == 1
    });
    let pid = place.pid_in("inner");
    assert!(crate::home::is_alive(pid));
    let runs = place.list();
    let inner = runs.iter().find(|run| run.parent == Some(id));
    let inner = inner.expect("it is a run inside").id;
    let query = outlast_lib::CancelQuery::default();
    place.store.cancel(&id, &query).expect("it can be asked");
    assert_eq!(place.ended(&inner).status, Status::Cancelled);
    place.cancel_now(&id);
    place.is_sound();
    place.is_deserted();
}

fn what_a_call_that_is_stopped_leaves_has_the_rest_of_its_grace() {
    let place = Place::new();
    let text = "(trap 'sleep 0.2; echo closed >>effects; exit' TERM; while :; do sleep 0.02; done) & \
                touch up; wait";
    let (id, _) = done(&place, &format!("brief 300 {text}"));
    assert_eq!(results(&place, &id)[0]["end"], "timed_out");
    assert_eq!(place.lines("effects"), ["closed"]);
    place.is_deserted();
}

fn a_text_longer_than_an_argument_is_told_as_not_started() {
    let place = Place::new();
    let long = format!("sh : {}", "x".repeat(140_000));
    let (id, _) = done(&place, &format!("{long}\nsh true"));
    let results = results(&place, &id);
    assert_eq!(results[0]["end"], "not_started");
    assert_eq!(results[0]["failure"]["code"], "argument_list_too_long");
    assert_eq!(results[1]["exit_code"], 0);
}

fn a_call_that_floods_keeps_head_and_tail_and_costs_its_supervisor_nothing() {
    const ALL: u64 = 100 << 20;
    let place = Place::new();
    let script =
        format!("sh touch begun; yes flood | head -c {ALL}; echo; echo last\nsh touch end\npark");
    let id = begin(&place, &script);
    let before = memory_kib(place.supervisor_of(&id));
    eventually("the flood is over", crate::home::LIMIT, || {
        place.home.path().join("end").exists()
    });
    let after = memory_kib(place.supervisor_of(&id));
    assert!(after < before + 256, "{before} KiB, then {after} KiB");
    let result = results(&place, &id)[0].clone();
    assert_eq!(result["output_bytes"], ALL + 6);
    let log = place.run_dir(&id).join("calls/1.1.log");
    let gap = fs::read_to_string(log.with_extension("gap")).expect("the middle is gone");
    assert!(gap.contains("\"from\""), "{gap}");
    let kept = fs::metadata(&log).expect("there is a log").blocks() * 512;
    assert!(
        kept <= limits::CALL_OUTPUT_BYTES_MAX + (64 << 10),
        "{kept} bytes on disk"
    );
    place.cancel_now(&id);
}

fn a_worker_that_sends_garbage_is_replaced() {
    let place = Place::new();
    let (id, record) = done(&place, "garbage\nsh echo x >>effects");
    assert_eq!(record.status, Status::Completed);
    assert_eq!(place.lines("effects"), ["x"]);
    let workers = kinds(&place, &id, "worker.started");
    assert_eq!(workers[1]["fault"], "it sent what no worker says");
}

fn a_worker_that_floods_facts_is_still_cancelled() {
    let place = Place::new();
    let id = begin(&place, "flood 100000");
    eventually("facts come", crate::home::LIMIT, || {
        kinds(&place, &id, "text").len() > 50
    });
    let supervisor = place.supervisor_of(&id);
    let before = memory_kib(supervisor);
    eventually("more come", crate::home::LIMIT, || {
        kinds(&place, &id, "text").len() > 200
    });
    let after = memory_kib(supervisor);
    assert!(after < before + 512, "{before} KiB, then {after} KiB");
    let query = outlast_lib::CancelQuery::default();
    place.store.cancel(&id, &query).expect("it can be asked");
    assert_eq!(place.ended(&id).status, Status::Cancelled);
    place.is_sound();
}

fn a_worker_that_never_reads_is_still_stopped() {
    let place = Place::new();
    let id = begin(&place, "deaf");
    eventually("it is behind", crate::home::LIMIT, || {
        kinds(&place, &id, "todo.set").len() > 1_000
    });
    place.cancel_now(&id);
    assert_eq!(place.record(&id).status, Status::Cancelled);
    place.is_sound();
    place.is_deserted();
}

fn the_hand_is_there_where_landlock_alone_contains() -> Completion {
    if !cfg!(debug_assertions) {
        return Completion::ignored_with(crate::kill_matrix::NO_POINTS);
    }
    let place = Place::new();
    let mut request = request(&place, "hand write this\nsh touch inside ../outside");
    request.cwd = place.home.work();
    let mut containment = Containment::new(Tier::SandboxEdit);
    containment.may_miss = policy::NOT_BY_LANDLOCK.to_vec();
    request.containment = Some(containment);
    let variable = outlast_supervisor::fault::VARIABLE;
    let point = (variable.into(), "contain:namespaces".into());
    request.environment.push(point);
    let id = place.begin(&request);
    let posture = place.record(&id).posture;
    place.ended(&id);
    if posture.backend.as_deref() != Some("landlock") {
        return Completion::ignored_with("did not run: another backend stands in for native here");
    }
    assert_eq!(log(&place, &id, "1.1"), "hand: write this\n");
    assert!(place.home.work().join("inside").exists());
    assert!(!place.home.path().join("outside").exists());
    Completion::Completed
}

fn calls_of_a_local_run_are_refused() {
    let place = Place::new();
    let mut request = request(&place, "sh touch effect");
    if let outlast_lib::CommandLine::Agent(agent) = &mut request.command {
        agent.is_local = true;
    }
    let id = place.begin(&request);
    let record = place.ended(&id);
    assert_eq!(
        (record.posture.mode.as_str(), record.posture.tier.as_str()),
        ("host", "ReadOnly")
    );
    assert_eq!(results(&place, &id)[0]["failure"]["code"], "no_backend");
    assert!(!place.home.path().join("effect").exists());
}
