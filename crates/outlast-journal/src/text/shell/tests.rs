//! A pipe at the end of shell text is seen through quotes, groups and here-documents.

use super::{ends_in_pipe, quote_words};
use proptest::prelude::*;

fn quoted(words: &[&str]) -> String {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    quote_words(&words)
}

#[test]
fn words_are_quoted_only_where_needed() {
    assert_eq!(quoted(&[]), "");
    assert_eq!(
        quoted(&["make", "-j8", "A=b", "x/y.z:1,2", "50%+@", "grüße"]),
        "make -j8 A=b x/y.z:1,2 50%+@ grüße"
    );
    assert_eq!(
        quoted(&["echo", "", "a b", "it's", "$x", "a\nb", "~", "*", "\\"]),
        r"echo '' 'a b' 'it'\''s' '$x' 'a
b' '~' '*' '\'"
    );
    assert_eq!(quoted(&["A=b", "A=b"]), "'A=b' A=b");
    assert_eq!(quoted(&["if", "if"]), "'if' if");
}

const PIPES: &[&str] = &[
    "a | b",
    "a|b",
    "a |& b",
    "a; b | c",
    "a\nb | c\n",
    "a & b | c",
    "a && b | c",
    "a || b | c",
    "a | b;",
    "a | b # c; d",
    "a | b\n# c\n\n",
    "a |\n\n# more\nb",
    "a | \\\nb",
    "! a | b",
    "time a | b",
    "a | b > c 2>&1",
    "a 2>&1 | b",
    "a &> x | b",
    "a >| x | b",
    "echo \"a;b\" | c",
    "echo a\\;b | c",
    "echo 'a\n;' | c",
    "echo $'it\\'s;' | c",
    "echo a#b | c",
    "echo ${#x} $# | c",
    "echo \"$(a \"b;c\" | d; e)\" | f",
    "x=$(a; b) | c",
    "echo `a; b` | c",
    "(a; b) | c",
    "{ a; b; } | c",
    "a | { b; c; }",
    "a | (b; c)",
    "cat f | while read -r x; do echo \"$x\"; done",
    "for x in a b; do echo $x; done | sort",
    "for x in a b\ndo echo $x\ndone | sort\n",
    "for ((i = 0; i < 1 << 2; i++)); do echo $i; done | sort",
    "while a; do if b; then c; fi; done | d",
    "{ if a; then b; fi } | c",
    "a | if b; then c; else d; fi",
    "case $x in a|b) c;; (d) e; f;; esac | g",
    "a | case $x in if) c ;; *) d; e;& esac",
    "find . -exec echo {} \\; | head",
    "cat <<EOF | b\nx; y\nit's\nEOF\n",
    "cat <<-'E F' | b\n\tx; y\n\tE F\n",
    "cat <<A <<\\B | c\n;\nA\n;\nB\n",
    "cat <<< x | b",
    "echo $((1 << 2)) | b",
    "((1 << 2)) | b",
    "[[ a && b ]] | c",
    "f() { a; }; b | c",
    "a | b <(c; d)",
    "echo \"${x:-it's;}';}\" | b",
    "echo ${x:-'a;}'} | b",
    "cargo test 2>&1 | tail -20",
    "cd x && make | tee log",
    "echo done | cat",
    "echo if | cat",
    "a | tee >(b; c)",
];

