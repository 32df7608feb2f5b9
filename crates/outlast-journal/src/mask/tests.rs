//! A secret is masked wherever it stands, and nothing else is.

use super::{Found, Masker, looks_secret, mark};
use crate::SecretMark;
use proptest::prelude::*;
use std::borrow::Cow;
use std::ops::Range;

const KEY: [u8; 32] = [7; 32];

fn masker(secrets: &[(&str, &[u8])]) -> Masker {
    let marks: Vec<SecretMark> = secrets
        .iter()
        .map(|(name, value)| mark(&KEY, name, value).unwrap())
        .collect();
    Masker::new(&KEY, &marks)
}

fn masked(masker: &Masker, text: &str) -> String {
    String::from_utf8(masker.mask(text.as_bytes()).into_owned()).unwrap()
}

#[test]
fn names_of_secrets_are_known() {
    for name in [
        "API_KEY",
        "apikey",
        "OPENAI_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN",
        "GITHUB_TOKEN",
        "GITHUB_PAT",
        "DB_PASSWORD",
        "DB_PASSWORD2",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SSHPASS",
        "SMTP_PASS",
        "npm_config__authToken",
        "npm_config_//registry/:_auth",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "SENTRY_DSN",
        "SLACK_WEBHOOK_URL",
        "SESSION_COOKIE",
        "PRIVATE_KEY",
        "GPG_PASSPHRASE",
        "MY-CLIENT-SECRET",
    ] {
        assert!(looks_secret(name), "{name}");
    }
}

#[test]
fn other_names_are_not_taken_for_secrets() {
    for name in [
        "",
        "_",
        "HOME",
        "PATH",
        "PWD",
        "OLDPWD",
        "SSH_AUTH_SOCK",
        "SSH_KEY_PATH",
        "TOKEN_FILE",
        "KEY_DIR",
        "PGPASSFILE",
        "XAUTHORITY",
        "KEYBOARD",
        "KEYMAP",
        "XKB_DEFAULT_KEYMAP",
        "MONKEY",
        "MAX_THINKING_TOKENS",
        "SSH_ASKPASS",
        "GIT_AUTHOR_NAME",
        "COMPASS",
        "GOPRIVATE",
        "GÜRTEL",
    ] {
        assert!(!looks_secret(name), "{name}");
    }
}

#[test]
fn only_values_of_a_sane_length_are_marked() {
    let is_marked = |length| mark(&KEY, "X", &vec![b'x'; length]).is_some();
    assert_eq!(
        [0, 7, 8, 4_096, 4_097].map(is_marked),
        [false, false, true, true, false]
    );
}

#[test]
fn a_mark_tells_nothing_but_the_length() {
    let one = mark(&KEY, "A", b"sk-test-0123456789abcdef").unwrap();
    assert_eq!((one.name.as_str(), one.length), ("A", 24));
    assert_eq!(
        one.hash,
        super::keyed_hash(&KEY, b"sk-test-0123456789abcdef")
    );
    let other_key = mark(&[8; 32], "A", b"sk-test-0123456789abcdef").unwrap();
    assert_ne!(one.hash, other_key.hash);
    assert_ne!(one.rolling, other_key.rolling);
}

#[test]
fn each_occurrence_is_replaced_by_the_name() {
    let masker = masker(&[
        ("API_KEY", b"sk-test-0123456789abcdef"),
        ("PASS", b"hunter22"),
    ]);
    assert_eq!(
        masked(
            &masker,
            "hunter22 API_KEY=sk-test-0123456789abcdef\nhunter22hunter22"
        ),
        "[outlast: PASS masked] API_KEY=[outlast: API_KEY masked]\n\
         [outlast: PASS masked][outlast: PASS masked]"
    );
    assert_eq!(masker.longest(), 24);
    assert!(!masker.is_empty());
}

#[test]
fn bytes_without_a_secret_are_lent() {
    let some = masker(&[("PASS", b"hunter22")]);
    for bytes in [&b"hunter2"[..], b"", b"hunter2!hunter2!"] {
        assert!(matches!(some.mask(bytes), Cow::Borrowed(lent) if lent == bytes));
    }
    let none = masker(&[]);
    assert!(none.is_empty());
    assert_eq!(none.longest(), 0);
    assert!(matches!(none.mask(b"hunter22"), Cow::Borrowed(b"hunter22")));
}

#[test]
fn secrets_that_overlap_are_masked_as_one_under_the_longest() {
    let masker = masker(&[
        ("SHORT", b"password"),
        ("LONG", b"password-1234"),
        ("NEXT", b"1234-abcdef"),
    ]);
    let found = masker.find(b"password password-1234-abcdef");
    let expected = [(0..8, 0), (9..29, 1)];
    assert_eq!(found, expected.map(|(range, mark)| Found { range, mark }));
}

#[test]
fn a_value_with_two_names_is_masked_once() {
    let masker = masker(&[("ONE", b"hunter22"), ("TWO", b"hunter22")]);
    assert_eq!(masked(&masker, "hunter22"), "[outlast: ONE masked]");
}

#[test]
fn a_mark_of_another_key_or_with_a_bad_length_masks_nothing() {
    let mut marks = vec![mark(&[8; 32], "OTHER", b"hunter22").unwrap()];
    for length in [0, 4_097, u64::MAX] {
        let mut bad = mark(&KEY, "BAD", b"hunter22").unwrap();
        bad.length = length;
        marks.push(bad);
    }
    marks.push(SecretMark {
        name: "DAMAGED".to_owned(),
        length: 8,
        rolling: u64::MAX,
        hash: String::new(),
    });
    marks.push(mark(&KEY, "GOOD", b"hunter22").unwrap());
    let masker = Masker::new(&KEY, &marks);
    assert_eq!(masker.longest(), 8);
    assert_eq!(masked(&masker, "hunter22"), "[outlast: GOOD masked]");
    assert_eq!(masker.find(b"hunter22")[0].mark, 5);
}

