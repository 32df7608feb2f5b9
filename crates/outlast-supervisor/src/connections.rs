//! The connections of one supervisor: who listens, who waits for a cancel, who sends input.
//!
//! Nobody here can hold the supervisor up: every socket is non-blocking, what is
//! read is bounded, and a client that does not read is dropped.

use crate::platform::{self, poll::Watch};
use outlast_journal::control::{Answer, Ask, HINT_ENDED};
use outlast_journal::{StopCause, limits, names};
use std::io;
use std::os::fd::AsRawFd;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

/// What a client wants that only the run loop can do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CancelAsked {
    /// Why.
    pub(crate) cause: StopCause,
    /// Milliseconds until KILL, if the client said.
    pub(crate) grace_ms: Option<u64>,
    /// Who asks.
    pub(crate) by: Option<String>,
}

/// What was asked on a connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A stop, which was answered already.
    Cancel(CancelAsked),
    /// Words for an agent run; whoever asks waits for `reply`.
    Words {
        /// The connection.
        from: u64,
        /// An answer or an input.
        ask: Ask,
    },
}

#[derive(Debug, PartialEq, Eq)]
enum Role {
    /// It has not asked yet.
    New,
    /// It gets hints.
    Subscriber { output: bool },
    /// It waits until the tree is gone.
    Cancels,
    /// It waits to be told what came of its words.
    Waits,
    /// It sends input: bytes still to come, bytes that stdin took.
    Sends {
        missing: usize,
        accepted: usize,
        eof: bool,
        give_up_at: u64,
    },
}

struct Connection {
    number: u64,
    stream: UnixStream,
    role: Role,
    input: Vec<u8>,
    is_closed: bool,
}

/// All connections, and the socket on which they come.
pub(crate) struct Connections {
    listener: UnixListener,
    open: Vec<Connection>,
    /// How many came so far.
    numbers: u64,
    stdin: Option<OwnedFd>,
    had_stdin: bool,
    has_ended: bool,
}

