//! What a reader of output may rely on: pages show each kept byte once, nothing is shown that
//! is not kept or is secret, and every cut is said. Logs are made by hand.

use super::log::Log;
use super::{Advice, LineMatch, Masker, OutputFrom, OutputPage, OutputQuery, check, page};
use outlast_journal::mask::mark;
use outlast_journal::{Gap, limits};
use std::fs::File;
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

mod any_log;
mod store;

const KEY: [u8; 32] = [7; 32];
const SECRET: &str = "hunter2redfoxy";
const MASK: &str = "[outlast: API_KEY masked]";
const UNSURE: &str = "[outlast: masked]";

/// Makes a file with `bytes` that no name leads to.
pub(super) fn file(bytes: &[u8]) -> File {
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::memfd_create("log", flags).unwrap());
    file.write_all(bytes).unwrap();
    file
}

/// Makes the log of an ended run; the bytes of the gap are zeroes.
pub(super) fn ended(bytes: &[u8], gap: Option<Gap>) -> Log<'static> {
    log(bytes, gap, false)
}

/// Makes the log of a run that goes on.
pub(super) fn running(bytes: &[u8], gap: Option<Gap>) -> Log<'static> {
    log(bytes, gap, true)
}

fn log(bytes: &[u8], gap: Option<Gap>, can_grow: bool) -> Log<'static> {
    let file = file(bytes);
    if let Some(gap) = gap {
        let zeroes = vec![0; usize::try_from(gap.bytes()).unwrap()];
        file.write_all_at(&zeroes, gap.from).unwrap();
    }
    Log::with_gap(file, can_grow, move || gap)
}

/// Returns a masker without secrets.
pub(super) fn no_secrets() -> Masker {
    Masker::new(&KEY, &[])
}

/// Returns a masker for `secrets`.
pub(super) fn masker(secrets: &[&str]) -> Masker {
    let marks: Vec<_> = secrets
        .iter()
        .map(|secret| mark(&KEY, "API_KEY", secret.as_bytes()).unwrap())
        .collect();
    Masker::new(&KEY, &marks)
}

fn ask_with(log: &Log<'_>, masker: &Masker, query: &OutputQuery) -> OutputPage {
    let pattern = check(query).unwrap();
    page(log, masker, query, pattern.as_ref()).unwrap()
}

fn ask(log: &Log<'_>, query: &OutputQuery) -> OutputPage {
    ask_with(log, &no_secrets(), query)
}

fn newest(bytes_max: usize) -> OutputQuery {
    OutputQuery {
        bytes_max,
        ..OutputQuery::default()
    }
}

fn from(byte: u64, bytes_max: usize) -> OutputQuery {
    OutputQuery {
        from: OutputFrom::Byte(byte),
        ..newest(bytes_max)
    }
}

fn grep(pattern: &str) -> OutputQuery {
    OutputQuery {
        grep: Some(pattern.to_owned()),
        ..OutputQuery::default()
    }
}

fn lines(lines: usize) -> OutputQuery {
    OutputQuery {
        lines: Some(lines),
        ..newest(1 << 20)
    }
}

/// Reads all pages from `byte` on and checks that each goes on where the one before ended.
fn pages(log: &Log<'_>, masker: &Masker, byte: u64, bytes_max: usize) -> Vec<OutputPage> {
    let mut pages = vec![ask_with(log, masker, &from(byte, bytes_max))];
    while let Some(last) = pages.last().filter(|last| last.truncated) {
        let next = ask_with(log, masker, &from(last.next_byte, bytes_max));
        assert_eq!(next.from_byte, last.next_byte);
        assert!(next.next_byte > next.from_byte, "no progress: {next:?}");
        pages.push(next);
    }
    pages
}

fn joined(pages: &[OutputPage]) -> String {
    pages.iter().map(|page| page.text.as_str()).collect()
}

#[test]
fn wide_characters_survive_any_page_size() {
    // OC-01: 50,000 times U+4F60 on one line.
    let text = "\u{4f60}".repeat(50_000);
    let log = ended(text.as_bytes(), None);
    for bytes_max in [1_000, 4_096] {
        let pages = pages(&log, &no_secrets(), 0, bytes_max);
        assert!(pages.iter().all(|page| page.text.len() <= bytes_max));
        assert_eq!(pages.len(), 150_000_usize.div_ceil(bytes_max / 3 * 3));
        let joined = joined(&pages);
        assert_eq!(joined.len(), 150_000);
        assert!(joined == text);
    }
}

