//! A contained run is started, stopped, written to and queued as any other.

use crate::contain_ground::{Contained, Who};
use outlast_testkit::{capture, eventually, eventually_some};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::symlink, time::Duration};

/// By then everything is done that takes no time of its own, on a machine however busy.
const SOON: Duration = Duration::from_secs(30);

impl Contained {
    /// Starts a run in an editing sandbox and returns its id.
    #[track_caller]
    fn start(&self, options: &[&str], text: &str) -> String {
        let words = [
            &["run", "--json", "--sandbox", "edit"],
            options,
            &["-c", text],
        ]
        .concat();
        let record = self.json(&words);
        record["id"].as_str().expect("an id").to_owned()
    }

    fn ended(&self, id: &str) -> Value {
        eventually_some("the run has ended", SOON, || {
            let record = self.json(&["show", "--json", id]);
            (record["ended"] != Value::Null).then_some(record)
        })
    }
}

#[test]
fn a_stop_reaches_inside_with_its_signal_and_its_grace() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let text = "trap 'echo asked; exit 5' TERM; echo up; while :; do sleep 0.1; done";
        let id = ground.start(&["--timeout", "3s"], text);
        let record = ground.ended(&id);
        assert_eq!(
            (&record["status"], &record["exit_code"]),
            (&json!("timed_out"), &json!(5)),
            "{record:#}"
        );
        let deaf = "trap '' TERM; echo deaf; while :; do sleep 0.1; done";
        let id = ground.start(&["--grace", "300ms"], deaf);
        let heard = capture(ground.outlast(&["wait", "--until-output", "deaf", &id]));
        assert_eq!(heard.code, Some(0), "{heard:#?}");
        let done = ground.json(&["cancel", "--json", &id]);
        assert_eq!(done["runs"][0]["status"], "cancelled");
        assert_eq!(ground.ended(&id)["signal"], "KILL");
        let id = ground.start(&["--leftovers", "stop"], "setsid sleep 3600 & exit 4");
        let record = ground.ended(&id);
        assert_eq!(
            (&record["exit_code"], &record["leftovers"]),
            (&json!(4), &Value::Null),
            "{record:#}"
        );
    }
}

#[test]
fn what_is_sent_is_read_inside_and_what_is_written_is_kept() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let id = ground.start(
            &["--stdin", "pipe"],
            "read -r word; echo \"heard $word\" > /dev/stderr",
        );
        let sent = capture(ground.outlast(&["send", &id, "it\n"]));
        assert_eq!(sent.code, Some(0), "{sent:#?}");
        let record = ground.ended(&id);
        assert_eq!(record["summary"], "heard it", "{record:#}");
        assert!(
            record["usage"]["peak_rss_bytes"]
                .as_u64()
                .is_some_and(|bytes| bytes > 0)
        );
    }
}

#[test]
fn the_main_process_in_a_record_is_the_command() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let id = ground.start(&[], "exec sleep 3600");
        let events = capture(ground.outlast(&["events", "--jsonl", &id]));
        let line = events.stdout.lines().next().expect("an event");
        let event: Value = serde_json::from_str(line).expect("an event");
        let pid = &event["data"]["main"]["pid"];
        eventually("the shell has become the command", SOON, || {
            fs::read(format!("/proc/{pid}/cmdline")).expect("it lives") == b"sleep\x003600\x00"
        });
        assert_eq!(event["data"]["posture"]["backend"], "native", "{event:#}");
        capture(ground.outlast(&["cancel", "--now", &id]));
    }
}

/// A directory that is a link by the time that it is opened is not followed.
#[test]
fn a_workspace_that_is_swapped_for_a_link_is_not_entered() {
    for who in Who::all() {
        let ground = Contained::new(who);
        let folder = ground.home.path().join(".config/outlast");
        fs::create_dir_all(&folder).expect("the home can be filled");
        crate::case_ground::write(
            &folder.join("config.toml"),
            "[limits]\nruns_per_session = 1\n",
        );
        let elsewhere = ground.home.path().join("elsewhere");
        fs::create_dir(&elsewhere).expect("the home can be filled");
        ground.hand_over();
        let first = ground.json(&["run", "--json", "--session", "s", "--", "sleep", "3600"]);
        let first = first["id"].as_str().expect("an id").to_owned();
        let second = ground.start(&["--session", "s", "--queue"], "touch was-run");
        // The program itself is started from a directory that stays.
        let (work, moved) = (ground.work(), ground.home.path().join("moved"));
        fs::rename(&work, &moved).expect("it is ours");
        symlink(&elsewhere, &work).expect("it is ours");
        capture(ground.outlast(&["cancel", "--now", &first]));
        let record = ground.ended(&second);
        assert_eq!(record["status"], "failed", "{record:#}");
        assert_eq!(
            record["failure"]["code"], "containment_failed",
            "{record:#}"
        );
        let message = record["failure"]["message"]
            .as_str()
            .expect("a text")
            .to_owned();
        assert!(message.contains("step `open`"), "{message}");
        for path in [&moved, &elsewhere] {
            assert!(!path.join("was-run").exists());
        }
    }
}

/// The same key and the same containment are the same run; another containment is another request.
#[test]
fn a_key_belongs_to_what_contains_its_run() {
    let ground = Contained::new(Who::all()[0]);
    let run = |words: &[&str]| {
        let words = [&["run", "--idempotency-key", "k"], words, &["--", "true"]].concat();
        capture(ground.outlast(&words))
    };
    let first = run(&["--sandbox", "edit"]);
    assert_eq!(run(&["--sandbox", "edit"]).stdout, first.stdout);
    for other in [&["--sandbox", "read"][..], &["--sandbox", "host"]] {
        let refused = run(other);
        assert!(
            refused.stderr.contains("code: idempotency_conflict"),
            "{refused:#?}"
        );
    }
}

/// Whoever belongs to a contained run, by process or by word, starts nothing with more rights.
#[test]
fn a_run_inside_a_contained_one_has_its_tier_at_most() {
    let ground = Contained::new(Who::all()[0]);
    let words = ["run", "--json", "--sandbox", "read", "--", "sleep", "3600"];
    let parent = ground.json(&words)["id"]
        .as_str()
        .expect("an id")
        .to_owned();
    let inside = |options: &[&str]| {
        let words = [&["run", "--json"], options, &["--", "true"]].concat();
        let mut command = ground.outlast(&words);
        command.env("OUTLAST_RUN", &parent);
        capture(command)
    };
    for more in [&[][..], &["--sandbox", "edit"]] {
        let refused = inside(more);
        assert_eq!(refused.code, Some(126), "{refused:#?}");
        let document: Value = serde_json::from_str(&refused.stdout).expect("a document");
        assert_eq!(document["error"]["code"], "tier_above_parent", "{document}");
        assert_eq!(document["error"]["hint"], "ask for --sandbox read or less");
    }
    let same = inside(&["--sandbox", "read"]);
    assert_eq!(same.code, Some(0), "{same:#?}");
}
