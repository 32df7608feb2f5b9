//! Where the program's words go: data on stdout, talk on stderr.
//!
//! Knows which of the two is a terminal and how wide; says nothing by itself.

use crate::{look::Look, surroundings::Surroundings};
use jiff::tz::TimeZone;
use outlast_supervisor::clock;
use rustix::termios;
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;

/// Both streams and how to draw on them.
pub(crate) struct Screen {
    out: io::Stdout,
    /// Whether stdout is a terminal.
    is_terminal: bool,
    /// Whether stderr is one.
    is_talk_terminal: bool,
    is_plain: bool,
    home: Option<std::path::PathBuf>,
}

impl Screen {
    /// Looks at the two streams.
    pub(crate) fn new(surroundings: &Surroundings) -> Self {
        let out = io::stdout();
        Self {
            is_terminal: out.is_terminal(),
            is_talk_terminal: io::stderr().is_terminal(),
            is_plain: surroundings.is_plain,
            home: surroundings.home.clone(),
            out,
        }
    }

    /// Returns how to draw on stdout now.
    pub(crate) fn look(&self) -> Look {
        self.look_at(self.is_terminal, &self.out)
    }

    /// Returns how to draw on stderr now.
    pub(crate) fn talk_look(&self) -> Look {
        self.look_at(self.is_talk_terminal, &io::stderr())
    }

    fn look_at(&self, is_terminal: bool, stream: &impl AsFd) -> Look {
        Look {
            width: is_terminal.then(|| width(stream)).flatten(),
            is_coloured: is_terminal && !self.is_plain,
            now: clock::now(),
            zone: TimeZone::system(),
            home: self.home.clone(),
        }
    }

    /// Returns whether stderr is a terminal, on which a line may be redrawn.
    pub(crate) fn is_talk_terminal(&self) -> bool {
        self.is_talk_terminal
    }

    /// Writes `text` to stdout as it is.
    ///
    /// # Errors
    ///
    /// Fails as `write` does; with `BrokenPipe` when nobody reads.
    pub(crate) fn print(&mut self, text: &str) -> io::Result<()> {
        self.print_bytes(text.as_bytes())
    }

    /// Writes `bytes` to stdout as they are, at once.
    ///
    /// # Errors
    ///
    /// As `print`.
    pub(crate) fn print_bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.flush()
    }

    /// Writes `text` and a newline to stdout.
    ///
    /// # Errors
    ///
    /// As `print`.
    pub(crate) fn print_line(&mut self, text: &str) -> io::Result<()> {
        self.print(&format!("{text}\n"))
    }

    /// Writes one document to stdout: on one line, or indented for a person at a terminal.
    ///
    /// # Errors
    ///
    /// As `print`.
    pub(crate) fn print_json(&mut self, document: &impl Serialize) -> io::Result<()> {
        let text = if self.is_terminal {
            serde_json::to_string_pretty(document)
        } else {
            serde_json::to_string(document)
        };
        self.print_line(&text.map_err(io::Error::from)?)
    }

    /// Writes one document of a stream to stdout, always on one line.
    ///
    /// # Errors
    ///
    /// As `print`.
    pub(crate) fn print_json_line(&mut self, document: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string(document).map_err(io::Error::from)?;
        self.print_line(&text)
    }

    /// Returns stdout itself, for what writes to a writer.
    pub(crate) fn writer(&mut self) -> &mut dyn Write {
        &mut self.out
    }
}

/// Says `text` and a newline on stderr.
///
/// That nobody listens there is no reason to end.
pub(crate) fn talk(text: &str) {
    say(&format!("{text}\n"));
}

/// Writes `bytes` to stderr as they are.
///
/// As `talk`.
pub(crate) fn talk_bytes(bytes: &[u8]) {
    let mut stderr = io::stderr().lock();
    stderr.write_all(bytes).ok();
    stderr.flush().ok();
}

/// Replaces the last line of a terminal on stderr by `text`, without a newline.
pub(crate) fn redraw(text: &str) {
    say(&format!("\r{text}\x1b[K"));
}

fn say(text: &str) {
    let mut stderr = io::stderr().lock();
    stderr.write_all(text.as_bytes()).ok();
    stderr.flush().ok();
}

fn width(stream: &impl AsFd) -> Option<usize> {
    let size = termios::tcgetwinsize(stream).ok()?;
    // Some terminals say 0 when they do not know.
    Some(usize::from(size.ws_col)).filter(|width| *width > 0)
}
