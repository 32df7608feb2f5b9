//! Whatever a run wrote and wherever the gap is: nothing is lost, repeated or given away.

use super::{
    OutputFrom, OutputQuery, SECRET, ask, ask_with, ended, from, grep, joined, log, masker, newest,
    no_secrets, pages,
};
use outlast_journal::Gap;
use prop::sample::Index;
use proptest::prelude::*;

/// Half of a secret of which several can share bytes.
const HALF: &str = "K-K-";
const SECRETS: [&str; 2] = [SECRET, "K-K-K-K-"];

fn has_secret_in(text: &str) -> bool {
    SECRETS.iter().any(|secret| text.contains(secret))
}

/// Output as runs write it: words, wide characters, colours, redraws, lines, and rubbish.
fn output() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => "[a-z]{1,12}".prop_map(String::into_bytes),
        2 => "[你é😀]{1,4}".prop_map(String::into_bytes),
        2 => Just(b"\n".to_vec()),
        1 => Just(b"\r".to_vec()),
        1 => Just(b"\r\n".to_vec()),
        1 => Just(b"\x1b[1;31m".to_vec()),
        1 => Just(b"\x1b]0;t\x07".to_vec()),
        1 => Just(SECRET.as_bytes().to_vec()),
        1 => (0_usize..14).prop_map(|count| HALF.repeat(count).into_bytes()),
        1 => prop::collection::vec(any::<u8>(), 1..6),
    ];
    prop::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

fn gap_in(bytes: &[u8], ends: (Index, Index)) -> Option<Gap> {
    let (one, other) = (ends.0.index(bytes.len() + 1), ends.1.index(bytes.len() + 1));
    let (from, to) = (one.min(other) as u64, one.max(other) as u64);
    (from < to).then_some(Gap { from, to })
}

proptest! {
    #[test]
    fn pages_show_every_byte_once(
        bytes in output(),
        ends in any::<Option<(Index, Index)>>(),
        bytes_max in 1_usize..120,
        can_grow: bool,
        has_secret: bool,
    ) {
        let gap = ends.and_then(|ends| gap_in(&bytes, ends));
        let log = log(&bytes, gap, can_grow);
        let masker = if has_secret { masker(&SECRETS) } else { no_secrets() };
        let pages = pages(&log, &masker, 0, bytes_max);
        let end = pages.last().unwrap().next_byte;
        prop_assert!(end == bytes.len() as u64 || (can_grow && end + 600 > bytes.len() as u64));
        for page in &pages {
            prop_assert!(page.text.len() <= bytes_max.max(60));
            prop_assert!(!has_secret || !has_secret_in(&page.text), "{} {gap:?}", bytes.escape_ascii());
        }
        // Without redraws, what was cut apart is the same when it is put together.
        if !bytes.contains(&b'\r') && std::str::from_utf8(&bytes).is_ok() && gap.is_none() {
            let whole = ask_with(&log, &masker, &from(0, 1 << 20));
            prop_assert_eq!(joined(&pages), whole.text);
        }
    }

    #[test]
    fn the_newest_part_is_the_end_of_the_whole(
        bytes in output(),
        ends in any::<Option<(Index, Index)>>(),
        bytes_max in 1_usize..120,
    ) {
        let gap = ends.and_then(|ends| gap_in(&bytes, ends));
        let log = ended(&bytes, gap);
        let masker = masker(&SECRETS);
        let page = ask_with(&log, &masker, &newest(bytes_max));
        prop_assert!(page.text.len() <= bytes_max.max(60));
        prop_assert_eq!(page.next_byte, bytes.len() as u64);
        prop_assert!(!has_secret_in(&page.text), "{} {gap:?}", bytes.escape_ascii());
        prop_assert!(page.truncated || page.from_byte == 0);
        // Paging on from its beginning shows the same.
        let again = ask_with(&log, &masker, &from(page.from_byte, 1 << 20));
        prop_assert_eq!(again.text.trim_start(), page.text.trim_start());
    }

    #[test]
    fn a_pattern_reaches_every_kept_line(bytes in output(), bytes_max in 20_usize..200) {
        let log = ended(&bytes, None);
        let all = ask(&log, &OutputQuery { bytes_max: 1 << 20, ..grep("a|你") });
        let mut byte = 0;
        let mut found = Vec::new();
        loop {
            let query = OutputQuery { from: OutputFrom::Byte(byte), bytes_max, ..grep("a|你") };
            let page = ask(&log, &query);
            found.extend(page.matches.iter().map(|line| line.byte));
            if !page.truncated {
                break;
            }
            prop_assert!(page.next_byte > byte);
            byte = page.next_byte;
        }
        let all: Vec<u64> = all.matches.iter().map(|line| line.byte).collect();
        prop_assert_eq!(found, all);
    }
}
