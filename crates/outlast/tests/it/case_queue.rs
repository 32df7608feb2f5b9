//! Cases LQ: how many runs there may be, counted by what lives.
//!
//! Each test is a case of `docs/reference/cases.md`.

use crate::case_ground::{Ground, SOON, assert_within, kill};
use outlast_testkit::{capture, eventually};
use serde_json::{Value, json};
use std::time::Instant;

/// Starts ten runs of a session from four processes at once; returns what was said.
fn ten_starts(ground: &Ground, options: &str) -> outlast_testkit::Output {
    let start = format!(r#""$OUTLAST" run {options} --session s -- sleep 300"#);
    let text = format!(
        "for j in 1 2 3 4; do (for i in $(seq $(( j < 3 ? 3 : 2 ))); do {start}; done) & done; wait"
    );
    capture(ground.other("bash", &["-c", &text]))
}

/// Case LQ-01, with a queue.
#[test]
fn beyond_the_cap_runs_wait_and_the_places_of_killed_supervisors_are_free() {
    let ground = Ground::new();
    let output = ten_starts(&ground, "--queue");
    assert_eq!(output.stdout.lines().count(), 10, "{output:#?}");
    assert_eq!((ground.count("running"), ground.count("queued")), (8, 2));
    let mut positions: Vec<u64> = ground
        .runs()
        .iter()
        .filter_map(|run| run["queue_position"].as_u64())
        .collect();
    positions.sort_unstable();
    assert_eq!(positions, [0, 1]);

    let runs = ground.runs();
    let running = runs.iter().filter(|run| run["status"] == "running");
    for id in running.filter_map(|run| run["id"].as_str()) {
        kill(ground.supervisor(id));
    }
    let begun = Instant::now();
    let next = ground.start(&["--session", "s", "--queue", "--", "touch", "ran"]);
    eventually("it runs", SOON, || ground.home.work().join("ran").exists());
    assert_within(2_000, begun);
    assert_eq!(ground.wait(&next), 0);
    assert_eq!(
        (ground.count("running"), ground.count("interrupted")),
        (2, 8)
    );
}

/// Case LQ-01, without a queue.
#[test]
fn beyond_the_cap_a_start_is_refused_and_names_who_holds_the_places() {
    let ground = Ground::new();
    let output = ten_starts(&ground, "");
    let ids: Vec<&str> = output.stdout.lines().collect();
    assert_eq!((ids.len(), ground.count("running")), (8, 8), "{output:#?}");
    let codes = output
        .stderr
        .lines()
        .filter(|line| *line == "code: at_capacity");
    assert_eq!(codes.count(), 2, "{output:#?}");
    assert_eq!(ground.run_dirs().len(), 8);

    let refused = ground
        .program
        .json(&["run", "--json", "--session", "s", "--", "true"]);
    let said = |field: &str| {
        refused["error"][field]
            .as_str()
            .expect("it is text")
            .to_owned()
    };
    assert!(said("message").contains('8'), "{refused:#}");
    for id in ids {
        assert!(said("hint").contains(id), "{refused:#}");
    }
    for way in ["background_wait", "background_cancel", "assistant_cancel"] {
        assert!(said("hint").contains(way), "{refused:#}");
    }
    // Another session is not concerned.
    assert_eq!(
        ground
            .program
            .run(&["run", "--wait", "--session", "t", "--", "true"])
            .code,
        Some(0)
    );
}

/// Case LQ-02, depth. Each run starts the next and stays; `env -i` strips every mark of ours.
#[test]
fn runs_inside_runs_stop_at_depth_three_and_are_cancelled_with_their_root() {
    let marked = r#""$OUTLAST""#;
    let stripped = r#"env -i PATH="$PATH" HOME="$HOME" OUTLAST_HOME="$OUTLAST_HOME" OUTLAST="$OUTLAST" "$OUTLAST""#;
    for outlast in [marked, stripped] {
        let ground = Ground::new();
        ground.script(
            "nest",
            &format!(
                "#!/bin/bash\n[ $1 = 6 ] && exit\n\
                 {outlast} run --json -- ./nest $(( $1 + 1 )) >said-$1 2>&1\n\
                 mv said-$1 done-$1\nexec sleep 300\n"
            ),
        );
        let root = capture(ground.other("bash", &["-c", r#""$OUTLAST" run -- ./nest 0"#]));
        let root = root.stdout.trim();
        eventually("the fourth is refused", SOON, || {
            !ground.file("done-3").is_empty()
        });
        let refused: Value = serde_json::from_str(&ground.file("done-3")).expect("a document");
        assert_eq!(refused["error"]["code"], "depth_exceeded", "{refused:#}");
        assert_eq!((ground.runs().len(), ground.count("running")), (4, 4));
        assert_eq!(ground.file("done-4"), "");

        let output = ground.program.run(&["cancel", root]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        ground.assert_no_process();
        assert_eq!(ground.count("cancelled"), 4);
    }
}

mod heavy {
    use super::*;

    /// Case LQ-02, breadth. An agent that starts agents waits for agents; here a command
    /// starts commands, half of them without any mark of ours in its environment.
    #[test]
    fn a_root_has_fifty_descendants_at_most_and_a_cancel_reaches_all() {
        let ground = Ground::with_limits("runs_per_session = 200");
        ground.script(
            "fan",
            "#!/bin/bash\nfor i in $(seq 30); do\n\
             \"$OUTLAST\" run -- sleep 300 >>ids 2>>errors\n\
             env -u OUTLAST_RUN \"$OUTLAST\" run --session s -- sleep 300 >>ids 2>>errors\n\
             done\necho done >over\nexec sleep 300\n",
        );
        let root = capture(ground.other("bash", &["-c", r#""$OUTLAST" run -- ./fan"#]));
        eventually("it has started all it may", SOON, || {
            !ground.file("over").is_empty()
        });
        assert_eq!(ground.file("ids").lines().count(), 50);
        let errors = ground.file("errors");
        let refused = errors
            .lines()
            .filter(|line| *line == "code: descendants_exceeded");
        assert_eq!(refused.count(), 10, "{errors}");
        assert_eq!(ground.count("running"), 51);
        let parents: Vec<Value> = ground
            .runs()
            .iter()
            .map(|run| run["parent"].clone())
            .collect();
        let root = root.stdout.trim();
        assert_eq!(
            parents
                .iter()
                .filter(|parent| **parent == json!(root))
                .count(),
            50
        );

        let output = ground.program.run(&["cancel", root]);
        assert_eq!(output.code, Some(0), "{output:#?}");
        ground.assert_no_process();
        assert_eq!(ground.count("cancelled"), 51);
    }
}
