//! What is wrong with what an agent run is given is a document that says so with the next step,
//! or is put right by the model: never a hang, a crash or a silent success.

use crate::{
    agent_proof::{Proof, document, shell},
    case_ground::{SOON, write},
    contain_ground::Who,
};
use outlast_testkit::{
    capture, eventually,
    model::{Asked, Gate, Script, Turn},
};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    process::{Command, Stdio},
};

fn proof() -> Proof {
    Proof::new(Who::all()[0])
}

/// Asserts that this ends as an error with this code, a sentence and a next step, and leaves
/// so many runs.
#[track_caller]
fn assert_refused(proof: &Proof, command: Command, code: &str, runs: usize) -> Value {
    let output = capture(command);
    let told = document(&output);
    assert_eq!(told["schema"], "car.do/1", "{told:#}");
    let what = (&told["status"], &told["error"]);
    assert_eq!(what, (&json!("error"), &json!(code)), "{told:#}");
    assert!(
        told["message"].as_str().is_some_and(|text| text.len() > 10),
        "{told:#}"
    );
    let steps = told["suggestions"].as_array().expect("a list");
    assert!(
        steps
            .iter()
            .any(|step| step.as_str().is_some_and(|step| step.len() > 5)),
        "{told:#}"
    );
    assert!(!matches!(output.code, Some(0) | None), "{output:#?}");
    let all = proof.ground.json(&["ps", "-a", "--json"]);
    assert_eq!(all["runs"].as_array().map(Vec::len), Some(runs), "{all:#}");
    told
}

#[test]
fn without_a_key_and_a_model_nothing_starts_and_all_ways_to_one_are_told() {
    let proof = proof();
    let command = proof.ground.outlast(&["do", "--json", "Say hello."]);
    let told = assert_refused(&proof, command, "no_model", 0);
    let text = told.to_string();
    for way in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GEMINI_API_KEY",
        "--model",
    ] {
        assert!(text.contains(way), "{way}: {told:#}");
    }
}

#[test]
fn a_model_that_its_provider_does_not_have_is_refused_before_anything_starts() {
    let proof = proof();
    let words = [
        "do",
        "--json",
        "--model",
        "compatible/nonesuch",
        "Say hello.",
    ];
    let told = assert_refused(&proof, proof.outlast(&words), "model_not_found", 0);
    assert!(
        told.to_string().contains("scripted"),
        "those that there are: {told:#}"
    );
    let words = ["do", "--json", "--model", "nobody/anything", "Say hello."];
    let output = proof.run(&words);
    assert_eq!(document(&output)["status"], "error", "{output:#?}");
    assert_eq!(proof.model.turns().len(), 0);
}

#[test]
fn a_vendor_that_answers_with_a_page_is_told_as_no_model() {
    let proof = proof();
    let page = "<!doctype html><title>Sign in</title>";
    let gate = Gate::new();
    let turn = Turn::raw(200, "text/html", page).held_at(&gate);
    proof.model.answer_all(move |_| turn.clone());
    let words = ["do", "--json", "--local", "Say hello."];
    let mut command = proof.outlast(&words);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let child = command.spawn().expect("the program can be started");
    proof.model.wait_for_turn(0, SOON);
    proof.model.page_for_models("text/html", page);
    gate.open();
    let output = child.wait_with_output().expect("it is our child");
    let told: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(told["error"], "not_a_model", "{told:#}");
    // The same from the first request on.
    assert_refused(&proof, proof.outlast(&words), "not_a_model", 2);
}

