//! Queries and bodies that mean something, and those that do not.

use super::{Names, decode, from_body, from_query};

const NAMES: Names = Names {
    texts: &["label"],
    numbers: &["since"],
    flags: &["any"],
    lists: &["id"],
};

#[test]
fn each_argument_has_the_type_of_its_name() {
    let mut asked = from_query("label=a+b%26c&since=5&any=true&id=x&id=y&", NAMES).unwrap();
    assert_eq!(asked.text("label").unwrap().as_deref(), Some("a b&c"));
    assert_eq!(asked.number("since").unwrap(), Some(5));
    assert_eq!(asked.flag("any").unwrap(), Some(true));
    assert_eq!(asked.texts("id").unwrap().unwrap(), ["x", "y"]);
}

#[test]
fn what_is_wrong_with_an_argument_is_told_by_its_name() {
    let mut asked = from_query("since=five&any=1", NAMES).unwrap();
    assert!(
        asked
            .number("since")
            .unwrap_err()
            .to_string()
            .contains("`since`")
    );
    assert!(asked.flag("any").unwrap_err().to_string().contains("`any`"));
    let code = |query: &str| from_query(query, NAMES).unwrap_err().code().to_owned();
    assert_eq!(code("other=1"), "unknown_argument");
    assert_eq!(code("since=1&since=2"), "bad_query");
    assert_eq!(code("label=%f"), "bad_query");
    assert_eq!(code("label=%ff"), "bad_query");
}

#[test]
fn a_body_is_one_object_or_nothing() {
    assert!(from_body(b"", &[]).is_ok());
    assert!(from_body(br#"{"a":null}"#, &["a"]).is_ok());
    let code = |body: &str| {
        from_body(body.as_bytes(), &["a"])
            .unwrap_err()
            .code()
            .to_owned()
    };
    for wrong in [
        "[]",
        "null",
        "\"a\"",
        "5",
        "{",
        "{}{}",
        "{\"a\":1,}",
        "\u{0}",
    ] {
        assert_eq!(code(wrong), "bad_body", "{wrong}");
    }
    assert_eq!(
        code(&"[".repeat(100_000)),
        "bad_body",
        "as deep as it likes"
    );
    assert_eq!(code("{\"b\":1}"), "unknown_argument");
}

#[test]
fn percent_signs_are_digits_of_bytes() {
    assert_eq!(decode("%C3%A9%2f+").as_deref(), Some("\u{e9}/ "));
    for wrong in ["%", "%1", "%g0", "%c3", "%-1"] {
        assert_eq!(decode(wrong), None, "{wrong}");
    }
}
