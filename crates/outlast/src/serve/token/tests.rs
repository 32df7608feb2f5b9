//! Tokens that are made, read and compared.

use super::{Token, TokenError, make, path};
use std::{
    fs::{self, File},
    io::Write,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::Path,
    thread,
};

fn put(path: &Path, text: &str, mode: u32) {
    let mut file = File::create(path).unwrap();
    file.write_all(text.as_bytes()).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

#[test]
fn whoever_makes_it_at_once_gets_the_same_and_nothing_else_is_left() {
    let home = outlast_testkit::Home::new();
    let root = home.work();
    let made: Vec<String> = thread::scope(|scope| {
        let makers: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| Token::of_store(&root).unwrap().0))
            .collect();
        makers
            .into_iter()
            .map(|maker| maker.join().unwrap())
            .collect()
    });
    assert!(
        made.iter()
            .all(|token| *token == made[0] && token.len() == 64),
        "{made:?}"
    );
    let names: Vec<_> = fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(names, ["serve.token"]);
    assert_eq!(fs::metadata(path(&root)).unwrap().mode() & 0o777, 0o600);
}

#[test]
fn one_that_is_there_is_never_replaced() {
    let home = outlast_testkit::Home::new();
    let file = path(&home.work());
    let text = "a-token-that-somebody-else-has-made-before";
    put(&file, text, 0o600);
    make(&file).unwrap();
    assert_eq!(Token::read(&file).unwrap().0, text);
}

#[test]
fn what_is_no_token_or_not_ours_alone_is_refused() {
    let home = outlast_testkit::Home::new();
    let file = home.work().join("t");
    let long = "x".repeat(32);
    for wrong in [
        "",
        "\n",
        "short",
        &"y".repeat(31),
        &format!("{long} {long}"),
        "\u{e9}".repeat(40).as_str(),
    ] {
        put(&file, wrong, 0o600);
        assert!(
            matches!(Token::read(&file), Err(TokenError::Form { .. })),
            "{wrong}"
        );
    }
    for mode in [0o604, 0o640, 0o620, 0o602, 0o666] {
        put(&file, &long, mode);
        let refused = Token::read(&file);
        assert!(
            matches!(refused, Err(TokenError::OpenToOthers { .. })),
            "{mode:o}"
        );
    }
    put(&file, &format!("{long}\r\n"), 0o400);
    assert!(Token::read(&file).unwrap().is(&long));
}

#[test]
fn another_of_any_length_is_not_it() {
    let token = Token::known("abc");
    assert!(token.is("abc"));
    for other in ["", "ab", "abd", "abcd", "ABC"] {
        assert!(!token.is(other), "{other}");
    }
}