#[test]
fn a_character_that_comes_byte_by_byte_is_shown_when_it_is_whole() {
    // OC-01: U+2264 and a line feed, written one byte at a time.
    let bytes = [0xe2, 0x89, 0xa4, b'\n'];
    for count in 0..=4 {
        let log = running(&bytes[..count], None);
        let shown = if count < 3 { 0 } else { count };
        for query in [newest(100), from(0, 100)] {
            let page = ask(&log, &query);
            assert_eq!(page.text.as_bytes(), &bytes[..shown]);
            assert_eq!((page.next_byte, page.truncated), (shown as u64, false));
        }
    }
    // Nothing can finish it any more: it is shown as what it is.
    let page = ask(&ended(&bytes[..2], None), &from(0, 100));
    assert_eq!((page.text.as_str(), page.next_byte), ("\u{fffd}", 2));
}

#[test]
fn a_progress_bar_is_its_last_state() {
    // OC-02.
    let states = (0..=10_000).map(|step| {
        let bar = "#".repeat(step / 500);
        format!("\r{step:5}/10000 [{bar:<20}]")
    });
    let mut raw = states.collect::<Vec<_>>().concat();
    raw.push_str("\ndone\n");
    assert_eq!(raw.len(), 350_041);
    let log = ended(raw.as_bytes(), None);
    let text = format!("10000/10000 [{}]\ndone\n", "#".repeat(20));
    assert_eq!(text.len(), 40);
    for query in [newest(8_192), from(0, 8_192), newest(40), from(0, 40)] {
        let page = ask(&log, &query);
        assert_eq!(page.text, text);
        assert_eq!(
            (page.from_byte, page.next_byte, page.truncated),
            (0, 350_041, false)
        );
    }
    // The pages of a long bar are small and far apart.
    let half = running(raw.get(..175_000).unwrap().as_bytes(), None);
    let page = ask(&half, &from(0, 8_192));
    assert_eq!((page.text.len(), page.next_byte), (34, 175_000));
}

#[test]
fn a_report_read_from_the_start_after_the_end_is_whole() {
    // OC-07, first half.
    let findings = (0..600).map(|line| format!("finding {line}\n"));
    let mut report = findings.collect::<Vec<_>>().concat();
    report.truncate(6_410);
    let log = ended(report.as_bytes(), None);
    for query in [from(0, 8_192), newest(8_192)] {
        let page = ask(&log, &query);
        assert_eq!(page.text, report);
        assert_eq!(
            (page.from_byte, page.next_byte, page.truncated),
            (0, 6_410, false)
        );
    }
}

#[test]
fn a_pattern_finds_one_line_in_the_middle_of_a_long_log() {
    // OC-07, second half.
    let mut log = "0123456789abcdefghijklmn\n".repeat(200_000).into_bytes();
    log[2_500_000..2_500_009].copy_from_slice(b"error: X\n");
    let log = ended(&log, None);
    for query in [
        grep("error:"),
        OutputQuery {
            from: OutputFrom::Byte(0),
            ..grep("error:")
        },
    ] {
        let page = ask(&log, &query);
        assert_eq!(page.text, "error: X\n");
        let line_number = Some(100_001);
        assert_eq!(
            page.matches,
            [LineMatch {
                byte: 2_500_000,
                line_number
            }]
        );
        assert_eq!((page.truncated, page.scanned_to_end), (false, true));
        assert_eq!(page.next_byte, 5_000_000);
    }
}

#[test]
fn an_empty_log_is_an_empty_page() {
    for query in [newest(10), from(0, 10), from(99, 10), grep("x"), lines(3)] {
        let page = ask(&ended(b"", None), &query);
        let whole = OutputPage {
            text: String::new(),
            from_byte: 0,
            next_byte: 0,
            total_bytes: 0,
            truncated: false,
            gap: None,
            matches: Vec::new(),
            scanned_to_end: true,
        };
        assert_eq!(page, whole);
    }
}

#[test]
fn what_cannot_be_asked_is_refused_with_a_way_out() {
    let refusal = check(&newest(0)).unwrap_err();
    assert_eq!(
        (refusal.code(), refusal.to_string().as_str()),
        ("zero_bytes", "`max_bytes` is 0")
    );
    let refusal = check(&grep("a(b")).unwrap_err();
    assert_eq!(refusal.code(), "bad_pattern");
    assert_eq!(refusal.to_string(), "`a(b` is no regular expression");
    assert!(refusal.hint().contains("backslash"));
    assert!(std::error::Error::source(&refusal).is_some());
}

