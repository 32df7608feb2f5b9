//! The hand of an agent run: our own program inside of the containment, for one call.
//!
//! It reads one request on stdin, does it in the directory that it was started in, and
//! writes one line of JSON as its answer; a body follows where there is one. What it may
//! not do the containment forbids: it has no rights of its own.

mod ask;
mod edit;
mod fetch;
mod file;

pub(crate) use ask::{Fetch, HandAnswer, HandAsk, Refused, Task};

use outlast_journal::names;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

/// Request of a hand, in bytes: two texts of `WRITE_BYTES_MAX` with every character escaped.
const ASK_BYTES_MAX: u64 = 16 << 20;

/// Acts as a hand if this process was started as one, and returns the code to leave with.
pub fn answer() -> Option<ExitCode> {
    let first = std::env::args_os().nth(1)?;
    (first == names::HAND).then(act)
}

/// Does the request on stdin and answers on stdout. The code is 0 for every answer.
fn act() -> ExitCode {
    let mut text = Vec::new();
    let read = io::stdin()
        .lock()
        .take(ASK_BYTES_MAX)
        .read_to_end(&mut text);
    let done = match read.map(|_| HandAsk::from_line(&text)) {
        Ok(Ok(ask)) => perform(ask, Path::new(".")),
        Ok(Err(error)) => Err(Refused::new(
            "hand_failed",
            format!("the request means nothing: {error}"),
        )),
        Err(error) => Err(Refused::new(
            "hand_failed",
            format!("stdin cannot be read: {error}"),
        )),
    };
    let (answer, body) = done.unwrap_or_else(|refused| (HandAnswer::refused(refused), Vec::new()));
    let mut out = io::stdout().lock();
    let written = out
        .write_all(answer.to_line().as_bytes())
        .and_then(|()| out.write_all(&body))
        .and_then(|()| out.flush());
    if written.is_ok() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// What a task came to: the answer, and what stands behind it in the log.
pub(crate) type Done = Result<(HandAnswer, Vec<u8>), Refused>;

/// Does a task in the directory `root`.
pub(crate) fn perform(ask: HandAsk, root: &Path) -> Done {
    let at = || file::open(root, ask.store.as_deref());
    let answered = match ask.task {
        Task::Write {
            path,
            content,
            before,
        } => file::write(&at()?, &path, &content, before.as_deref()),
        Task::Edit {
            path,
            old,
            new,
            is_all,
            before,
        } => edit::edit(
            &at()?,
            &edit::Change {
                path,
                old,
                new,
                is_all,
                before,
            },
        ),
        Task::Fetch(request) => return fetch::fetch(&request),
    };
    answered.map(|answer| (answer, Vec::new()))
}
