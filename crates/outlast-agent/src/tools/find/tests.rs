//! Which files fit a pattern.

use crate::tools::testing::Bench;
use outlast_journal::limits::FIND_FILES_MAX;
use serde_json::json;

#[test]
fn a_pattern_fits_names_or_with_a_slash_paths() {
    let mut bench = Bench::new();
    for name in ["src/a.rs", "src/d/b.rs", "b.rs", "src/a.txt"] {
        bench.file(name, "");
    }
    for (pattern, found) in [
        ("*.rs", "b.rs\nsrc/a.rs\nsrc/d/b.rs\n"),
        ("src/*.rs", "src/a.rs\n"),
        ("src/**/*.rs", "src/a.rs\nsrc/d/b.rs\n"),
        ("./src/{a,b}.{rs,txt}", "src/a.rs\nsrc/a.txt\n"),
        ("b.rs", "b.rs\nsrc/d/b.rs\n"),
    ] {
        assert_eq!(
            bench.shown("find_files", &json!({"pattern": pattern})),
            found,
            "{pattern}"
        );
    }
    let below = bench.shown("find_files", &json!({"pattern": "d/*", "path": "src"}));
    assert_eq!(below, "src/d/b.rs\n");
}

#[test]
fn a_bad_pattern_and_a_missing_directory_are_refused() {
    let mut bench = Bench::new();
    let shown = bench.refused("find_files", &json!({"pattern": "a["}));
    assert!(shown.contains("code: bad_pattern"), "{shown}");
    let shown = bench.refused("find_files", &json!({"pattern": "*", "path": "d"}));
    assert!(shown.contains("code: no_such_file"), "{shown}");
    let shown = bench.refused("find_files", &json!({"pattern": "*", "path": ".."}));
    assert!(shown.contains("code: outside_workspace"), "{shown}");
}

#[test]
fn what_is_cut_is_told() {
    let mut bench = Bench::new();
    for number in 0..=FIND_FILES_MAX {
        bench.file(&format!("{number:05}"), "");
    }
    let shown = bench.shown("find_files", &json!({"pattern": "*"}));
    assert!(
        shown.ends_with("00199\n[the first 200 files: there is more]\n"),
        "{shown}"
    );
}