#[test]
fn the_gap_is_told_on_a_line_of_its_own_and_offsets_stay() {
    let gap = Some(Gap { from: 10, to: 25 });
    let log = ended(b"one\ntwo\nth0123456789abcde!\nend\n", gap);
    let text = "one\ntwo\nth\n[outlast: bytes 10–24 not kept]\n!\nend\n";
    for query in [newest(100), from(0, 100)] {
        let page = ask(&log, &query);
        assert_eq!(page.text, text);
        assert_eq!((page.from_byte, page.next_byte, page.gap), (0, 31, gap));
    }
    assert!(ask(&log, &newest(100)).truncated);
    assert!(!ask(&log, &from(0, 100)).truncated);
    let inside = ask(&log, &from(12, 100));
    assert_eq!(inside.text, "[outlast: bytes 10–24 not kept]\n!\nend\n");
    assert_eq!((inside.from_byte, inside.next_byte), (12, 31));
    assert_eq!(ask(&log, &from(25, 100)).text, "!\nend\n");
    assert_eq!(ask(&log, &newest(6)).text, "!\nend\n");
    assert_eq!(ask(&log, &newest(5)).text, "end\n");
}

#[test]
fn characters_that_the_gap_tore_are_not_shown() {
    let gap = Some(Gap { from: 4, to: 10 });
    let log = ended("aa你\u{4f60}\u{4f60}bb".as_bytes(), gap);
    let page = ask(&log, &from(0, 100));
    assert_eq!(page.text, "aa\n[outlast: bytes 4–9 not kept]\nbb");
    let pages = pages(&log, &no_secrets(), 0, 3);
    assert_eq!(joined(&pages), "aa\n[outlast: bytes 4–9 not kept]\nbb");
}

#[test]
fn secrets_are_masked_wherever_a_page_begins_or_ends() {
    let text = format!("say {SECRET} and {SECRET}{SECRET}\nthen {SECRET}");
    let log = ended(text.as_bytes(), None);
    let masker = masker(&[SECRET]);
    let shown = text.replace(SECRET, MASK);
    for bytes_max in 1..shown.len() + 2 {
        assert_eq!(joined(&pages(&log, &masker, 0, bytes_max)), shown);
        let tail = ask_with(&log, &masker, &newest(bytes_max));
        assert!(shown.ends_with(&tail.text), "{}", tail.text);
    }
    for byte in 0..text.len() as u64 {
        let page = ask_with(&log, &masker, &from(byte, 1_000));
        assert!(shown.ends_with(&page.text), "{byte}: {}", page.text);
    }
}

#[test]
fn secrets_at_block_borders_are_masked() {
    let block = usize::try_from(limits::VIEW_BLOCK_BYTES).unwrap();
    for shift in [0, 1, 7, 13, 14] {
        let mut text = "x".repeat(block - shift);
        text.push_str(SECRET);
        text.push_str(&"y".repeat(block - shift));
        let shown = text.replace(SECRET, MASK);
        let log = ended(text.as_bytes(), None);
        let masker = masker(&[SECRET]);
        assert!(joined(&pages(&log, &masker, 0, 1_000)) == shown);
        assert!(ask_with(&log, &masker, &newest(block * 3)).text == shown);
        let tail = ask_with(&log, &masker, &newest(block - shift + 3));
        assert!(shown.ends_with(&tail.text) && !tail.text.contains("redf"));
    }
}

#[test]
fn a_secret_that_the_gap_tore_is_not_shown_in_part() {
    let text = format!("aa {SECRET}{}{SECRET} bb", "-".repeat(50));
    let gap = Some(Gap { from: 10, to: 75 });
    let log = ended(text.as_bytes(), gap);
    let page = ask_with(&log, &masker(&[SECRET]), &from(0, 1_000));
    assert_eq!(
        page.text,
        format!("{UNSURE}\n[outlast: bytes 10–74 not kept]\n{UNSURE}")
    );
}

#[test]
fn a_secret_beside_the_gap_is_not_shown_in_part() {
    let text = format!("aa {SECRET} b{}c {SECRET} dd", "-".repeat(50));
    let gap = Some(Gap { from: 19, to: 69 });
    let log = ended(text.as_bytes(), gap);
    let page = ask_with(&log, &masker(&[SECRET]), &from(0, 1_000));
    let line = "[outlast: bytes 19–68 not kept]";
    assert_eq!(page.text, format!("aa {UNSURE}\n{line}\n{UNSURE} dd"));
}

