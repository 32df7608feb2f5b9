//! A source file is short, says what it is for, and keeps `unsafe` where it
//! may be.

use std::{fs, path::Path};

use crate::{assert_none, files_beneath, root, shown};

/// Longest file, in lines. One that needs more holds two subjects.
const LINES_MAX: usize = 500;

/// The only directory whose files may have unsafe code.
const UNSAFE_ALLOWED: &str = "crates/outlast-supervisor/src/platform/";

fn faults_of(check: impl Fn(&Path, &str) -> Option<String>) -> Vec<String> {
    files_beneath(root(), "rs")
        .iter()
        .filter_map(|file| {
            let text = fs::read_to_string(file).unwrap();
            let fault = check(file, &text)?;
            Some(format!("{}: {fault}", shown(file)))
        })
        .collect()
}

#[test]
fn no_source_file_is_too_long() {
    assert_none(&faults_of(|_, text| {
        let lines = text.lines().count();
        (lines > LINES_MAX).then(|| format!("{lines} lines, the limit is {LINES_MAX}"))
    }));
}

#[test]
fn every_source_file_says_first_what_it_is_for() {
    assert_none(&faults_of(|_, text| {
        let has_header = text.starts_with("//! ");
        (!has_header).then(|| "the first line is no `//!`".to_owned())
    }));
}

#[test]
fn unsafe_code_stands_only_where_it_may() {
    assert_none(&faults_of(|file, text| {
        if shown(file).starts_with(UNSAFE_ALLOWED) {
            return None;
        }
        let code = code_of(text);
        let (_, number) = code.lines().zip(1..).find(|(line, _)| has_unsafe(line))?;
        Some(format!("unsafe code in line {number}"))
    }));
}

fn has_unsafe(code: &str) -> bool {
    let is_of_word = |letter: char| letter.is_alphanumeric() || letter == '_';
    let mut words = code.split(|letter| !is_of_word(letter));
    words.any(|word| word == "unsafe")
}

/// The source without its comments and texts, line by line.
fn code_of(source: &str) -> String {
    let mut code = String::new();
    let mut rest = source;
    while let Some(letter) = rest.chars().next() {
        let skipped = skipped(rest, code.chars().next_back());
        let (begin, after) = rest.split_at(skipped.max(letter.len_utf8()));
        if skipped == 0 {
            code.push(letter);
        } else {
            code.extend(begin.chars().filter(|letter| *letter == '\n'));
        }
        rest = after;
    }
    code
}

/// How many bytes of comment or text `rest` begins with.
fn skipped(rest: &str, before: Option<char>) -> usize {
    // The character `"` opens no text.
    if let Some(quote) = ["'\"'", "'\\\"'"].iter().find(|it| rest.starts_with(**it)) {
        return quote.len();
    }
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    let is_in_word = before.is_some_and(|letter| letter.is_alphanumeric() && letter != 'b');
    if let (Some(raw), false) = (rest.strip_prefix('r'), is_in_word) {
        let marks = raw.find(|letter| letter != '#').unwrap_or(0);
        let end = format!("\"{}", "#".repeat(marks));
        if let Some(text) = raw.get(marks..).and_then(|text| text.strip_prefix('"')) {
            let length = text.find(&end).unwrap_or(text.len());
            return (1 + marks + 1 + length + end.len()).min(rest.len());
        }
    }
    let Some(text) = rest.strip_prefix('"') else {
        return 0;
    };
    let mut is_escaped = false;
    let end = text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    });
    end.map_or(rest.len(), |end| end + 2)
}

#[test]
fn the_word_counts_in_code_alone() {
    for source in [
        "unsafe { read() }",
        "pub unsafe fn f() {",
        "let x = unsafe{1};",
        r#"f("a", unsafe { 1 }) // why"#,
        r#"let quote = '"'; unsafe { 1 }"#,
        r#"let quote = b'\"'; unsafe { 1 }"#,
        r##"let text = r#"""#; unsafe { 1 }"##,
        r#"let end = "\\"; unsafe { 1 }"#,
    ] {
        assert!(has_unsafe(&code_of(source)), "{source}");
    }
    for source in [
        "// unsafe",
        "let unsafe_code = 1;",
        "#![expect(unsafe_code)]",
        r#"let word = "unsafe";"#,
        r#"let word = "\"unsafe";"#,
        "let words = \"two\nunsafe\nlines\";",
        r##"let word = br#"" unsafe"#;"##,
    ] {
        assert!(!has_unsafe(&code_of(source)), "{source}");
    }
    assert_eq!(code_of("a\n\"b\nc\" // d\ne"), "a\n\n \ne");
}