#[test]
fn a_name_cannot_break_the_line_it_is_shown_in() {
    let masker = masker(&[("A\x1b\nB", b"hunter22")]);
    assert_eq!(masked(&masker, "hunter22"), "[outlast: A masked]");
}

#[test]
fn a_long_run_of_one_letter_is_no_burden() {
    let secret = vec![b'a'; 4_096];
    let masker = masker(&[("A", &secret), ("B", &secret[1..])]);
    let found = masker.find(&vec![b'a'; 200_000]);
    let whole = Found {
        range: 0..200_000,
        mark: 0,
    };
    assert_eq!(found, [whole]);
}

#[test]
fn a_secret_over_a_page_border_is_masked_on_both_pages() {
    let masker = masker(&[("PASS", b"hunter22")]);
    let window = b"ab hunter22 cd";
    let page = |range| masker.mask_page(window, range).into_owned();
    assert_eq!(page(0..5), b"ab [outlast: PASS masked]");
    assert_eq!(page(5..14), b"[outlast: PASS masked] cd");
    assert_eq!(page(5..7), b"[outlast: PASS masked]");
    assert_eq!(page(0..3), b"ab ");
    assert_eq!(page(11..99), b" cd");
    assert_eq!(page(7..7), b"");
}

/// Secrets and text of few letters, so that many overlap.
fn secrets_and_text() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<u8>)> {
    let letters = |count| prop::collection::vec(prop::sample::select(b"ab".to_vec()), count);
    let secrets = prop::collection::vec(letters(8..12), 0..5);
    secrets.prop_flat_map(move |secrets| {
        let piece = match secrets.as_slice() {
            [] => letters(0..6).boxed(),
            some => prop_oneof![
                letters(0..6),
                prop::sample::select(some.to_vec()),
                prop::sample::select(some.to_vec()).prop_map(|secret| secret[3..].to_vec()),
            ]
            .boxed(),
        };
        let text = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat());
        (Just(secrets), text)
    })
}

fn masker_of(secrets: &[Vec<u8>]) -> Masker {
    let marks: Vec<SecretMark> = secrets
        .iter()
        .enumerate()
        .map(|(index, secret)| mark(&KEY, &index.to_string(), secret).unwrap())
        .collect();
    Masker::new(&KEY, &marks)
}

/// Says of each byte whether it is part of a secret, the slow way.
fn covered(secrets: &[Vec<u8>], text: &[u8]) -> Vec<bool> {
    let mut covered = vec![false; text.len()];
    for secret in secrets {
        for start in 0..text.len() {
            if text[start..].starts_with(secret) {
                covered[start..start + secret.len()].fill(true);
            }
        }
    }
    covered
}

fn coverage(length: usize, ranges: &[Range<usize>]) -> Vec<bool> {
    (0..length)
        .map(|at| ranges.iter().any(|range| range.contains(&at)))
        .collect()
}

proptest! {
    #[test]
    fn a_secret_anywhere_is_masked_and_nothing_else(
        secret in prop::collection::vec(any::<u8>(), 8..64),
        before in prop::collection::vec(any::<u8>(), 0..200),
        after in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let masker = masker(&[("NAME", &secret)]);
        let bytes = [&before[..], &secret, &after].concat();
        let is_alone = covered(&[secret], &bytes).iter().filter(|byte| **byte).count()
            == bytes.len() - before.len() - after.len();
        prop_assume!(is_alone);
        let expected = [&before[..], b"[outlast: NAME masked]", &after].concat();
        prop_assert_eq!(masker.mask(&bytes).into_owned(), expected);
    }

    #[test]
    fn what_is_found_is_what_secrets_cover((secrets, text) in secrets_and_text()) {
        let found = masker_of(&secrets).find(&text);
        let ranges: Vec<Range<usize>> = found.iter().map(|found| found.range.clone()).collect();
        prop_assert_eq!(coverage(text.len(), &ranges), covered(&secrets, &text));
        prop_assert!(ranges.windows(2).all(|pair| pair[0].end <= pair[1].start));
        for part in &found {
            let length = secrets[part.mark].len();
            let holds = text[part.range.clone()].windows(length).any(|at| at == secrets[part.mark]);
            prop_assert!(holds);
        }
    }

    #[test]
    fn a_page_hides_what_the_whole_hides(
        (secrets, text) in secrets_and_text(),
        start in 0..80_usize,
        length in 0..30_usize,
    ) {
        let masker = masker_of(&secrets);
        let page = start.min(text.len())..(start + length).min(text.len());
        let from = page.start.saturating_sub(masker.longest());
        let until = text.len().min(page.end + masker.longest());
        let inside = page.start - from..page.end - from;
        let shown = masker.mask_page(&text[from..until], inside);
        // Labels hold letters of the text; what is left without them is what was not covered.
        let mut shown = String::from_utf8(shown.into_owned()).unwrap();
        for index in 0..secrets.len() {
            shown = shown.replace(&format!("[outlast: {index} masked]"), "");
        }
        let covered = covered(&secrets, &text);
        let expected: Vec<u8> = page.filter(|at| !covered[*at]).map(|at| text[at]).collect();
        prop_assert_eq!(shown.into_bytes(), expected);
    }
}
