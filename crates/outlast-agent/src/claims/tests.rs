//! What counts as a claim, and what bears it out.

use super::*;

fn receipt(tool: &str, ok: bool) -> Receipt {
    Receipt {
        tool: tool.to_owned(),
        ok,
        brief: String::new(),
        wrote: tool == "write_file",
    }
}

#[test]
fn a_claim_of_doing_needs_a_receipt_that_can_have_done_it() {
    let claims = [
        ("I ran the tests.", "shell"),
        ("I've fixed the parser.", "write_file"),
        ("All tests pass.", "shell"),
        ("Created `a.txt` with the list.", "write_file"),
        ("We have successfully installed the package.", "shell"),
        ("- Fixed the race", "edit_file"),
        ("I then committed it.", "shell"),
        ("I downloaded the page.", "http_request"),
        ("I also removed the old file.", "shell"),
    ];
    for (text, tool) in claims {
        assert_eq!(ungrounded(text, &[], false).len(), 1, "{text}");
        assert_eq!(
            ungrounded(text, &[receipt(tool, false)], false).len(),
            1,
            "{text}"
        );
        assert_eq!(
            ungrounded(text, &[receipt(tool, true)], false).len(),
            0,
            "{text}"
        );
        assert_eq!(
            ungrounded(text, &[receipt("read_file", true)], false).len(),
            1,
            "{text}"
        );
    }
}

#[test]
fn what_is_no_plain_claim_is_left_alone() {
    let texts = [
        "I did not run the tests.",
        "The file was written in 2019.",
        "You could have fixed it with a lock.",
        "Should I have created it?",
        "I was unable to install it.",
        "If I ran it, it would fail.",
        "The parser runs before the tests.",
        "```\nI ran it\n```",
        "> I fixed it",
        "Nothing was changed.",
        "I think that somebody fixed it.",
        "The added value is small.",
    ];
    for text in texts {
        assert_eq!(ungrounded(text, &[], false), Vec::<String>::new(), "{text}");
    }
}

#[test]
fn a_check_of_the_goal_bears_out_that_something_ran_and_not_that_it_was_written() {
    assert_eq!(ungrounded("I tested it.", &[], true).len(), 0);
    assert_eq!(ungrounded("I wrote it.", &[], true).len(), 1);
}

#[test]
fn claims_are_few_and_short() {
    let text = format!("I ran {}.\n", "x".repeat(500)).repeat(20);
    let claims = ungrounded(&text, &[], false);
    assert_eq!(claims.len(), CLAIMS_NAMED_MAX);
    assert!(
        claims
            .iter()
            .all(|claim| claim.chars().count() <= CLAIM_CHARS)
    );
}