#[test]
fn a_coloured_secret_is_masked() {
    let log = ended(b"key: hunter2\x1b[31mredfoxy\x1b[m.\n", None);
    let page = ask_with(&log, &masker(&[SECRET]), &newest(100));
    assert_eq!(page.text, format!("key: {MASK}.\n"));
}

#[test]
fn a_pattern_does_not_see_secrets() {
    let log = ended(format!("a {SECRET}\nb\n").as_bytes(), None);
    let page = ask_with(&log, &masker(&[SECRET]), &grep("hunter|b"));
    assert_eq!(page.text, "b\n");
}

#[test]
fn bytes_that_are_no_text_do_not_stop_a_reader() {
    let bytes = b"a\0b\xff\xfe\x80c\n\0\0\0\nd\xe4\xbd";
    let log = ended(bytes, None);
    for bytes_max in 1..40 {
        let pages = pages(&log, &no_secrets(), 0, bytes_max);
        assert_eq!(pages.last().unwrap().next_byte, bytes.len() as u64);
        assert_eq!(joined(&pages).matches('\n').count(), 2);
    }
    assert_eq!(ask(&log, &grep("c$")).matches.len(), 1);
}

#[test]
fn a_log_that_grows_is_followed_without_loss() {
    let text = "one\r\x1b[32mtwo\x1b[0m\nthr你ee\n\x1b]0;title\x07four";
    let file = file(b"");
    let mut shown = String::new();
    let mut next_byte = 0;
    for byte in text.as_bytes().chunks(1) {
        file.write_all_at(byte, file.metadata().unwrap().len())
            .unwrap();
        let log = Log::with_gap(file.try_clone().unwrap(), true, || None);
        let page = ask(&log, &from(next_byte, 100));
        assert!(!page.truncated);
        shown.push_str(&page.text);
        next_byte = page.next_byte;
    }
    assert_eq!(next_byte, text.len() as u64);
    // Each byte came alone, so the redraw was shown before it was drawn over.
    assert_eq!(shown, "onetwo\nthr你ee\nfour");
}

#[test]
fn the_newest_lines_are_counted_from_the_end() {
    let log = ended(b"1\n2\n3\n4\n", None);
    let newest = |count| ask(&log, &lines(count));
    assert_eq!(newest(2).text, "3\n4\n");
    assert_eq!((newest(2).from_byte, newest(2).truncated), (4, true));
    assert_eq!(newest(4).text, "1\n2\n3\n4\n");
    assert!(!newest(4).truncated);
    assert_eq!(newest(9).text, "1\n2\n3\n4\n");
    assert_eq!((newest(0).text.as_str(), newest(0).from_byte), ("", 8));
    let open = ended(b"1\n2\n3", None);
    assert_eq!(ask(&open, &lines(2)).text, "2\n3");
    let first = OutputQuery {
        from: OutputFrom::Byte(2),
        ..lines(2)
    };
    let page = ask(&log, &first);
    assert_eq!(
        (page.text.as_str(), page.next_byte, page.truncated),
        ("2\n3\n", 6, true)
    );
}

#[test]
fn the_tail_of_a_huge_log_costs_no_more_than_that_of_a_small_one() {
    let file = file(b"");
    file.set_len(1 << 30).unwrap();
    let tail = (0..300).map(|line| format!("line {line}\n"));
    let tail = tail.collect::<Vec<_>>().concat();
    file.write_all_at(tail.as_bytes(), 1 << 30).unwrap();
    let log = Log::with_gap(file, true, || None);
    let best = (0..5)
        .map(|_| {
            let begun = Instant::now();
            let page = ask(&log, &lines(200));
            let spent = begun.elapsed();
            assert_eq!(page.text.lines().count(), 200);
            assert!(page.text.ends_with("line 299\n"));
            spent
        })
        .min()
        .unwrap();
    assert!(best < Duration::from_millis(5), "{best:?}");
    // Even a tail of nothing but zeroes is bounded by the scan, not by the log.
    let page = ask(&log, &lines(400));
    assert!(page.from_byte >= (1 << 30) + 2_000 - limits::VIEW_SCAN_BYTES_MAX);
}
