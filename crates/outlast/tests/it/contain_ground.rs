//! The ground that contained runs stand on: a project in a home, the program in it, as root or
//! as an ordinary user.
//!
//! Both are tested where the tests are root; an ordinary user tests itself.

use crate::case_ground::{OUTLAST, write};
use outlast_testkit::{Home, Output, capture};
use serde_json::Value;
use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown},
    path::{Path, PathBuf},
    process::Command,
};

/// A number that no account has, for what runs as an ordinary user.
const USER: u32 = 654_321;
/// A Python that lies where every run sees it.
pub(crate) const PYTHON: &str = "/usr/bin/python3";

/// What Landlock alone does not hold.
pub(crate) const LANDLOCK_LACKS: [&str; 4] = [
    "write_boundary",
    "metadata_ro",
    "pid_isolated",
    "killed_with_supervisor",
];

/// Who the program runs as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// User 0.
    Root,
    /// Another.
    User,
}

impl Who {
    /// Everyone that these tests can be.
    pub(crate) fn all() -> Vec<Self> {
        if rustix::process::geteuid().is_root() {
            vec![Self::Root, Self::User]
        } else {
            vec![Self::User]
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::User => "user",
        }
    }
}

/// A home with a project in it.
pub(crate) struct Contained {
    pub(crate) home: Home,
    pub(crate) who: Who,
    program: PathBuf,
}

impl Contained {
    /// Makes an empty project.
    pub(crate) fn new(who: Who) -> Self {
        let home = Home::new();
        let program = home.path().join("outlast");
        if fs::hard_link(OUTLAST, &program).is_err() {
            fs::copy(OUTLAST, &program).expect("the home has room for the program");
        }
        let ground = Self { home, who, program };
        ground.hand_over();
        ground
    }

    /// Makes everything in the home the property of who runs the program.
    pub(crate) fn hand_over(&self) {
        if self.who == Who::User && rustix::process::geteuid().is_root() {
            give(self.home.path());
        }
    }

    /// Returns the project.
    pub(crate) fn work(&self) -> PathBuf {
        self.home.work()
    }

    /// Returns a command with the words of a shell, in the project and as who runs the program.
    pub(crate) fn command(&self, program: &Path, words: &[&str]) -> Command {
        let is_other = self.who == Who::User && rustix::process::geteuid().is_root();
        let mut command = if is_other {
            as_user(program)
        } else {
            Command::new(program)
        };
        command
            .args(words)
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home.path())
            .env("OUTLAST_HOME", self.home.store())
            .env("LANG", "C.UTF-8")
            .env("OUTLAST_TEST_HOME", self.home.path())
            .current_dir(self.work());
        command
    }

    /// Returns the program with these words.
    pub(crate) fn outlast(&self, words: &[&str]) -> Command {
        self.command(&self.program, words)
    }

    /// Returns the path of the program, where who runs it can reach it.
    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    /// Runs a shell text with these options of `run` and waits for it.
    pub(crate) fn run(&self, options: &[&str], text: &str) -> Output {
        let words = [&["run", "--wait"], options, &["-c", text]].concat();
        capture(self.outlast(&words))
    }

    /// Runs a shell text in an editing sandbox; it must succeed.
    #[track_caller]
    pub(crate) fn edit(&self, text: &str) -> Output {
        let output = self.run(&["--sandbox", "edit"], text);
        assert_eq!(output.code, Some(0), "{:?}: {output:#?}", self.who);
        output
    }

    /// Returns the one document that these words of the program print.
    #[track_caller]
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        let output = capture(self.outlast(words));
        serde_json::from_str(&output.stdout).unwrap_or_else(|_| panic!("no document: {output:#?}"))
    }

    /// Configures guarantees that a run may miss.
    pub(crate) fn accept(&self, guarantees: &[&str]) {
        let folder = self.home.path().join(".config/outlast");
        fs::create_dir_all(&folder).expect("the home can be filled");
        let text = format!("[sandbox]\nmay_miss = {guarantees:?}\n");
        write(&folder.join("config.toml"), &text);
        self.hand_over();
    }

    /// Writes a file of the project.
    pub(crate) fn file(&self, name: &str, text: &str) {
        let path = self.work().join(name);
        let folder = path.parent().expect("it lies in the project");
        fs::create_dir_all(folder).expect("the project can be filled");
        write(&path, text);
        self.hand_over();
    }
}

/// Returns a program as an ordinary user starts it; for root to call.
pub(crate) fn as_user(program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    let id = USER.to_string();
    command
        .args(["--reuid", &id, "--regid", &id, "--clear-groups"])
        .args(["--inh-caps=-all", "--"])
        .arg(program);
    command
}

/// Gives a directory and all in it to the ordinary user.
pub(crate) fn give(path: &Path) {
    let meta = fs::symlink_metadata(path).expect("it is there");
    if meta.is_symlink() || path.file_name().is_some_and(|name| name == "outlast") {
        return;
    }
    chown(path, Some(USER), Some(USER)).expect("root may give files away");
    if meta.is_dir() {
        for entry in fs::read_dir(path).expect("root may read").flatten() {
            give(&entry.path());
        }
    }
}

/// Sets the permissions of a file.
pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("it is ours");
}
