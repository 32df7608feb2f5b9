//! Starts a supervisor and hands it what must not stand on disk or be inherited.
//!
//! The new process is this very program, in a session of its own and no child of
//! its launcher, with a socket as its stdin. Over it go the locked descriptors (as
//! rights, so that no other child of a threaded host inherits them) and the run's
//! environment.

use crate::platform::socket;
use crate::platform::spawn::{self, Exec};
use crate::{fault, files, process};
use outlast_journal::control::Answer;
use outlast_journal::{RunId, limits, names};
use std::ffi::{CString, OsStr, OsString};
use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// First bytes of the message, with the version of its form.
const MAGIC: [u8; 8] = *b"outlast1";
/// Bytes before the environment: magic, length of the environment, number of descriptors,
/// whether there is a ticket, length of the words.
const HEADER_BYTES: usize = 32;

static IS_INITIALISED: AtomicBool = AtomicBool::new(false);
static HAS_WORKER: AtomicBool = AtomicBool::new(false);

/// Notes that `main` has let supervisors pass.
pub(crate) fn set_initialised() {
    IS_INITIALISED.store(true, Ordering::Relaxed);
}

/// Returns whether this process has called `init_supervisor`.
pub fn is_initialised() -> bool {
    IS_INITIALISED.load(Ordering::Relaxed)
}

/// Notes that `main` lets workers pass: agent runs can be started.
pub fn note_worker() {
    HAS_WORKER.store(true, Ordering::Relaxed);
}

/// Returns whether this program can be a worker.
pub fn has_worker() -> bool {
    HAS_WORKER.load(Ordering::Relaxed)
}

/// What a supervisor is handed.
#[derive(Debug)]
pub struct Launch<'a> {
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

/// A supervisor that comes up meanwhile and waits to be handed its run.
///
/// When this is dropped it leaves, without having touched anything.
#[derive(Debug)]
pub struct Supervisor {
    socket: UnixStream,
}

impl Supervisor {
    /// Starts the supervisor of the run `id`, whose directory `run_dir`, an absolute path,
    /// need not be there yet.
    ///
    /// # Errors
    ///
    /// Fails when this process has not called `init_supervisor`, or can make no other.
    pub fn start(
        id: &RunId,
        run_dir: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, LaunchError> {
        if !is_initialised() {
            return Err(LaunchError::NotInitialised);
        }
        let (ours, theirs) = UnixStream::pair().map_err(LaunchError::Spawn)?;
        spawn_supervisor(id, run_dir, environment, theirs.as_fd()).map_err(LaunchError::Spawn)?;
        // The supervisor keeps the only copy, else its death would not be an end of file.
        drop(theirs);
        Ok(Self { socket: ours })
    }

    /// Hands over the run, which has a spec in its directory now, and waits for the answer.
    ///
    /// # Errors
    ///
    /// Fails when the supervisor died, or was silent for [`limits::START_ANSWER_MS`]. That
    /// the command could not be executed is an answer.
    pub fn launch(self, launch: &Launch<'_>) -> Result<Answer, LaunchError> {
        fault::point("launched");
        converse(&self.socket, launch)
    }
}

/// Executes this program as a supervisor that reads `socket`.
fn spawn_supervisor(
    id: &RunId,
    run_dir: &Path,
    environment: &[(OsString, OsString)],
    socket: BorrowedFd<'_>,
) -> io::Result<()> {
    let text = |bytes: &[u8]| CString::new(bytes).map_err(io::Error::other);
    let run_dir = text(run_dir.as_os_str().as_bytes())?;
    let cookie = text(process::cookie(id).as_bytes())?;
    let armed = text(&armed_fault(environment))?;
    let null = OpenOptions::new()
        .read(true)
        .write(true)
        .open("/dev/null")?;
    let exec = Exec {
        paths: &[c"/proc/self/exe".to_owned()],
        argv: &[
            &text(names::PROCESS.as_bytes())?,
            &text(names::SUPERVISE.as_bytes())?,
            &run_dir,
        ],
        environment: if armed.is_empty() {
            &[&cookie]
        } else {
            &[&cookie, &armed]
        },
        // It goes to the run's folder itself.
        cwd: c"/",
        stdin: socket,
        output: null.as_fd(),
        extra: [None; 2],
    };
    spawn::spawn_apart(&exec, files::before()).map_err(|(_, error)| error)
}

/// Returns the entry that arms a fault point of a launcher, if this process has one armed.
#[cfg(debug_assertions)]
pub(crate) fn armed_entry() -> Option<CString> {
    let value = std::env::var_os(fault::VARIABLE)?;
    CString::new([fault::VARIABLE.as_bytes(), b"=", value.as_bytes()].concat()).ok()
}

/// Release builds have no fault points.
#[cfg(not(debug_assertions))]
pub(crate) fn armed_entry() -> Option<CString> {
    None
}

/// Returns the entry that arms a fault point of the supervisor, empty when none is.
#[cfg(debug_assertions)]
fn armed_fault(environment: &[(OsString, OsString)]) -> Vec<u8> {
    let armed = environment.iter().find(|(name, _)| name == fault::VARIABLE);
    armed.map_or_else(Vec::new, |(name, value)| {
        [name.as_bytes(), b"=", value.as_bytes()].concat()
    })
}

/// Release builds have no fault points.
#[cfg(not(debug_assertions))]
fn armed_fault(_environment: &[(OsString, OsString)]) -> Vec<u8> {
    Vec::new()
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
