//! A gap file says one gap, whole or not at all.

use crate::Gap;

#[test]
fn a_gap_file_is_one_line_of_one_length() {
    for (from, to) in [
        (0, 0),
        (1, 2),
        (1 << 20, 1 << 40),
        (0, u64::MAX),
        (u64::MAX, u64::MAX),
    ] {
        let gap = Gap { from, to };
        let file = gap.to_file();
        assert_eq!(file.len(), 96);
        assert_eq!(file.iter().position(|byte| *byte == b'\n'), Some(95));
        assert_eq!(Gap::from_file(&file), Some(gap));
        assert_eq!(gap.bytes(), to - from);
    }
    let text = String::from_utf8(Gap { from: 5, to: 9 }.to_file().to_vec()).unwrap();
    assert_eq!(text.trim_end(), r#"{"v":1,"from":5,"to":9,"sum":14}"#);
}

#[test]
fn a_gap_file_that_is_not_whole_is_none() {
    for text in [
        "",
        " \n",
        "{}",
        r#"{"v":1,"from":5,"to":9}"#,
        r#"{"v":1,"from":5,"to":9,"sum":15}"#,
        r#"{"v":1,"from":9,"to":5,"sum":14}"#,
        r#"{"v":1,"from":-1,"to":1,"sum":0}"#,
        r#"{"v":1,"from":5,"to":9,"sum":14"#,
    ] {
        assert_eq!(Gap::from_file(text.as_bytes()), None, "{text}");
    }
    let later = br#"{"v":2,"from":5,"to":9,"sum":14,"why":"cap"}"#;
    assert_eq!(Gap::from_file(later), Some(Gap { from: 5, to: 9 }));
}

#[test]
fn a_reader_of_a_half_written_gap_file_sees_the_old_or_the_new_or_none() {
    let steps = [
        (262_144, 300_000),
        (262_144, 999_999),
        (262_144, 1_000_000),
        (4_096, 1 << 33),
    ];
    for pair in steps.windows(2) {
        let [old, new] = [pair[0], pair[1]].map(|(from, to)| Gap { from, to });
        for cut in 0..=Gap::FILE_BYTES {
            let mixed = [&new.to_file()[..cut], &old.to_file()[cut..]].concat();
            let seen = Gap::from_file(&mixed);
            assert!(seen.is_none_or(|gap| gap == old || gap == new), "{cut}");
        }
    }
}
