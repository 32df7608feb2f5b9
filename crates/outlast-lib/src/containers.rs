//! Takes away containers whose supervisor died together with what talked to their engine.
//!
//! Two requests over the engine's unix socket are all of it, so nothing more of
//! HTTP is here than they need. An engine that does not answer is passed over.

use outlast_journal::{RunId, limits};
use outlast_supervisor::{clock, owner};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, connect, socket, sockopt};
use serde::Deserialize;
use std::collections::{BTreeSet, HashMap};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// What an engine says of one container.
#[derive(Deserialize)]
struct Listed {
    #[serde(rename = "Id")]
    id: String,
    #[serde(rename = "Labels", default)]
    labels: HashMap<String, String>,
    #[serde(rename = "State", default)]
    state: String,
}

/// What was taken away.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cleared {
    /// Containers.
    pub(crate) all: usize,
    /// Those of them whose command was still executed.
    pub(crate) running: usize,
}

/// Takes the container of one run away, of which the caller knows that nobody looks after it.
pub(crate) fn clear_run(places: &[String], id: &RunId) -> Cleared {
    let label = format!("{}={id}", owner::RUN_LABEL);
    let mut cleared = Cleared::default();
    for place in places {
        cleared.add(clear(place, &label, |_| true));
    }
    cleared
}

/// Returns whether an engine has a container of this run.
pub(crate) fn has_run(places: &[String], id: &RunId) -> bool {
    let label = format!("{}={id}", owner::RUN_LABEL);
    let has = |place: &String| {
        let listed = Engine::at(place).list(&label);
        listed.is_ok_and(|listed| !listed.is_empty())
    };
    places.iter().any(has)
}

/// Takes those away whose supervisor is known to be dead, at most `ENGINE_SWEEP_MAX` an engine.
pub(crate) fn clear_dead(places: &BTreeSet<String>) -> Cleared {
    let mut cleared = Cleared::default();
    for place in places {
        cleared.add(clear(place, owner::RUN_LABEL, |one| {
            let label = one.labels.get(owner::LABEL);
            label.is_some_and(|label| owner::is_dead(label))
        }));
    }
    cleared
}

impl Cleared {
    fn add(&mut self, other: Self) {
        self.all += other.all;
        self.running += other.running;
    }
}

/// Takes away what of this label is meant, at one place.
fn clear(place: &str, label: &str, is_meant: impl Fn(&Listed) -> bool) -> Cleared {
    let engine = Engine::at(place);
    let mut cleared = Cleared::default();
    let listed = engine.list(label).unwrap_or_default().into_iter();
    for one in listed.filter(is_meant).take(limits::ENGINE_SWEEP_MAX) {
        if engine.remove(&one.id).is_ok() {
            cleared.all += 1;
            cleared.running += usize::from(one.state == "running");
        }
    }
    cleared
}

/// An engine that is asked until a time.
struct Engine<'a> {
    path: &'a str,
    until_ms: u64,
}

impl<'a> Engine<'a> {
    fn at(place: &'a str) -> Self {
        Self {
            path: place.strip_prefix("unix://").unwrap_or(place),
            until_ms: clock::monotonic_ms() + limits::ENGINE_CLEAR_MS,
        }
    }

    fn list(&self, label: &str) -> io::Result<Vec<Listed>> {
        // In a URL, of what JSON needs only quotes and brackets have to be written otherwise.
        let filter = format!("%7B%22label%22%3A%5B%22{label}%22%5D%7D");
        let path = format!("/containers/json?all=true&filters={filter}");
        Ok(serde_json::from_str(&self.ask("GET", &path)?)?)
    }

    fn remove(&self, id: &str) -> io::Result<()> {
        let is_plain = id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_plain {
            return Err(ErrorKind::InvalidData.into());
        }
        self.ask("DELETE", &format!("/containers/{id}?force=true&v=true"))?;
        Ok(())
    }

    /// Returns the body of an answer that says that all went well.
    fn ask(&self, method: &str, path: &str) -> io::Result<String> {
        let mut stream = self.connect()?;
        let asked = format!("{method} {path} HTTP/1.0\r\nHost: engine\r\n\r\n");
        stream.write_all(asked.as_bytes())?;
        let mut answer = Vec::new();
        let mut piece = [0; 16 * 1024];
        loop {
            stream.set_read_timeout(Some(self.left()?))?;
            let count = stream.read(&mut piece)?;
            if count == 0 {
                break;
            }
            answer.extend(piece.iter().take(count));
            if answer.len() > limits::ENGINE_LIST_BYTES {
                return Err(ErrorKind::FileTooLarge.into());
            }
        }
        let answer = String::from_utf8_lossy(&answer);
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_default();
        match head.split(' ').nth(1) {
            Some("200" | "204") => Ok(body.to_owned()),
            Some(_) | None => Err(ErrorKind::InvalidData.into()),
        }
    }

    fn connect(&self) -> io::Result<UnixStream> {
        let address = SocketAddrUnix::new(self.path)?;
        let made = socket(AddressFamily::UNIX, SocketType::STREAM, None)?;
        rustix::io::fcntl_setfd(&made, rustix::io::FdFlags::CLOEXEC)?;
        // It bounds the wait for an engine whose queue is full, too.
        sockopt::set_socket_timeout(&made, sockopt::Timeout::Send, Some(self.left()?))?;
        connect(&made, &address)?;
        Ok(UnixStream::from(made))
    }

    fn left(&self) -> io::Result<Duration> {
        let left_ms = self.until_ms.saturating_sub(clock::monotonic_ms());
        if left_ms == 0 {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(Duration::from_millis(left_ms))
    }
}

#[cfg(test)]
mod tests;
