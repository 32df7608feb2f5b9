//! Starts a supervisor and hands it what must not stand on disk or be inherited.
//!
//! The new process is this very program, by `posix_spawn`, with a socket as its
//! stdin. Over it go the locked descriptors (as rights, so that no other child
//! of a threaded host inherits them) and the run's environment.

use crate::platform::socket;
use outlast_journal::control::Answer;
use outlast_journal::{RunId, limits, names};
use std::ffi::{OsStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// First bytes of the message, with the version of its form.
const MAGIC: [u8; 8] = *b"outlast1";
/// Bytes before the environment: magic, length of the environment, number of descriptors,
/// whether there is a ticket, length of the words.
const HEADER_BYTES: usize = 32;

static IS_INITIALISED: AtomicBool = AtomicBool::new(false);

/// Notes that `main` has let supervisors pass.
pub(crate) fn set_initialised() {
    IS_INITIALISED.store(true, Ordering::Relaxed);
}

/// Returns whether this process has called `init_supervisor`.
pub fn is_initialised() -> bool {
    IS_INITIALISED.load(Ordering::Relaxed)
}

/// What a supervisor is launched with.
#[derive(Debug)]
pub struct Launch<'a> {
    /// The run.
    pub id: RunId,
    /// Its directory, absolute, with a spec in it.
    pub run_dir: &'a Path,
    /// The words to execute, where the spec may not have them as they are; empty otherwise.
    pub words: &'a [String],
    /// The run's whole environment.
    pub environment: &'a [(OsString, OsString)],
    /// The run's locked `lock` file.
    pub lock: BorrowedFd<'a>,
    /// Its ticket, when it waits for its places.
    pub ticket: Option<BorrowedFd<'a>>,
    /// Its places, locked, in the order of the spec's pools; none when it waits for them.
    pub places: &'a [BorrowedFd<'a>],
}

/// Starts the supervisor and waits until it has answered.
///
/// # Errors
///
/// Fails when the supervisor could not be started, died, or was silent for
/// [`limits::START_ANSWER_MS`]. That the command could not be executed is an answer.
pub fn launch(launch: &Launch<'_>) -> Result<Answer, LaunchError> {
    if !is_initialised() {
        return Err(LaunchError::NotInitialised);
    }
    let (ours, theirs) = UnixStream::pair().map_err(LaunchError::Spawn)?;
    let mut command = Command::new("/proc/self/exe");
    command
        .arg0(names::PROCESS)
        .arg(names::SUPERVISE)
        .arg(launch.run_dir)
        .env_clear()
        .env(names::RUN_VARIABLE, launch.id.as_str())
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    #[cfg(debug_assertions)]
    for (name, value) in launch.environment {
        if name == crate::fault::VARIABLE {
            command.env(name, value);
        }
    }
    let mut child = command.spawn().map_err(LaunchError::Spawn)?;
    // The command holds the other end of the socket; without this, a dead
    // supervisor would not be an end of file here.
    drop(command);
    crate::fault::point("launched");
    let answer = converse(&ours, launch);
    // What was spawned leaves as soon as it has forked; a host that ignores
    // SIGCHLD has had it reaped already.
    child.wait().ok();
    answer
}

fn converse(socket: &UnixStream, launch: &Launch<'_>) -> Result<Answer, LaunchError> {
    send(socket, launch).map_err(LaunchError::Silent)?;
    let limit = Duration::from_millis(limits::START_ANSWER_MS);
    socket
        .set_read_timeout(Some(limit))
        .map_err(LaunchError::Silent)?;
    let mut line = Vec::new();
    let most = limits::CONTROL_LINE_BYTES_MAX as u64;
    BufReader::new(socket.take(most))
        .read_until(b'\n', &mut line)
        .map_err(LaunchError::Silent)?;
    if line.pop() != Some(b'\n') {
        return Err(LaunchError::Died);
    }
    Answer::from_bytes(&line).map_err(|_| LaunchError::Died)
}