const NO_PIPES: &[&str] = &[
    "",
    "a",
    "a | b; c",
    "a | b\nc",
    "a | b && c",
    "a | b || c",
    "a | b &",
    "a | b & c",
    "a || b",
    "a >| b",
    "a >|b",
    "a # | b",
    "# a | b",
    "a '|' b",
    "a \"|\" b",
    "a \\| b",
    "a $'\\'|' b",
    "a \"$(b | c)\"",
    "a $(b | c)",
    "a `b | c`",
    "a `b \\` | c`",
    "x=(a '|')",
    "(a | b)",
    "{ a | b; }",
    "f() { a | b; }",
    "a | b; f()\n{\nc\n}",
    "for x in a; do b | c; done",
    "while a | b; do c | d; done",
    "if a | b; then c | d; elif e | f; then g; else h | i; fi",
    "while read x; do a; done < <(b | c)",
    "a | while read x; do b; done; c",
    "case $x in a|b) c ;; esac",
    "case $x in a|b) c | d ;; (e|f) g | h; esac",
    "case $x in @(a|b)) c ;; esac",
    "x=$(case y in a) b | c;; esac)",
    "[[ $x =~ a|b ]]",
    "[[ a || b ]]",
    "((1 | 2))",
    "echo $((1 | 2))",
    "echo ${x:-a|b}",
    "echo \"${x:-a|b}\"",
    "echo \"${x:-\"a|b\"}\"",
    "cat <<EOF\na | b\nEOF",
    "cat <<EOF\na | b",
    "cat <<-EOF\n\ta | b\n\tEOF\n",
    "cat <<\"E|F\"\na | b\nE|F\n",
    "a | cat <<EOF\nx\nEOF\nb",
    "echo ')' | b; c",
    "a | b; [[ c ]]",
    "a | b; > c",
    "a | b; (c)",
    "bash -c 'a | b'",
    "false; echo EXIT=$?",
];

#[test]
fn a_list_that_ends_in_a_pipe_is_known() {
    for text in PIPES {
        assert!(ends_in_pipe(text), "{text:?}");
    }
}

#[test]
fn a_list_that_ends_otherwise_is_known() {
    for text in NO_PIPES {
        assert!(!ends_in_pipe(text), "{text:?}");
    }
}

#[test]
fn a_list_around_does_not_change_what_its_last_element_is() {
    for (texts, is_pipe) in [(PIPES, true), (NO_PIPES, false)] {
        for text in texts.iter().filter(|text| !text.is_empty()) {
            let after = format!("x | y; z\n{text}");
            // A comment alone is no element, and the pipe before it stays the last.
            let is_comment = text.starts_with('#');
            assert_eq!(ends_in_pipe(&after), is_pipe, "{after:?}");
            assert!(
                is_comment || !ends_in_pipe(&format!("{text}\nz")),
                "{text:?}"
            );
        }
    }
}

#[test]
fn unfinished_text_is_read_without_complaint() {
    for text in [
        "a | 'b",
        "a | \"b",
        "a | $(b",
        "a | ${b",
        "a | `b",
        "a | b\\",
        "a | $((1",
        "a | $'b\\",
        ")) a | b",
        "a | b <<",
        "a | { b",
    ] {
        assert!(ends_in_pipe(text), "{text:?}");
    }
}

#[test]
fn deep_nesting_takes_linear_time() {
    for piece in [
        "(",
        ")",
        "{ ",
        "} ",
        "\"$(",
        "${",
        "((",
        "case x in ",
        "<<E\n",
        "if ",
    ] {
        let text = piece.repeat(100_000) + " a | b" + &")".repeat(100_000);
        ends_in_pipe(&text);
    }
}

proptest! {
    #[test]
    fn any_text_is_read(pieces in prop::collection::vec(
        prop::sample::select(vec![
            "a", " ", "|", "&", ";", "\n", "(", ")", "{ ", "} ", "$(", "${", "}", "'", "\"", "`",
            "\\", "#", "<<E", "E", "case ", "in ", "esac ", "if ", "fi ", "do ", "done ", "[[ ",
            "]] ", "((", "))", "<", ">", "$'", "é",
        ]),
        0..40,
    )) {
        ends_in_pipe(&pieces.concat());
    }

    #[test]
    fn quoted_words_hold_no_pipe(words in prop::collection::vec("\\PC{0,8}", 1..5)) {
        prop_assert!(!ends_in_pipe(&quote_words(&words)));
    }
}
