//! Sub-agents: programs that the host names, as runs that outlive it.

use super::{Host, by_shell, host, id_of, limit_ms, open};
use crate::home::Place;
use libtest_mimic::{Failed, Trial};
use outlast_lib::background::{BackgroundOptions, SpawnError, Spawned, SubAgent};
use outlast_lib::{Kind, Limits, RunId, Status};
use outlast_testkit::{capture, invariants};
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::Arc;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        a_sub_agent_is_an_agent_run_whose_log_has_head_message_and_foot,
        a_sub_agent_outlives_a_host_that_leaves_and_its_end_is_restored,
        a_sub_agent_without_a_message_says_so,
        a_sub_agent_that_fails_or_is_stopped_says_how,
        a_sub_agent_that_times_out_says_so_with_its_model,
        a_model_of_the_same_provider_is_echoed_and_another_is_refused,
        a_host_that_can_make_no_sub_agent_says_why,
        without_a_spawner_there_is_no_sub_agent,
        a_sub_agent_cannot_start_another,
        a_command_inside_of_a_sub_agent_cannot_start_one_either,
        no_more_agents_execute_at_once_than_a_store_allows,
        a_task_of_a_mebibyte_is_refused_where_it_is_an_argument,
    );
}

/// Returns a host whose sub-agents are made by `spawner`.
pub(crate) fn host_of(
    spawner: impl Fn(&SubAgent) -> Result<Spawned, SpawnError> + Send + Sync + 'static,
) -> Host {
    Host::with(Place::new(), with(spawner))
}

fn with(
    spawner: impl Fn(&SubAgent) -> Result<Spawned, SpawnError> + Send + Sync + 'static,
) -> impl FnOnce(&mut BackgroundOptions) {
    |options| options.spawner = Some(Arc::new(spawner))
}

fn delegate(host: &Host, task: &str) -> RunId {
    id_of(&host.call("background_agent", &json!({"task": task})))
}

fn log(host: &Host, id: &RunId) -> String {
    let read = host.call("background_output", &json!({"id": id}));
    read["output"].as_str().unwrap_or_default().to_owned()
}

fn a_sub_agent_is_an_agent_run_whose_log_has_head_message_and_foot() {
    let host = host_of(by_shell);
    let task = "while [ ! -e go ]; do sleep 0.02; done; echo found by $ASKED_BY; echo and more";
    let begun = host.call(
        "background_agent",
        &json!({"task": task, "label": "search"}),
    );
    assert_eq!(
        (
            &begun["label"],
            &begun["child_session_id"],
            &begun["timeout_secs"]
        ),
        (&json!("search"), &json!("child-7"), &json!(1_800))
    );
    let id = id_of(&begun);
    let early = log(&host, &id);
    assert_eq!(
        early,
        "[sub-agent is running · child session child-7]\n[child session: child-7]\n"
    );
    host.place.touch("go");
    assert!(host.is_woken(limit_ms()));
    let finished = host.background.drain_finished().expect("it can be read");
    let run = &finished[0].run;
    assert_eq!(
        (run.kind, run.summary.as_deref()),
        (Kind::Agent, Some("found by s"))
    );
    assert_eq!(run.child_session_id.as_deref(), Some("child-7"));
    let record = host.place.record(&id);
    assert_eq!((record.kind, record.command.as_str()), (Kind::Agent, task));
    assert_eq!(record.child_session_id.as_deref(), Some("child-7"));
    assert_eq!(
        log(&host, &id),
        "[sub-agent finished · success: true · child session child-7]\n\
         found by s\n\
         and more\n\
         [child session: child-7]\n"
    );
    let read = host.call("background_output", &json!({"id": id}));
    assert_eq!(read["child_session_id"], "child-7");
    host.place.is_sound();
}

fn a_sub_agent_outlives_a_host_that_leaves_and_its_end_is_restored() -> Result<(), Failed> {
    let place = Place::new();
    let task = "while [ ! -e go ]; do sleep 0.02; done; echo found";
    let begun = capture(host(&place, "agent", task));
    let begun: Value = serde_json::from_slice(&begun.stdout_bytes)?;
    let id = id_of(&begun);
    assert_eq!(place.record(&id).status, Status::Running);
    place.touch("go");
    assert_eq!(place.ended(&id).status, Status::Completed);
    let next = Host::with(place, |_| {});
    assert_eq!(next.drained(), [(id, true)]);
    assert!(log(&next, &id).contains("\nfound\n"));
    Ok(())
}