fn send(socket: &UnixStream, launch: &Launch<'_>) -> io::Result<()> {
    let mut descriptors = vec![launch.lock];
    descriptors.extend(launch.ticket);
    descriptors.extend(launch.places);
    let size = launch
        .environment
        .iter()
        .map(|(name, value)| name.len() + value.len() + 2);
    let size: usize = size.sum();
    let words_size: usize = launch.words.iter().map(|word| word.len() + 1).sum();
    let mut message = Vec::with_capacity(HEADER_BYTES + size + words_size);
    message.extend(MAGIC);
    message.extend((size as u64).to_le_bytes());
    message.extend(
        u32::try_from(descriptors.len())
            .unwrap_or(u32::MAX)
            .to_le_bytes(),
    );
    message.extend(u32::from(launch.ticket.is_some()).to_le_bytes());
    message.extend((words_size as u64).to_le_bytes());
    for (name, value) in launch.environment {
        message.extend(name.as_bytes());
        message.push(b'=');
        message.extend(value.as_bytes());
        message.push(0);
    }
    for word in launch.words {
        message.extend(word.as_bytes());
        message.push(0);
    }
    let sent = socket::send(socket, &message, &descriptors)?;
    let mut socket = socket;
    socket.write_all(message.get(sent..).unwrap_or_default())
}

/// What a supervisor was handed.
pub(crate) struct Handed {
    /// The run's locked `lock` file; it must live as long as the supervisor.
    pub(crate) lock: OwnedFd,
    /// The locked ticket.
    pub(crate) ticket: Option<OwnedFd>,
    /// The locked places.
    pub(crate) places: Vec<OwnedFd>,
    /// `NAME=VALUE` entries, each ended by a NUL.
    pub(crate) environment: Vec<u8>,
    /// The words to execute, where those of the spec are masked.
    pub(crate) words: Vec<String>,
}

/// Receives what [`launch`] sends.
pub(crate) fn receive(socket: &UnixStream) -> io::Result<Handed> {
    let wrong = || io::Error::from(io::ErrorKind::InvalidData);
    let mut header = [0; HEADER_BYTES];
    let (mut read, descriptors) = socket::receive(socket, &mut header)?;
    let mut socket = socket;
    while read < HEADER_BYTES {
        match socket.read(&mut header[read..])? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    let number = |from: usize, length: usize| {
        let mut bytes = [0; 8];
        bytes[..length].copy_from_slice(&header[from..from + length]);
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| wrong())
    };
    let (size, words_size) = (number(8, 8)?, number(24, 8)?);
    let is_too_long = |bytes: usize| bytes > 2 * limits::ENVIRONMENT_BYTES_MAX;
    if header[..8] != MAGIC || is_too_long(size) || is_too_long(words_size) {
        return Err(wrong());
    }
    if descriptors.len() != number(16, 4)? {
        return Err(wrong());
    }
    let mut environment = vec![0; size];
    socket.read_exact(&mut environment)?;
    let mut words = vec![0; words_size];
    socket.read_exact(&mut words)?;
    let words = words.split_inclusive(|byte| *byte == 0).map(|word| {
        let word = word.strip_suffix(&[0]).ok_or_else(wrong)?;
        String::from_utf8(word.to_vec()).map_err(|_| wrong())
    });
    let mut descriptors = descriptors.into_iter();
    let lock = descriptors.next().ok_or_else(wrong)?;
    let ticket = match number(20, 4)? {
        0 => None,
        _ => Some(descriptors.next().ok_or_else(wrong)?),
    };
    Ok(Handed {
        lock,
        ticket,
        places: descriptors.collect(),
        environment,
        words: words.collect::<io::Result<_>>()?,
    })
}

/// Returns the value of `name` in a handed environment.
pub(crate) fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a OsStr> {
    environment
        .split(|byte| *byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"="))
        .map(OsStr::from_bytes)
}

/// Says the answer to the launcher, which may be gone.
pub(crate) fn answer(socket: &UnixStream, answer: &Answer) {
    socket::send(socket, &answer.to_bytes(), &[]).ok();
}

/// Borrows each of some files.
pub fn borrowed(files: &[std::fs::File]) -> Vec<BorrowedFd<'_>> {
    files.iter().map(AsFd::as_fd).collect()
}

/// Why there is no supervisor.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// The program would run its own `main` again.
    #[error("`init_supervisor` was not called in this process")]
    NotInitialised,
    /// The process could not be made.
    #[error("the supervisor could not be started")]
    Spawn(#[source] io::Error),
    /// It took too long, or the socket failed.
    #[error("the supervisor did not answer")]
    Silent(#[source] io::Error),
    /// It left without an answer.
    #[error("the supervisor died before it answered")]
    Died,
}

#[cfg(test)]
mod tests;
