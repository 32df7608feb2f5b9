//! The verbs that look: `ps`, `show`, `logs`, `events`, `export`, `wait`, as programs read them.

use crate::case_ground::{Ground, SOON, lines};
use outlast_testkit::eventually;
use serde_json::Value;
use std::io::{BufRead, BufReader};

#[test]
fn the_list_has_full_records_newest_first() {
    let ground = Ground::new();
    let first = ground.shell("exit 1");
    ground.wait(&first);
    let second = ground.shell("exit 0");
    ground.wait(&second);
    let document = ground.program.json(&["ps", "--json"]);
    assert_eq!(document["schema"], "outlast.runs/1");
    let ids: Vec<&Value> = document["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| &run["id"])
        .collect();
    assert_eq!(ids, [&Value::from(second), &Value::from(first.clone())]);
    assert_eq!(document["runs"][1], ground.record(&first));
}

#[test]
fn the_list_can_be_narrowed_by_state_number_and_project() {
    let ground = Ground::new();
    let failed = ground.shell("exit 1");
    ground.wait(&failed);
    let elsewhere = ground.home.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).expect("the home can be filled");
    let elsewhere = elsewhere.to_str().expect("a path of letters");
    let other = ground.start(&["--cwd", elsewhere, "--", "sleep", "600"]);
    let ids = |words: &[&str]| -> Vec<String> {
        let document = ground.program.json(&[&["ps", "--json"], words].concat());
        let runs = document["runs"].as_array().expect("runs").clone();
        runs.iter()
            .map(|run| run["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids(&[]), [failed.as_str()]);
    assert_eq!(ids(&["-a"]), [other.clone(), failed.clone()]);
    assert_eq!(ids(&["-a", "-n", "1"]), [other]);
    assert_eq!(ids(&["-a", "--status", "failed"]), [failed]);
    assert_eq!(
        ids(&["--status", "completed", "--status", "queued"]),
        [""; 0]
    );
    let table = ground.program.run(&["ps"]);
    assert!(
        table
            .stderr
            .contains("1 run goes on in other projects: outlast ps -a"),
        "{table:?}"
    );
}

#[test]
fn the_table_names_each_run_so_that_it_can_be_typed() {
    let ground = Ground::new();
    let id = ground.shell_with(&["--label", "lint"], "echo 'error: moved'; exit 101");
    ground.wait(&id);
    let table = ground.program.run(&["ps"]).stdout;
    let row: Vec<&str> = table
        .lines()
        .nth(1)
        .expect("a row")
        .split_whitespace()
        .collect();
    assert_eq!(row[1..4], ["✗", "101", "lint"], "{table}");
    assert_eq!(row[6..], ["error:", "moved"], "{table}");
    assert_eq!(ground.record(row[0])["id"], id.as_str());
}

#[test]
fn a_run_is_found_by_id_by_prefix_and_by_label() {
    let ground = Ground::new();
    let id = ground.start(&["--label", "mine", "--", "true"]);
    ground.wait(&id);
    let start: String = id.chars().take(6).collect();
    for name in [id.as_str(), &start, &id.to_uppercase(), "mine"] {
        assert_eq!(ground.record(name)["id"], id.as_str(), "{name}");
    }
}

#[test]
fn the_page_of_a_run_says_what_to_type_next() {
    let ground = Ground::new();
    let gate = ground.gate("gate");
    let id = ground.shell_with(
        &["--label", "build", "--timeout", "30m"],
        "echo hello; read -r _ <gate",
    );
    ground.prints(&id, "hello");
    let page = ground.program.run(&["show", &id]).stdout;
    for part in [
        "● build: running",
        "time 30m",
        "uncontained: it may do what you may do",
        "survives  its caller's end and a closed terminal",
        "reads     nothing",
        "│ hello",
        "outlast logs -f ",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    gate.open(1);
    ground.wait(&id);
    let page = ground.program.run(&["show", &id]).stdout;
    for part in [
        "✓ build: completed",
        "CPU ",
        "peak memory",
        "output    6 B",
        "completed",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn logs_give_text_lines_matches_and_the_bytes_as_they_came() {
    let ground = Ground::new();
    let id = ground.shell(r"printf '\033[31mred\033[0m\n10%%\r100%%\none\ntwo\nthree'");
    ground.wait(&id);
    let logs = |words: &[&str]| {
        let output = ground.program.run(&[&["logs"], words, &[&id]].concat());
        assert_eq!(output.code, Some(0), "{output:?}");
        output.stdout
    };
    assert_eq!(logs(&[]), "red\n100%\none\ntwo\nthree");
    assert_eq!(logs(&["-n", "2"]), "two\nthree");
    assert_eq!(
        logs(&["--grep", "^t"]).lines().collect::<Vec<_>>(),
        ["two", "three"]
    );
    let around = logs(&["--grep", "one", "--context", "1"]);
    assert_eq!(around.lines().collect::<Vec<_>>(), ["100%", "one", "two"]);
    assert_eq!(
        logs(&["--raw"]),
        "\u{1b}[31mred\u{1b}[0m\n10%\r100%\none\ntwo\nthree"
    );
    assert_eq!(logs(&["--raw", "--since-byte", "22"]), "one\ntwo\nthree");
    let page = ground.program.json(&["logs", "--json", "-n", "1", &id]);
    assert_eq!(
        (&page["output"], &page["total_bytes"]),
        (&"three".into(), &35.into())
    );
}

#[test]
fn a_pattern_that_means_nothing_is_refused() {
    let ground = Ground::new();
    let id = ground.shell("true");
    for words in [["logs", "--grep"], ["wait", "--until-output"]] {
        let output = ground.program.run(&[&words[..], &["(", &id]].concat());
        assert_eq!(output.code, Some(2), "{output:?}");
        assert!(output.stderr.contains("code: bad_pattern"), "{output:?}");
        assert_eq!(output.stderr.lines().count(), 3, "{output:?}");
        assert!(output.stderr.contains(": unclosed group\n"), "{output:?}");
    }
}

#[test]
fn a_log_is_followed_until_the_run_ends() {
    let ground = Ground::new();
    let gate = ground.gate("gate");
    let id = ground.shell("echo one; read -r _ <gate; echo two; read -r _ <gate");
    for flags in [
        &["logs", "-f"][..],
        &["logs", "-f", "--raw"],
        &["logs", "-f", "-n", "5"],
    ] {
        let mut child = ground.spawn(&[flags, &[&id]].concat());
        let mut reader = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("a pipe can be read");
        assert_eq!(line, "one\n");
        child.kill().expect("it is our child");
        child.wait().expect("it is our child");
    }
    let child = ground.spawn(&["logs", "-f", &id]);
    gate.open(2);
    let output = child.wait_with_output().expect("it is our child");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "one\ntwo\n");
}

#[test]
fn events_come_one_a_line_and_can_be_followed_to_the_end() {
    let ground = Ground::new();
    let gate = ground.gate("gate");
    let id = ground.shell("read -r _ <gate");
    let child = ground.spawn(&["events", "-f", "--jsonl", &id]);
    gate.open(1);
    let output = child.wait_with_output().expect("it is our child");
    assert_eq!(output.status.code(), Some(0));
    let kinds: Vec<Value> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a document")["type"].clone())
        .collect();
    assert_eq!(kinds, ["started", "completed"]);
    let last = lines(
        &ground
            .program
            .run(&["events", "--jsonl", "--since", "1", &id]),
    );
    assert_eq!((last.len(), &last[0]["seq"]), (1, &1.into()));
}

#[test]
fn an_export_is_one_document_with_everything() {
    let ground = Ground::new();
    let id = ground.shell(r#"printf 'say "hi" \\ \n\ttab "'; exit 2"#);
    let record = ground.ended(&id);
    let export = ground.program.json(&["export", &id]);
    assert_eq!(export["schema"], "outlast.export/1");
    assert_eq!(export["record"], record);
    assert_eq!(export["spec"]["id"], id.as_str());
    assert_eq!(export["events"].as_array().map(Vec::len), Some(2));
    assert_eq!(export["output"]["encoding"], "text");
    assert_eq!(
        export["output"]["data"].as_str(),
        Some(ground.text(&id).as_str())
    );
    assert!(ground.text(&id).starts_with(r#"say "hi" \"#));
}

#[test]
fn a_wait_for_several_exits_with_the_first_code_that_is_not_zero() {
    let ground = Ground::new();
    let fine = ground.shell("exit 0");
    let bad = ground.shell("exit 9");
    let gate = ground.gate("gate");
    let open = ground.shell("read -r _ <gate");
    let wait = |words: &[&str]| ground.program.run(&[&["wait"], words].concat());
    assert_eq!(wait(&[&fine, &bad]).code, Some(9));
    assert_eq!(wait(&["--any", &open, &bad]).code, Some(9));
    assert_eq!(wait(&["--for", "50ms", &fine, &open]).code, Some(75));
    let document = ground
        .program
        .json(&["wait", "--json", "--any", &bad, &open]);
    assert_eq!(document["schema"], "outlast.runs/1");
    let states: Vec<&Value> = document["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .map(|run| &run["status"])
        .collect();
    assert_eq!(states, ["failed", "running"]);
    gate.open(1);
    assert_eq!(wait(&[&open]).code, Some(0));
}

#[test]
fn a_wait_for_output_ends_with_the_line() {
    let ground = Ground::new();
    let gate = ground.gate("gate");
    let id = ground.shell("echo warming up; echo listening on 8080; read -r _ <gate; exit 5");
    let output = ground
        .program
        .run(&["wait", "--until-output", "listening on [0-9]+", &id]);
    assert_eq!(
        (output.code, output.stdout.as_str()),
        (Some(0), "listening on 8080\n")
    );
    let document = ground
        .program
        .json(&["wait", "--json", "--until-output", "up", &id]);
    assert_eq!(document["matched"]["line"], "warming up");
    gate.open(1);
    let output = ground
        .program
        .run(&["wait", "--until-output", "never", &id]);
    assert_eq!(output.code, Some(5), "{output:?}");
    assert!(
        output.stderr.contains("no line of output matched"),
        "{output:?}"
    );
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let ground = Ground::new();
    let id = ground.shell("yes | head -c 3000000");
    ground.wait(&id);
    for words in [&["logs"][..], &["logs", "--raw"], &["export"]] {
        let mut child = ground.spawn(&[words, &[&id]].concat());
        drop(child.stdout.take());
        let output = child.wait_with_output().expect("it is our child");
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert!(output.stderr.is_empty(), "{output:?}");
    }
}

#[test]
fn looking_before_there_is_anything_says_so() {
    let ground = Ground::new();
    let output = ground.program.run(&["ps"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
    assert!(output.stderr.contains("no runs here yet"), "{output:?}");
    assert_eq!(
        ground.program.json(&["ps", "--json"])["runs"],
        Value::Array(Vec::new())
    );
}

#[test]
fn an_empty_list_says_what_was_left_out() {
    let ground = Ground::new();
    ground.wait(&ground.shell("true"));
    let said = |words: &[&str]| {
        let output = ground.program.run(&[&["ps"], words].concat());
        assert_eq!((output.code, output.stdout.as_str()), (Some(0), ""));
        output.stderr
    };
    assert_eq!(
        said(&["-a", "--status", "running"]),
        "no runs are running\n"
    );
    let mut command = ground.program.command(&["ps"]);
    command.current_dir("/");
    assert_eq!(
        outlast_testkit::capture(command).stderr,
        "no runs of this project; 1 in others: outlast ps -a\n"
    );
}

#[test]
fn a_document_begins_with_its_schema_and_has_no_empty_fields() {
    let ground = Ground::new();
    let id = ground.shell_with(&["--env", "A_NAME=1"], "true");
    ground.wait(&id);
    let document = |words: &[&str], schema: &str| {
        let output = ground.program.run(words);
        let start = format!("{{\"schema\":\"{schema}\",");
        assert!(output.stdout.starts_with(&start), "{output:?}");
        assert!(!output.stdout.contains(":null"), "{output:?}");
        output.stdout
    };
    let names = document(&["show", "--env", "--json", &id], "outlast.env/1");
    assert!(names.contains("\"A_NAME\""), "{names}");
    document(&["logs", "--json", &id], "outlast.output/1");
    document(&["doctor", "--json"], "outlast.doctor/1");
    document(&["config", "--json"], "outlast.config/1");
    document(&["reindex", "--json"], "outlast.reindexed/1");
    document(&["rm", "--json", &id], "outlast.removed/1");
}

#[test]
fn what_a_run_left_behind_is_said_where_it_is_listed() {
    let ground = Ground::new();
    let id = ground.shell("sleep 600 >/dev/null 2>&1 &");
    assert_eq!(ground.wait(&id), 0);
    let table = ground.program.run(&["ps"]);
    assert!(
        table.stderr.contains("1 process of it is still alive"),
        "{table:?}"
    );
    let page = ground.program.run(&["show", &id]).stdout;
    assert!(page.contains("`sleep 600`"), "{page}");
    // What is left may go on for long; the run has ended.
    let followed = ground.program.run(&["logs", "-f", &id]);
    assert_eq!(followed.code, Some(0), "{followed:?}");
    let cancelled = ground.program.json(&["cancel", "--json", &id]);
    assert_eq!(cancelled["runs"][0]["leftovers_stopped"], 1);
    eventually("the supervisor leaves", SOON, || {
        ground.supervisors().is_empty()
    });
    assert!(!ground.program.run(&["ps"]).stderr.contains("alive"));
}