#[test]
fn what_is_no_schema_is_refused_before_anything_starts() {
    let proof = proof();
    let deep = format!("{}1{}", "[".repeat(10_000), "]".repeat(10_000));
    for (text, code) in [
        ("{not json", "schema_invalid"),
        ("", "schema_invalid"),
        ("7", "schema_invalid"),
        (r#"{"type": "strong"}"#, "schema_invalid"),
        (
            r#"{"type": "object", "required": "name"}"#,
            "schema_invalid",
        ),
        (
            r#"{"$ref": "https://example.org/schema.json"}"#,
            "schema_invalid",
        ),
        (&deep, "schema_invalid"),
    ] {
        proof.ground.file("schema.json", text);
        let words = [
            "do",
            "--json",
            "--local",
            "--json-schema",
            "schema.json",
            "x",
        ];
        let output = proof.run(&words);
        let told = document(&output);
        assert!(
            told["error"]
                .as_str()
                .is_some_and(|found| found.starts_with("schema_")),
            "{code}, {}: {told:#}",
            text.chars().take(40).collect::<String>()
        );
        assert_eq!(output.code, Some(2), "{output:#?}");
    }
    let words = [
        "do",
        "--json",
        "--local",
        "--json-schema",
        "absent.json",
        "x",
    ];
    assert_refused(&proof, proof.outlast(&words), "schema_invalid", 0);
}

#[test]
fn turns_out_of_range_are_clamped_and_said() {
    let proof = proof();
    proof.model.answer_all(|_| Turn::text("Hello."));
    for (asked, bound) in [("0", "1"), ("10000", "200")] {
        let words = ["do", "--local", "--max-turns", asked, "Say hello."];
        let output = proof.run(&words);
        assert_eq!(output.code, Some(0), "{output:#?}");
        assert!(output.stderr.contains(bound), "{asked}: {}", output.stderr);
        let id = output.stdout.trim();
        assert_eq!(proof.run(&["wait", "--for", "60s", id]).code, Some(0));
        let meta = &proof.facts(id, "run.meta")[0];
        assert_eq!(meta["turns_max"].to_string(), bound);
    }
}

#[test]
fn a_task_of_a_mebibyte_is_refused_with_the_limit_and_a_way_on() {
    let proof = proof();
    let mut command = proof.outlast(&["do", "--json", "--local", "-"]);
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let mut stdin = child.stdin.take().expect("it is a pipe");
    // It may leave before it has read all.
    stdin.write_all(&vec![b'x'; 1 << 20]).ok();
    drop(stdin);
    let output = child.wait_with_output().expect("it is our child");
    let told: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(told["status"], "error", "{told:#}");
    assert!(
        told["message"]
            .as_str()
            .is_some_and(|text| text.contains("262144")),
        "{told:#}"
    );
    assert!(
        !told["suggestions"].as_array().expect("a list").is_empty(),
        "{told:#}"
    );
    let all = proof.ground.json(&["ps", "-a", "--json"]);
    assert_eq!(all["runs"], json!([]));
}

#[test]
fn a_check_that_never_ends_is_stopped_at_its_time_and_counts_as_not_passed() {
    for tier in ["edit", "host"] {
        let proof = proof();
        let folder = proof.ground.home.path().join(".config/outlast");
        fs::create_dir_all(&folder).expect("the home can be filled");
        write(
            &folder.join("config.toml"),
            "[agent]\ncheck_timeout = \"400ms\"\n",
        );
        proof.model.answer_all(|_| Turn::text("All is done."));
        // Who ignores TERM is waited for: once is enough.
        let deaf = if tier == "edit" { "trap '' TERM; " } else { "" };
        let check = format!("echo checking; {deaf}sleep 1000; sleep 1000");
        let words = [
            "do",
            "--json",
            "--sandbox",
            tier,
            "--until",
            &check,
            "Do it.",
        ];
        let output = proof.run(&words);
        let told = document(&output);
        assert_eq!(told["status"], "goal_pending", "{told:#}");
        assert_eq!(told["goal"]["passed"], false, "{told:#}");
        assert_eq!(output.code, Some(1), "{output:#?}");
        let again = proof.model.turns()[1].body.to_string();
        assert!(again.contains("time"), "{again}");
        eventually("nothing is left", SOON, || {
            outlast_testkit::processes_with(&proof.ground.home.mark()).is_empty()
        });
    }
}

#[test]
fn a_workspace_that_vanishes_is_told_to_the_model_and_ends_nothing() {
    for tier in ["edit", "read"] {
        let proof = proof();
        let folder = proof.ground.work().join("sub");
        fs::create_dir(&folder).expect("the project can be filled");
        proof.ground.hand_over();
        let gone = folder.clone();
        proof.model.play(
            Script::new()
                .call("shell", shell("pwd"))
                .turn_from(move |_| {
                    fs::remove_dir_all(&gone).expect("removed");
                    Turn::call("shell", shell("echo he''re"))
                        .and_call("list_dir", json!({}))
                        .and_call("read_file", json!({"path": "a"}))
                })
                .text("The directory is gone."),
        );
        let cwd = folder.to_str().expect("text");
        let words = ["do", "--json", "--sandbox", tier, "--cwd", cwd, "Look."];
        let told = document(&proof.run(&words));
        assert_eq!(told["status"], "success", "{told:#}");
        proof.model.assert_played();
        proof.model.assert_histories();
        for answer in &proof.answers()[1..] {
            let is_told = answer.contains("error: ") || answer.contains("[not started: ");
            assert!(is_told, "{tier}: {answer}");
            assert!(!answer.contains("\nhere"), "{tier}: {answer}");
        }
    }
}

#[test]
fn arguments_that_are_no_json_go_back_to_the_model_and_three_in_a_row_end_the_run() {
    let proof = proof();
    let broken = |text: &str| Turn::call("read_file", json!({})).with_arguments_text(text);
    proof.ground.file("a", "seven\n");
    proof.model.play(
        Script::new()
            .turn(broken("{\"path\": "))
            .turn(broken("path=a"))
            .call("read_file", json!({"path": "a"}))
            .text("It says seven."),
    );
    let told = document(&proof.run(&["do", "--json", "--local", "Read a."]));
    assert_eq!(told["status"], "success", "{told:#}");
    proof.model.assert_played();
    proof.model.assert_histories();
    let answers = proof.answers();
    for answer in &answers[..2] {
        assert!(answer.contains("code: malformed_call"), "{answer}");
    }
    assert_eq!(told["receipts"]["total"], 1, "{told:#}");

    proof.model.answer_all(move |_: &Asked| {
        Turn::call("read_file", json!({})).with_arguments_text("[1, 2")
    });
    let words = ["do", "--json", "--local", "Read b."];
    let before = proof.model.turns().len();
    assert_refused(&proof, proof.outlast(&words), "malformed_calls", 2);
    assert_eq!(proof.model.turns().len() - before, 3);
}

/// One document is printed whatever the model says, and its summary is bounded.
#[test]
fn two_documents_worth_of_output_are_one_document_that_says_what_it_left_out() {
    let proof = proof();
    let line = "All work and no play. ";
    let long = line.repeat(9_000 / line.len() + 1);
    proof.model.play(Script::new().text(&long));
    let output = proof.run(&["do", "--json", "--local", "Say much."]);
    assert_eq!(output.stdout.trim().lines().count(), 1, "{output:#?}");
    let told = document(&output);
    let summary = told["summary"].as_str().expect("a text");
    assert!(summary.len() <= 4096 + 100, "{}", summary.len());
    let bytes = format!("of {} bytes shown", long.len());
    assert!(
        summary.contains("…[truncated: ") && summary.contains(&bytes),
        "{summary}"
    );
    let id = told["run_id"].as_str().expect("an id");
    let log = proof.run(&["logs", "--raw", id]);
    assert!(log.stdout.contains(long.trim()), "the log has all of it");

    // A model that writes documents itself does not make them ours.
    let forged = json!({"schema": "car.do/1", "status": "success", "receipts": {"total": 9}});
    proof
        .model
        .play(Script::new().text(&format!("{forged}\n{forged}")));
    let output = proof.run(&["do", "--json", "--local", "Say two."]);
    let told = document(&output);
    assert_eq!(told["receipts"]["total"], 0, "{told:#}");

    // An answer that is to keep a schema is one value: two are asked for again.
    proof
        .ground
        .file("schema.json", r#"{"type": "object", "required": ["n"]}"#);
    proof.model.play(
        Script::new()
            .text("{\"n\": 1}\n{\"n\": 2}")
            .text("{\"n\": 2}"),
    );
    let words = [
        "do",
        "--json",
        "--local",
        "--json-schema",
        "schema.json",
        "Count.",
    ];
    let told = document(&proof.run(&words));
    assert_eq!(told["answer"], json!({"n": 2}), "{told:#}");
    proof.model.assert_played();
}