fn a_sub_agent_without_a_message_says_so() {
    let host = host_of(by_shell);
    for silent in ["true", "echo; echo '  '"] {
        let id = delegate(&host, silent);
        host.ended(&id);
        assert_eq!(
            log(&host, &id),
            "[sub-agent finished · success: true · child session child-7]\n\
             (sub-agent produced no final message)\n\
             [child session: child-7]\n"
        );
    }
}

fn a_sub_agent_that_fails_or_is_stopped_says_how() {
    let host = host_of(by_shell);
    let failed = delegate(&host, "echo no key; exit 3");
    host.ended(&failed);
    let said = log(&host, &failed);
    assert!(
        said.starts_with("[sub-agent failed: exit code 3 · success: false · "),
        "{said}"
    );
    assert!(said.contains("\nno key\n"), "{said}");
    let stopped = delegate(&host, "exec sleep 600");
    host.call("background_cancel", &json!({"id": stopped}));
    let said = log(&host, &stopped);
    assert!(
        said.starts_with("[sub-agent was cancelled · success: false"),
        "{said}"
    );
    assert!(
        said.contains("(sub-agent produced no final message)"),
        "{said}"
    );
}

fn a_sub_agent_that_times_out_says_so_with_its_model() {
    let host = Host::with(Place::new(), |options| {
        options.spawner = Some(Arc::new(by_shell));
        options.timeout_ms = Some(300);
    });
    let asked = json!({"task": "echo begun; exec sleep 600", "model": "big"});
    let id = id_of(&host.call("background_agent", &asked));
    assert_eq!(host.ended(&id).status, Status::TimedOut);
    assert_eq!(
        log(&host, &id),
        "[sub-agent timed out after 0.3 s · success: false · child session child-7 · model big]\n\
         begun\n\
         [child session: child-7]\n"
    );
}

fn a_model_of_the_same_provider_is_echoed_and_another_is_refused() {
    let host = host_of(by_shell);
    let begun = host.call(
        "background_agent",
        &json!({"task": "echo hi", "model": " big "}),
    );
    assert_eq!(begun["model"], "big");
    let message = begun["message"].as_str().unwrap_or_default();
    assert!(message.contains("on model `big`"), "{message}");
    let id = id_of(&begun);
    host.ended(&id);
    assert!(log(&host, &id).starts_with("[sub-agent finished · success: true · "));
    assert!(log(&host, &id).contains(" · model big]\n"));
    let error = host.refused(
        "background_agent",
        &json!({"task": "t", "model": "foreign"}),
    );
    assert_eq!(error["code"], "model_refused");
    assert_eq!(
        error["message"],
        "model `foreign` is not one of this provider"
    );
    assert_eq!(
        error["hint"],
        "leave `model` out, or use one of `small`, `big`"
    );
    assert_eq!(host.place.list().len(), 1, "a refusal leaves no run");
}

fn a_host_that_can_make_no_sub_agent_says_why() {
    let host = host_of(|_| {
        Err(SpawnError::Failed {
            source: "the key has expired".into(),
        })
    });
    let error = host.refused("background_agent", &json!({"task": "t"}));
    assert_eq!(error["code"], "spawn_failed");
    assert_eq!(
        error["message"],
        "the host can start no sub-agent: the key has expired"
    );
}

fn without_a_spawner_there_is_no_sub_agent() {
    let names = |host: &Host| -> Vec<&str> {
        host.background
            .tools()
            .iter()
            .map(|tool| tool.name)
            .collect()
    };
    let plain = Host::new();
    assert_eq!(
        names(&plain),
        [
            "background_run",
            "background_list",
            "background_output",
            "background_cancel"
        ]
    );
    let error = plain.refused("background_agent", &json!({"task": "t"}));
    assert_eq!(error["code"], "unknown_tool");
    let host = host_of(by_shell);
    assert_eq!(
        names(&host),
        [
            "background_run",
            "background_agent",
            "background_list",
            "background_output",
            "background_cancel"
        ]
    );
}