impl Connections {
    /// Makes the control socket of the run in `run_dir`.
    pub(crate) fn bind(run_dir: &Path) -> io::Result<Self> {
        let dir = std::fs::File::open(run_dir)?;
        // By a descriptor, since a socket's path may have 107 bytes only.
        let short = format!("/proc/self/fd/{}/{}", dir.as_raw_fd(), names::CONTROL);
        let listener = UnixListener::bind(short)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            open: Vec::new(),
            numbers: 0,
            stdin: None,
            had_stdin: false,
            has_ended: false,
        })
    }

    /// Takes the pipe that leads to the run's stdin.
    pub(crate) fn set_stdin(&mut self, stdin: OwnedFd) {
        self.stdin = Some(stdin);
        self.had_stdin = true;
    }

    /// Adds what is to be watched: the listener, stdin while input waits, each connection.
    pub(crate) fn watch(&self, watches: &mut Vec<Watch>) {
        watches.push(Watch::read(self.listener.as_fd()));
        if let (Some(stdin), true) = (&self.stdin, self.has_input_waiting()) {
            watches.push(Watch::write(stdin.as_fd()));
        }
        watches.extend(self.open.iter().map(|one| Watch::read(one.stream.as_fd())));
    }

    /// Returns when a sender is to be told how far it came, if one waits.
    pub(crate) fn next_due(&self) -> Option<u64> {
        let due = self.open.iter().filter_map(|one| match one.role {
            Role::Sends { give_up_at, .. } => Some(give_up_at),
            Role::New | Role::Subscriber { .. } | Role::Cancels | Role::Waits => None,
        });
        due.min()
    }

    /// Whether somebody wants a hint when output comes.
    pub(crate) fn wants_output(&self) -> bool {
        self.open
            .iter()
            .any(|one| one.role == Role::Subscriber { output: true })
    }

    /// Serves as `serve` does while there is nobody yet who could hear words; returns the cancels.
    pub(crate) fn serve_cancels(&mut self, now: u64) -> Vec<CancelAsked> {
        let mut cancels = Vec::new();
        for asked in self.serve(now) {
            match asked {
                Asked::Cancel(cancel) => cancels.push(cancel),
                Asked::Words { from, .. } => {
                    let message = "the run has not begun".to_owned();
                    self.reply(from, &Answer::error("not_begun", message));
                }
            }
        }
        cancels
    }

    /// Tells who asked on a connection what came of it, and closes it.
    pub(crate) fn reply(&mut self, to: u64, answer: &Answer) {
        if let Some(connection) = self.open.iter_mut().find(|one| one.number == to) {
            connection.answer(answer);
            connection.is_closed = true;
        }
        self.sweep();
    }

    /// Takes new connections and all that came on the old ones; returns what was asked for.
    pub(crate) fn serve(&mut self, now: u64) -> Vec<Asked> {
        while let Ok((stream, _)) = self.listener.accept() {
            let is_full = self.open.len() >= limits::CONNECTIONS_MAX;
            if !is_full && stream.set_nonblocking(true).is_ok() {
                self.numbers += 1;
                self.open.push(Connection {
                    number: self.numbers,
                    stream,
                    role: Role::New,
                    input: Vec::new(),
                    is_closed: false,
                });
            }
        }
        let mut asked = Vec::new();
        let listens = |one: &Connection| matches!(one.role, Role::Subscriber { .. });
        let mut listeners = self.open.iter().filter(|one| listens(one)).count();
        for connection in &mut self.open {
            let was_new = connection.role == Role::New;
            connection.read();
            let has_room = listeners < limits::SUBSCRIBERS_MAX;
            connection.take_asks(now, (self.had_stdin, has_room), &mut asked);
            // Who comes after the end was told would wait for it as long as leftovers live.
            let listens = listens(connection);
            listeners += usize::from(was_new && listens);
            if was_new && listens && self.has_ended {
                connection.send_hint(HINT_ENDED);
            }
            connection.feed(&mut self.stdin, now);
            connection.is_closed |= connection.is_over_full();
        }
        self.sweep();
        asked
    }

    /// Sends a hint to every subscriber that wants it.
    pub(crate) fn hint(&mut self, hint: u8, is_output: bool) {
        self.has_ended |= hint == HINT_ENDED;
        for connection in &mut self.open {
            match connection.role {
                Role::Subscriber { output } if output || !is_output => connection.send_hint(hint),
                Role::Subscriber { .. }
                | Role::New
                | Role::Cancels
                | Role::Waits
                | Role::Sends { .. } => {}
            }
        }
        self.sweep();
    }

    /// Answers those who cancelled, for the last time.
    pub(crate) fn tell_cancelled(&mut self, leftovers_stopped: u64) {
        let answer = Answer {
            done: Some(true),
            leftovers_stopped: Some(leftovers_stopped),
            ..Answer::ok()
        };
        for connection in &mut self.open {
            if connection.role == Role::Cancels {
                connection.answer(&answer);
                connection.is_closed = true;
            }
        }
        self.sweep();
    }

    /// Closes stdin: the main process is gone.
    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    fn has_input_waiting(&self) -> bool {
        let sends = |one: &Connection| matches!(one.role, Role::Sends { .. });
        self.open
            .iter()
            .any(|one| sends(one) && !one.input.is_empty())
    }

    fn sweep(&mut self) {
        self.open.retain(|one| !one.is_closed);
    }
}

