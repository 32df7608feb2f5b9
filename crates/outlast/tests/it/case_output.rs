//! Cases OC: every byte of output is kept or counted, and is read as what it was.
//!
//! Each test is a case of `docs/reference/cases.md`. Bytes on disk are looked
//! at as bytes, text as what `logs` shows.

use crate::case_ground::{Ground, SOON, lines};
use outlast_lib::{Limits, OutputFrom, OutputQuery, RunId, Store};
use outlast_testkit::{capture, eventually};
use serde_json::json;
use std::{fs, os::unix::fs::MetadataExt};

const MIB: u64 = 1 << 20;

/// Case OC-01, slow writer.
#[test]
fn a_character_in_three_writes_is_one_character() {
    let ground = Ground::new();
    let _gate = ground.gate("go");
    let write = "
import os
gate = os.open('go', os.O_RDWR)
for part in (b'\\xe2', b'\\x89', b'\\xa4\\n'):
    os.write(1, part)
    os.write(gate, b'\\n')
    os.read(gate, 1)
";
    let id = ground.start(&["--", "python3", "-c", write]);
    // A reader that looks while only a part is there shows nothing of it.
    while ground.record(&id)["status"] == "running" {
        let text = ground.text(&id);
        assert!(["", "≤\n"].contains(&text.as_str()), "{text:?}");
    }
    assert_eq!(ground.raw(&id), [0xe2, 0x89, 0xa4, 0x0a]);
    assert_eq!(ground.text(&id), "≤\n");
    assert_eq!(ground.record(&id)["output"]["bytes"], 4);
}

/// Case OC-01, pages. Those of 1,000 and 4,096 bytes are asked of the library, since the
/// command line has pages of one size.
#[test]
fn no_page_of_output_ends_inside_a_character() {
    const SHA256: &str = "a675cfe5f41692d54408f71e34c98d3341ad9c43ce45356100adb9b55676b22e";
    let ground = Ground::new();
    let print = "import sys; sys.stdout.write('\\u4f60' * 50000)";
    let id = ground.start(&[
        "--env",
        "PYTHONIOENCODING=utf-8",
        "--",
        "python3",
        "-c",
        print,
    ]);
    assert_eq!(ground.ended(&id)["output"]["bytes"], 150_000);
    assert_eq!(sha256(&ground, &id), SHA256);

    let whole = "你".repeat(50_000);
    let mut paged = String::new();
    let mut at = 0;
    while at < 150_000 {
        let since = at.to_string();
        let page = ground
            .program
            .json(&["logs", &id, "--json", "--since-byte", &since]);
        paged.push_str(page["output"].as_str().expect("a page has text"));
        at = page["next_byte"]
            .as_u64()
            .expect("a page says where to go on");
    }
    assert_eq!(paged, whole);

    let store = Store::open(&ground.home.store(), Limits::default()).expect("it was made");
    let run = RunId::parse(&id).expect("the program prints ids");
    for bytes_max in [1_000, 4_096] {
        let mut paged = String::new();
        let mut at = 0;
        while at < 150_000 {
            let query = OutputQuery {
                from: OutputFrom::Byte(at),
                bytes_max,
                ..OutputQuery::default()
            };
            let page = store.output(&run, &query).expect("the run is there");
            assert!(page.text.len() <= bytes_max);
            paged.push_str(&page.text);
            at = page.next_byte;
        }
        assert_eq!(paged, whole);
    }
}

