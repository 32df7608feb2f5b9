//! A home is private while it lasts, and leaves nothing behind.

use std::{
    fs,
    io::Read as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};

use crate::{Home, eventually, processes_with};

const LIMIT: Duration = Duration::from_secs(10);

/// Starts `text` by a shell that says when it is ready, by the word `ready`.
fn shell(text: &str, arguments: &[&str], directory: &Path, mark: Option<&Home>) -> Child {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", text]).args(arguments);
    command.env_clear().current_dir(directory);
    command.stdin(Stdio::null()).stdout(Stdio::piped());
    if let Some(home) = mark {
        command.env(super::MARK, home.path());
    }
    let mut child = command.spawn().unwrap();
    let mut word = [0; 6];
    let output = child.stdout.as_mut().unwrap();
    output.read_exact(&mut word).unwrap();
    assert_eq!(&word, b"ready\n");
    child
}

fn is_killed(mut child: Child) -> bool {
    use std::os::unix::process::ExitStatusExt as _;
    child.wait().unwrap().signal() == Some(9)
}

#[test]
fn a_home_is_private_and_goes_with_its_content() {
    let home = Home::new();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o7777;
    assert_eq!(mode(home.path()), 0o700);
    assert_eq!(mode(&home.work()), 0o700);
    assert!(!home.store().exists());

    fs::create_dir_all(home.store().join("runs")).unwrap();
    let path = home.path().to_owned();
    drop(home);
    assert!(!path.exists());
}

#[test]
fn two_homes_have_marks_of_which_neither_holds_the_other() {
    let (one, other) = (Home::new(), Home::new());
    assert!(!one.mark().contains(&other.mark()));
    assert_eq!(one.mark().len(), other.mark().len());
}

#[test]
fn what_carries_the_mark_ends_with_the_home() {
    let home = Home::new();
    let text = "setsid sleep 600 & echo ready; exec sleep 601";
    let child = shell(text, &[], Path::new("/"), Some(&home));
    let mark = home.mark();
    eventually("both sleepers are seen", LIMIT, || {
        processes_with(&mark).len() == 2
    });
    drop(home);
    assert!(is_killed(child));
    assert!(processes_with(&mark).is_empty());
}

#[test]
fn what_stands_in_the_home_ends_with_it() {
    let home = Home::new();
    let child = shell("echo ready; exec sleep 600", &[], &home.work(), None);
    drop(home);
    assert!(is_killed(child));
}

#[test]
fn a_supervisor_of_the_home_ends_with_it_and_so_do_its_children() {
    let home = Home::new();
    let run = home.store().join("runs/2026-01/0123456789abcdef");
    let arguments = ["outlast", "__supervise", run.to_str().unwrap()];
    let text = "sleep 600 & echo ready; wait";
    let mut child = shell(text, &arguments, Path::new("/"), None);
    let mut rest = child.stdout.take().unwrap();
    drop(home);
    assert!(is_killed(child));
    // The sleeper holds the pipe, so this ends when it is gone too.
    let mut text = String::new();
    rest.read_to_string(&mut text).unwrap();
    assert_eq!(text, "");
}

#[test]
fn a_stranger_is_left_alone() {
    let other = Home::new();
    let mut child = shell(
        "echo ready; exec sleep 600",
        &[],
        Path::new("/"),
        Some(&other),
    );
    drop(Home::new());
    assert!(child.try_wait().unwrap().is_none());
    drop(other);
    assert!(is_killed(child));
}
