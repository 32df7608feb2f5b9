//! Runs the program in a home, as a shell would, and keeps what it said.
//!
//! The environment is empty but for what stands here, so a test does not
//! depend on the machine. What the program leaves running ends with its
//! `Home`, not with this value.

use std::{
    ffi::OsStr,
    io::Read,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    process::{Pid, PidfdFlags, pidfd_open},
};

use crate::{Home, home::MARK};

/// How long one call may take. None waits for longer than that in a test.
const CALL_LIMIT: Duration = Duration::from_secs(90);

/// The program under test, bound to the home that it runs in.
#[derive(Clone, Debug)]
pub struct Program {
    binary: PathBuf,
    home: PathBuf,
    store: PathBuf,
    work: PathBuf,
}

/// What one call gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The exit code, `None` when a signal ended the call.
    pub code: Option<i32>,
    /// The number of the signal that ended the call.
    pub signal: Option<i32>,
    /// Standard output as text, with replacement characters where it is none.
    pub stdout: String,
    /// Standard output as it came.
    pub stdout_bytes: Vec<u8>,
    /// Standard error as text, with replacement characters where it is none.
    pub stderr: String,
}

impl Program {
    /// Binds the program at `binary` to `home`.
    pub fn new(binary: impl AsRef<Path>, home: &Home) -> Self {
        Self {
            binary: binary.as_ref().to_owned(),
            home: home.path().to_owned(),
            store: home.store(),
            work: home.work(),
        }
    }

    /// Returns the program with these arguments, ready to start.
    ///
    /// Its environment is `PATH`, `HOME`, `OUTLAST_HOME`, `LANG` and the mark of
    /// the home; its stdin is `/dev/null`; it starts in `Home::work`.
    pub fn command<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Command {
        let mut command = Command::new(&self.binary);
        command
            .args(arguments)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", &self.home)
            .env("OUTLAST_HOME", &self.store)
            .env("LANG", "C.UTF-8")
            .env(MARK, &self.home)
            .current_dir(&self.work)
            .stdin(Stdio::null());
        command
    }

    /// Runs the program and returns what it gave, as `capture` does.
    ///
    /// # Panics
    /// Panics where `capture` does.
    #[track_caller]
    pub fn run<A: AsRef<OsStr>>(&self, arguments: &[A]) -> Output {
        capture(self.command(arguments))
    }

    /// Runs the program and returns its standard output, read as one document.
    ///
    /// The exit code may be any: an error is a document too.
    ///
    /// # Panics
    /// Panics when the output is not JSON, and where `capture` does.
    #[track_caller]
    #[expect(clippy::panic, reason = "the test fails, with what was printed")]
    pub fn json<A: AsRef<OsStr>>(&self, arguments: &[A]) -> serde_json::Value {
        let output = self.run(arguments);
        match serde_json::from_slice(&output.stdout_bytes) {
            Ok(value) => value,
            Err(error) => panic!("not JSON ({error}): {output:#?}"),
        }
    }
}

/// Runs `command` until its output is closed and it has ended.
///
/// Both streams are taken; its stdin is as the caller set it.
///
/// # Panics
/// Panics when it cannot be started, and when it, or another process that
/// holds its output, is still there after 90 s.
#[track_caller]
pub fn capture(mut command: Command) -> Output {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the program can be started");
    let deadline = Instant::now() + CALL_LIMIT;
    let stdout = collect(child.stdout.take());
    let stderr = collect(child.stderr.take());

    let stdout_bytes = until(deadline, &stdout);
    let stderr_bytes = until(deadline, &stderr);
    let has_ended = ends_until(deadline, &child);
    if !has_ended {
        child.kill().expect("it is our child");
    }
    let status = child.wait().expect("it is our child");
    assert!(
        has_ended && stdout_bytes.is_some() && stderr_bytes.is_some(),
        "not over after {CALL_LIMIT:?}: {command:?} (ended: {has_ended}, stdout: {stdout_bytes:?}, \
         stderr: {stderr_bytes:?})",
    );
    let stdout_bytes = stdout_bytes.unwrap_or_default();
    Output {
        code: status.code(),
        signal: status.signal(),
        stdout: String::from_utf8_lossy(&stdout_bytes).into_owned(),
        stdout_bytes,
        stderr: String::from_utf8_lossy(&stderr_bytes.unwrap_or_default()).into_owned(),
    }
}

/// Reads a stream on a thread of its own; one that nobody closes cannot hold us.
fn collect(stream: Option<impl Read + Send + 'static>) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    let mut stream = stream.expect("both streams are pipes");
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).expect("a pipe can be read");
        // Nobody listens any more when the call took too long.
        sender.send(bytes).ok();
    });
    receiver
}

fn until(deadline: Instant, bytes: &Receiver<Vec<u8>>) -> Option<Vec<u8>> {
    let left = deadline.saturating_duration_since(Instant::now());
    bytes.recv_timeout(left).ok()
}

fn ends_until(deadline: Instant, child: &Child) -> bool {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pid = pid.expect("a pid is a positive number");
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).expect("it is not reaped yet");
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).expect("the limit is small");
    let mut watched = [PollFd::new(&pidfd, PollFlags::IN)];
    poll(&mut watched, Some(&left)).is_ok_and(|ready| ready == 1)
}

#[cfg(test)]
mod tests;