/// Case OC-02.
#[test]
fn a_line_that_is_redrawn_shows_its_last_state() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let draw = "
import sys
for i in range(10001):
    sys.stdout.write('\\r%5d/10000 [%-20s]' % (i, '#' * (i // 500)))
sys.stdout.flush()
open('go').readline()
sys.stdout.write('\\ndone\\n')
";
    let id = ground.start(&["--", "python3", "-c", draw]);
    // While it runs, too.
    eventually("the bar is full", SOON, || {
        ground.text(&id) == "10000/10000 [####################]"
    });
    gate.open(1);
    assert_eq!(ground.ended(&id)["output"]["bytes"], 350_041);
    assert_eq!(ground.raw(&id).len(), 350_041);
    let text = ground.text(&id);
    assert_eq!(text, "10000/10000 [####################]\ndone\n");
    assert_eq!(text.len(), 40);
}

mod heavy {
    use super::*;

    /// Case OC-03. The runs have 2 s in place of 5 s, in which they print more than is kept
    /// hundreds of times over.
    #[test]
    fn output_without_end_takes_no_more_disk_than_it_may() {
        let texts = [
            "yes",
            // Reads itself.
            r#"while :; do cat "$OUTLAST_HOME"/runs/*/"$OUTLAST_RUN"/* /proc/self/fd/1 2>/dev/null; done"#,
        ];
        for text in texts {
            let ground = Ground::new();
            let options = ["--timeout", "2s", "--grace", "1s", "--max-output", "1MiB"];
            let id = if text == "yes" {
                ground.shell_with(&options, text)
            } else {
                // What it reads first has to be there first.
                ground.shell_with(&options, &format!("seq 1 200000; {text}"))
            };
            let record = ground.ended(&id);
            assert_eq!(record["status"], "timed_out", "{record:#}");
            let dir = ground.run_dir(&id);
            let output = fs::metadata(dir.join("output.log")).expect("there is a log");
            assert!(
                output.blocks() * 512 <= 1_114_112,
                "{} blocks",
                output.blocks()
            );

            let number = |field: &str| record["output"][field].as_u64().expect("it is counted");
            let (bytes, kept) = (number("bytes"), number("kept"));
            assert!(bytes > kept && kept <= MIB, "{bytes} bytes, {kept} kept");
            let gap = &record["output"]["gap"];
            let edge = |field: &str| gap[field].as_u64().expect("the gap is said");
            assert_eq!(edge("to") - edge("from"), bytes - kept);

            let raw = ground.raw(&id);
            assert_eq!(raw.len() as u64, kept + after_end(&record));
            let first: &[u8] = if text == "yes" { b"y\ny\n" } else { b"1\n2\n" };
            assert!(raw.starts_with(first));
            let text = ground.text(&id);
            let said = format!(
                "[outlast: bytes {}–{} not kept]",
                edge("from"),
                edge("to") - 1
            );
            assert!(text.lines().any(|line| line == said), "no line {said}");
        }
    }

    fn after_end(record: &serde_json::Value) -> u64 {
        record["output"]["after_end"].as_u64().unwrap_or(0)
    }

    /// Case OC-06.
    #[test]
    fn two_hundred_bursts_right_before_the_exit_are_whole_when_the_end_is_told() {
        const SHA256: &str = "b2bc7d3f8b652d2ec96865b68ad8f80e22cca174abe1aed7889e242a747d590f";
        let ground = Ground::new();
        let script = r#"
            hundred() {
                for i in $(seq 100); do
                    id=$("$OUTLAST" run -c 'seq 1 100000') && "$OUTLAST" wait "$id" 2>/dev/null &&
                    "$OUTLAST" logs --raw "$id" | sha256sum
                done
            }
            hundred & hundred & wait"#;
        let output = capture(ground.other("bash", &["-c", script]));
        let whole = format!("{SHA256}  -");
        let whole = output.stdout.lines().filter(|line| *line == whole).count();
        assert_eq!(whole, 200, "{output:#?}");
        let mut sizes: Vec<u64> = ground
            .runs()
            .iter()
            .filter_map(|run| run["output"]["bytes"].as_u64())
            .collect();
        sizes.dedup();
        assert_eq!(sizes, [588_895]);
    }
}

/// Case OC-04.
#[test]
fn beyond_the_cap_output_is_counted_and_the_exit_code_is_the_commands() {
    let ground = Ground::new();
    let text = r#"head -c 20000000 /dev/zero | tr "\0" x; exit 7"#;
    let id = ground.shell_with(&["--max-output", "64KiB"], text);
    let record = ground.ended(&id);
    assert_eq!(
        (&record["status"], &record["exit_code"]),
        (&json!("failed"), &json!(7))
    );
    let output = &record["output"];
    assert_eq!(output["bytes"], 20_000_000);
    let kept = output["kept"].as_u64().expect("it is counted");
    assert!(kept > 0 && kept <= 65_536, "{kept} kept");
    assert_eq!(ground.raw(&id).len() as u64, kept);
    let page = ground.program.json(&["logs", "--json", &id]);
    assert_eq!(
        (&page["truncated"], &page["total_bytes"]),
        (&json!(true), &json!(20_000_000))
    );
    assert_eq!(page["gap"], output["gap"]);
}

/// Case OC-07, a report that is read late.
#[test]
fn a_report_read_after_the_end_is_whole() {
    let ground = Ground::new();
    let id = ground.shell("head -c 6410 /dev/zero | tr '\\0' r");
    ground.wait(&id);
    let page = ground
        .program
        .json(&["logs", "--json", "--since-byte", "0", &id]);
    assert_eq!(page["output"].as_str().map(str::len), Some(6_410));
    assert_eq!(page["truncated"], false);
    assert_eq!(
        (&page["from_byte"], &page["next_byte"]),
        (&json!(0), &json!(6_410))
    );
}

/// Case OC-07, one line in the middle of 5 MB.
#[test]
fn a_pattern_finds_a_line_in_the_middle_of_a_long_log() {
    let ground = Ground::new();
    let print = "
import sys
line = 'compiling one more file\\n' + '.' * 75 + '\\n'
assert len(line) == 100
sys.stdout.write(line * 25000 + 'error: X\\n' + line * 25000)
";
    let id = ground.start(&["--", "python3", "-c", print]);
    assert_eq!(ground.ended(&id)["output"]["bytes"], 5_000_009);
    let page = ground
        .program
        .json(&["logs", &id, "--grep", "error:", "--json"]);
    assert_eq!(page["output"], "error: X\n");
    assert_eq!(page["matches"].as_array().map(Vec::len), Some(1));
    assert_eq!(page["matches"][0]["byte"], 2_500_000);
    let text = ground.program.run(&["logs", &id, "--grep", "error:"]);
    assert_eq!(text.stdout, "error: X\n");
    // And a range reaches it.
    let page = ground
        .program
        .json(&["logs", &id, "--json", "--since-byte", "2500000"]);
    assert!(
        page["output"]
            .as_str()
            .is_some_and(|text| text.starts_with("error: X\n"))
    );
}

/// Case OC-10.
#[test]
fn a_command_that_opens_its_output_anew_loses_none_of_it() {
    for stream in ["/dev/stdout", "/dev/stderr", "/proc/self/fd/1"] {
        let ground = Ground::new();
        let id = ground.shell(&format!(
            "echo first-line-kept; echo second > {stream}; echo third"
        ));
        let record = ground.ended(&id);
        assert_eq!(
            (&record["status"], &record["exit_code"]),
            (&json!("completed"), &json!(0))
        );
        assert_eq!(record["output"]["bytes"], 29);
        assert_eq!(ground.raw(&id), b"first-line-kept\nsecond\nthird\n");
    }
}

/// Case OC-11. A gate stands for the seconds between the lines; a terminal for the run
/// (`--pty`) is postponed.
#[test]
fn a_program_that_would_buffer_its_output_is_seen_while_it_runs() {
    let ground = Ground::new();
    let gate = ground.gate("go");
    let print = "
gate = open('go')
for i in range(5):
    print(i)
    gate.readline()
";
    let id = ground.start(&["--", "python3", "-c", print]);
    eventually("the first line is seen", SOON, || ground.raw(&id) == b"0\n");
    let record = ground.record(&id);
    assert_eq!(
        (&record["status"], &record["summary"]),
        (&json!("running"), &json!("0"))
    );
    gate.open(5);
    assert_eq!(ground.ended(&id)["output"]["bytes"], 10);
    assert_eq!(ground.raw(&id), b"0\n1\n2\n3\n4\n");
    let names = ground.program.run(&["show", "--env", &id]);
    assert!(
        names.stdout.lines().any(|name| name == "PYTHONUNBUFFERED"),
        "it is told"
    );
    let events = lines(&ground.program.run(&["events", "--jsonl", &id]));
    assert_eq!(
        events.first().map(|event| &event["type"]),
        Some(&json!("started"))
    );
}

fn sha256(ground: &Ground, id: &str) -> String {
    let text = r#""$OUTLAST" logs --raw "$0" | sha256sum"#;
    let output = capture(ground.other("bash", &["-c", text, id]));
    output
        .stdout
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .to_owned()
}
