//! The verbs that act: `cancel`, `send`, `rm`, `gc`, `reindex`.

use crate::case_ground::{Ground, OUTLAST, SOON};
use outlast_testkit::eventually;
use serde_json::Value;
use std::fs;
use std::io::Write;

#[test]
fn a_cancel_returns_when_the_tree_is_gone_and_says_what_became_of_it() {
    let ground = Ground::new();
    let id = ground.shell("sleep 600 & sleep 600");
    let output = ground.program.run(&["cancel", &id]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
    assert_eq!(output.stderr, format!("{}: cancelled\n", start(&id)));
    ground.assert_no_process();
    assert_eq!(ground.record(&id)["ended_by"], "cancel");
    assert_eq!(ground.wait(&id), 130);
}

/// Returns the beginning of an id by which it is told from the few others of a home.
fn start(id: &str) -> String {
    id.chars().take(4).collect()
}

#[test]
fn a_cancel_of_an_ended_run_stops_the_runs_inside_it_and_says_so() {
    let ground = Ground::new();
    let outer = ground.shell(&format!("{OUTLAST} run --label inner -- sleep 600"));
    assert_eq!(ground.wait(&outer), 0);
    let inner = ground.record("inner")["id"].clone();
    assert_eq!(
        ground.record(&outer)["runs_inside"],
        serde_json::json!([inner])
    );
    let page = ground.program.run(&["show", &outer]).stdout;
    assert!(page.contains("outlast cancel "), "{page}");
    let output = ground.program.run(&["cancel", &outer]);
    let short = start(&outer);
    assert_eq!(
        output.stderr,
        format!(
            "{short}: had ended before: completed; 1 run started inside it was asked to stop\n"
        )
    );
    eventually("the run inside ends", SOON, || {
        ground.record("inner")["status"] == "cancelled"
    });
    let page = ground.program.run(&["show", &outer]).stdout;
    assert!(!page.contains("outlast cancel "), "{page}");
}

#[test]
fn a_cancel_of_several_stops_those_that_are_there() {
    let ground = Ground::new();
    let first = ground.start(&["--", "sleep", "600"]);
    let second = ground.start(&["--", "sleep", "600"]);
    let output = ground
        .program
        .run(&["cancel", "--now", &first, "nothing", &second]);
    assert_eq!(output.code, Some(3), "{output:?}");
    assert!(
        output.stderr.contains("there is no run `nothing`"),
        "{output:?}"
    );
    assert_eq!(ground.count("cancelled"), 2);
}

#[test]
fn a_cancel_of_an_ended_run_is_fine_and_changes_nothing() {
    let ground = Ground::new();
    let id = ground.shell("exit 4");
    ground.wait(&id);
    let document = ground.program.json(&["cancel", "--json", &id]);
    let expected = serde_json::json!({
        "id": id, "was": "failed", "status": "failed", "cancelled": false, "leftovers_stopped": 0,
    });
    assert_eq!(document["runs"][0], expected);
    assert_eq!(ground.record(&id)["exit_code"], 4);
}

#[test]
fn no_grace_is_a_kill_without_a_term() {
    let ground = Ground::new();
    for words in [&["--now"][..], &["--grace", "0"]] {
        let id = ground.shell("trap 'touch termed' TERM; echo ready; while :; do sleep 600; done");
        ground.prints(&id, "ready");
        let output = ground.program.run(&[&["cancel"], words, &[&id]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        assert_eq!(ground.record(&id)["signal"], "KILL");
        assert!(!ground.home.work().join("termed").exists());
    }
}

#[test]
fn what_is_sent_arrives_as_a_line_or_as_it_is() {
    let ground = Ground::new();
    let id = ground.start(&["--stdin", "pipe", "--", "cat"]);
    assert_eq!(ground.program.run(&["send", &id, "yes"]).code, Some(0));
    let bytes: Vec<u8> = (0..=255).cycle().take(100_000).collect();
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    let mut command = ground
        .program
        .command(&["send", "--json", &id, "-", "--eof"]);
    command.stdin(reader);
    let sender = std::thread::spawn({
        let bytes = bytes.clone();
        move || writer.write_all(&bytes)
    });
    let output = outlast_testkit::capture(command);
    sender.join().expect("no panic").expect("the pipe is read");
    let document: Value = serde_json::from_str(&output.stdout).expect("a document");
    assert_eq!(
        (output.code, &document["accepted_bytes"]),
        (Some(0), &100_000.into())
    );
    assert_eq!(ground.wait(&id), 0);
    assert_eq!(ground.raw(&id), [b"yes\n", bytes.as_slice()].concat());
}

#[test]
fn what_cannot_be_sent_is_told() {
    let ground = Ground::new();
    let id = ground.start(&["--", "sleep", "600"]);
    let output = ground.program.run(&["send", &id, "yes"]);
    assert_eq!(output.code, Some(1), "{output:?}");
    assert!(output.stderr.contains("--stdin pipe"), "{output:?}");
    assert_eq!(ground.program.run(&["send", &id]).code, Some(2));
}

#[test]
fn only_an_ended_run_is_removed() {
    let ground = Ground::new();
    let live = ground.start(&["--", "sleep", "600"]);
    let ended = ground.shell("true");
    ground.wait(&ended);
    let output = ground.program.run(&["rm", &live, &ended]);
    assert_eq!(output.code, Some(1), "{output:?}");
    let removed = format!("{ended}: removed\n");
    assert!(output.stderr.starts_with(&removed), "{output:?}");
    assert_eq!(output.stdout, "", "{output:?}");
    assert_eq!(ground.program.run(&["show", &ended]).code, Some(3));
    assert_eq!(ground.record(&live)["status"], "running");
    assert_eq!(ground.run_dirs().len(), 1);
}

#[test]
fn an_end_that_a_reader_was_told_of_can_be_collected() {
    let ground = Ground::new();
    let collect = || {
        let words = ["gc", "--json", "--dry-run", "--older-than", "0"];
        let report = ground.program.json(&words);
        let removed = report["removed"].as_array().expect("runs");
        let ids = removed
            .iter()
            .map(|run| run["id"].as_str().expect("an id").to_owned());
        (ids.collect::<Vec<String>>(), report["kept_untold"].clone())
    };
    let told = ground.program.run(&["run", "--wait", "--", "true"]).stderr;
    let told = told.trim().to_owned();
    assert!(ground.shell("true") != told);
    eventually("both runs have ended", SOON, || {
        ground.count("completed") == 2 && ground.supervisors().is_empty()
    });
    // Lists tell of no end.
    assert_eq!(collect(), (vec![told], 1.into()));
}

#[test]
fn whoever_shows_waits_for_or_reads_an_ended_run_was_told_of_its_end() {
    let ground = Ground::new();
    let ids: Vec<String> = (0..6).map(|_| ground.shell("true")).collect();
    eventually("the runs have ended", SOON, || {
        ground.count("completed") == ids.len() && ground.supervisors().is_empty()
    });
    let collect = ["gc", "--json", "--dry-run", "--older-than", "0"];
    let ways: [&[&str]; 6] = [
        &["show"],
        &["show", "--json"],
        &["wait"],
        &["wait", "--json"],
        &["logs"],
        &["logs", "-f"],
    ];
    for (number, (words, id)) in ways.into_iter().zip(&ids).enumerate() {
        assert_eq!(
            ground.program.json(&collect)["kept_untold"],
            ids.len() - number
        );
        let output = ground.program.run(&[words, &[id]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
    }
    assert_eq!(ground.program.json(&collect)["kept_untold"], 0);
}

#[test]
fn a_dry_collection_removes_nothing() {
    let ground = Ground::new();
    let id = ground.shell("true");
    ground.wait(&id);
    let report = ground
        .program
        .json(&["gc", "--json", "--dry-run", "--older-than", "0"]);
    assert_eq!(
        (&report["schema"], &report["dry_run"]),
        (&"outlast.gc/1".into(), &true.into())
    );
    assert_eq!(ground.runs().len(), 1);
    assert_eq!(ground.program.run(&["gc"]).code, Some(0));
}

#[test]
fn a_deleted_index_comes_back() {
    let ground = Ground::new();
    let id = ground.shell("exit 1");
    ground.wait(&id);
    for file in fs::read_dir(ground.home.store()).expect("a store") {
        let path = file.expect("an entry").path();
        if path
            .file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("index."))
        {
            fs::remove_file(path).expect("it is ours");
        }
    }
    let output = ground.program.run(&["reindex"]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "indexed 1 run\n")
    );
    assert_eq!(ground.runs()[0]["id"], id.as_str());
}