/// Returns the words by which a sub-agent asks for one itself, whatever it was told.
fn asks_for_another(place: &Place) -> Vec<String> {
    let command = host(place, "agent", "echo deep");
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words
        .map(|word| word.to_string_lossy().into_owned())
        .collect()
}

fn is_refused_in(host: &Host, id: &RunId, deep: &str) {
    let record = host.ended(id);
    let said = log(host, id);
    assert_eq!(record.status, Status::Completed, "{said}");
    assert!(said.contains("\"code\":\"depth_exceeded\""), "{said}");
    let tasks = host.place.list();
    assert!(
        tasks.iter().all(|record| record.command != deep),
        "it was not started"
    );
}

fn a_sub_agent_cannot_start_another() {
    let place = Place::new();
    let words = asks_for_another(&place);
    let host = Host::with(
        place,
        with(move |_| {
            Ok(Spawned::Command {
                words: words.clone(),
                env: Vec::new(),
                child_session_id: None,
            })
        }),
    );
    let id = delegate(&host, "ask for another");
    is_refused_in(&host, &id, "echo deep");
    host.place.is_sound();
}

/// Neither a run in between nor an emptied environment hides who asks.
fn a_command_inside_of_a_sub_agent_cannot_start_one_either() {
    let place = Place::new();
    let asks = asks_for_another(&place).join("' '");
    let mark = place.home.mark();
    let inside = format!("setsid -w env -i '{mark}' '{asks}' > part; mv part deep");
    let starts = place.caller(&inside, &[]);
    let starts = std::iter::once(starts.get_program()).chain(starts.get_args());
    let mut words: Vec<String> = starts
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let waits = "\"$@\" >&2 && while [ ! -e deep ]; do sleep 0.02; done; cat deep";
    words.splice(0..0, ["sh", "-c", waits, "sh"].map(str::to_owned));
    let host = Host::with(
        place,
        with(move |_| {
            Ok(Spawned::Command {
                words: words.clone(),
                env: Vec::new(),
                child_session_id: None,
            })
        }),
    );
    let id = delegate(&host, "ask for another");
    is_refused_in(&host, &id, "echo deep");
    let runs = host.place.list();
    let command = runs.iter().find(|record| record.kind == Kind::Command);
    assert_eq!(command.and_then(|record| record.parent), Some(id));
}

fn no_more_agents_execute_at_once_than_a_store_allows() {
    let mut limits = Limits::default();
    limits.agent_runs_max = 2;
    let host = Host::with(Place::with(limits), with(by_shell));
    let other = open(&host.place, "other", with(by_shell));
    let first = delegate(&host, "exec sleep 600");
    let begun = other.call("background_agent", &json!({"task": "exec sleep 600"}));
    assert!(!begun.is_error(), "{}", begun.text());
    let error = host.refused("background_agent", &json!({"task": "t"}));
    assert_eq!(error["code"], "at_capacity");
    let message = error["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("2 agent runs are active in the store"),
        "{message}"
    );
    let hint = error["hint"].as_str().unwrap_or_default();
    assert!(
        hint.contains(first.as_str()) && !hint.contains("`queue`"),
        "{hint}"
    );
    let command = host.run("true");
    assert_eq!(
        host.ended(&command).status,
        Status::Completed,
        "commands have places"
    );
    host.call("background_cancel", &json!({"id": first, "now": true}));
    let next = delegate(&host, "echo hi");
    assert_eq!(host.ended(&next).status, Status::Completed);
    host.place.is_sound();
}

fn a_task_of_a_mebibyte_is_refused_where_it_is_an_argument() {
    let host = host_of(by_shell);
    let error = host.refused("background_agent", &json!({"task": "x".repeat(1 << 20)}));
    assert_eq!(error["code"], "too_long");
    assert_eq!(host.place.list(), []);
    let debris = invariants::debris(host.place.store.root());
    assert_eq!(debris, [""; 0].map(PathBuf::from));
}