impl Connection {
    /// Reads what came, at most one message's worth.
    fn read(&mut self) {
        let mut buffer = [0; limits::CONTROL_LINE_BYTES_MAX];
        while self.input.len() < limits::CONTROL_TEXT_BYTES_MAX + limits::CONTROL_LINE_BYTES_MAX {
            match platform::file::read(&self.stream, &mut buffer) {
                Ok(0) => {
                    self.is_closed = true;
                    return;
                }
                Ok(read) => self.input.extend(buffer.get(..read).unwrap_or_default()),
                Err(error) => {
                    self.is_closed |= error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            }
        }
    }

    /// Acts on each whole message; a closed connection's last words still count.
    ///
    /// A subscriber for whom there is no room is closed without an answer.
    fn take_asks(&mut self, now: u64, (had_stdin, has_room): (bool, bool), asked: &mut Vec<Asked>) {
        while self.role == Role::New {
            let Some(end) = self.input.iter().position(|byte| *byte == b'\n') else {
                return;
            };
            let line: Vec<u8> = self.input.drain(..=end).collect();
            match Ask::from_bytes(line.get(..end).unwrap_or_default()) {
                Ok(Ask::Cancel {
                    cause,
                    grace_ms,
                    by,
                }) => {
                    self.answer(&Answer::ok());
                    self.role = Role::Cancels;
                    asked.push(Asked::Cancel(CancelAsked {
                        cause,
                        grace_ms,
                        by,
                    }));
                }
                Ok(ask @ (Ask::Answer { .. } | Ask::Input { .. })) => {
                    self.role = Role::Waits;
                    let from = self.number;
                    asked.push(Asked::Words { from, ask });
                }
                Ok(Ask::Subscribe { .. }) if !has_room => {
                    self.role = Role::Cancels;
                    self.is_closed = true;
                }
                Ok(Ask::Subscribe { output }) => {
                    self.answer(&Answer::ok());
                    self.role = Role::Subscriber { output };
                }
                Ok(Ask::Send { .. }) if !had_stdin => {
                    let message = "the run was started without an open stdin".to_owned();
                    self.refuse("no_stdin", message);
                }
                Ok(Ask::Send { bytes, .. }) if bytes > limits::SEND_BYTES_MAX => {
                    let most = limits::SEND_BYTES_MAX;
                    let message = format!("{bytes} bytes in one message and the limit is {most}");
                    self.refuse("too_long", message);
                }
                Ok(Ask::Send { bytes, eof }) => {
                    self.role = Role::Sends {
                        missing: bytes,
                        accepted: 0,
                        eof,
                        give_up_at: now + limits::SEND_WAIT_MS,
                    };
                }
                Ok(_) | Err(_) => {
                    self.refuse("bad_message", "the message is not understood".to_owned());
                }
            }
        }
    }

    /// Moves input on to stdin as far as it takes it, and answers when that is settled.
    fn feed(&mut self, stdin: &mut Option<OwnedFd>, now: u64) {
        let Role::Sends {
            missing,
            accepted,
            eof,
            give_up_at,
        } = &mut self.role
        else {
            return;
        };
        let mut is_stuck = false;
        while let (true, Some(pipe)) = (*missing > 0 && !is_stuck, stdin.as_ref()) {
            let ready = self.input.len().min(*missing);
            if ready == 0 {
                break;
            }
            match platform::file::write(pipe, self.input.get(..ready).unwrap_or_default()) {
                Ok(taken) => {
                    self.input.drain(..taken);
                    *missing -= taken;
                    *accepted += taken;
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => is_stuck = true,
                Err(_) => *stdin = None,
            }
        }
        let is_done = *missing == 0 || stdin.is_none() || now >= *give_up_at || self.is_closed;
        if !is_done {
            return;
        }
        let was_open = stdin.is_some();
        let mut answer = Answer {
            accepted_bytes: Some(*accepted),
            ..Answer::ok()
        };
        if *missing > 0 && !was_open {
            answer = Answer {
                accepted_bytes: Some(*accepted),
                ..Answer::error("stdin_closed", "the run has closed its stdin".to_owned())
            };
        }
        if *eof && *missing == 0 {
            *stdin = None;
        }
        self.answer(&answer);
        self.is_closed = true;
    }

    fn refuse(&mut self, code: &str, message: String) {
        self.answer(&Answer::error(code, message));
        self.role = Role::Cancels;
        self.is_closed = true;
    }

    fn answer(&mut self, answer: &Answer) {
        let bytes = answer.to_bytes();
        // The socket's buffer is empty or the client does not read: no half answers.
        let sent = platform::socket::send(&self.stream, &bytes, &[]);
        self.is_closed |= sent.ok() != Some(bytes.len());
    }

    fn send_hint(&mut self, hint: u8) {
        match platform::socket::send(&self.stream, &[hint], &[]) {
            Ok(_) => {}
            // Unread hints are waiting there already.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => self.is_closed = true,
        }
    }

    /// Whether a client has sent more than any message has.
    fn is_over_full(&self) -> bool {
        match self.role {
            Role::New => self.input.len() >= limits::CONTROL_TEXT_BYTES_MAX,
            Role::Subscriber { .. } | Role::Cancels | Role::Waits => !self.input.is_empty(),
            Role::Sends { missing, .. } => self.input.len() > missing,
        }
    }
}

#[cfg(test)]
mod tests;
