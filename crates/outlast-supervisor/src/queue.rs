//! A queued run: its supervisor lives already and waits for its turn and its places.
//!
//! It listens to the run before it in the queue, or, when it is first, to those
//! that hold its places. A hint or an end of file is a reason to look again, and
//! so is a slow timer, for the holder that nobody could listen to.

use crate::platform::poll::{self, Watch, is_ready};
use crate::supervise::Owned;
use crate::{client, clock, lock, places, platform, process};
use outlast_journal::control::Ask;
use outlast_journal::{Fact, Note, Queue, Stop, StopCause, limits, names};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

/// How the waiting ended.
pub(crate) enum Waited {
    /// The run may execute; its places are in `Owned`.
    HasPlaces,
    /// The run was stopped.
    Stopped(StopCause),
}

/// Whom a queued run waits for.
#[derive(PartialEq, Eq)]
enum Turn {
    /// Runs that leave first, or hold what is needed: their directories.
    Others(Vec<PathBuf>),
    /// Nobody.
    Now,
}

struct Waiting<'a> {
    owned: &'a mut Owned,
    queue: &'a Queue,
    deadline: Option<OwnedFd>,
    holder: Option<OwnedFd>,
    give_up_at: Option<u64>,
}

/// Waits until the run has all its places or is stopped. Gives the ticket back in both cases.
pub(crate) fn wait(owned: &mut Owned, queue: &Queue, ticket: OwnedFd) -> io::Result<Waited> {
    let deadline = owned.spec.deadline;
    let deadline = deadline.map(|at| platform::clock::wall_timer(at.unix_ms()));
    let holder = owned.spec.holder;
    let mut waiting = Waiting {
        deadline: deadline.transpose()?,
        holder: holder.and_then(|holder| platform::pidfd::open(holder.pid).ok()),
        give_up_at: queue.wait_ms.map(|ms| owned.claimed_ms.saturating_add(ms)),
        owned,
        queue,
    };
    let is_orphan = holder.is_some_and(|holder| !process::is_alive(holder));
    let waited = if is_orphan {
        waiting.stopped(StopCause::Session, None)
    } else {
        waiting.run()?
    };
    let path = tickets_dir(&waiting.owned.run_dir, queue).join(queue.ticket.to_string());
    fs::remove_file(path).ok();
    drop(ticket);
    Ok(waited)
}

fn store_dir(run_dir: &Path) -> &Path {
    run_dir.ancestors().nth(3).unwrap_or(run_dir)
}

fn tickets_dir(run_dir: &Path, queue: &Queue) -> PathBuf {
    store_dir(run_dir).join(names::QUEUE).join(&queue.name)
}

impl Waiting<'_> {
    fn run(&mut self) -> io::Result<Waited> {
        loop {
            let Turn::Others(first_look) = self.turn()? else {
                return Ok(Waited::HasPlaces);
            };
            let listening: Vec<UnixStream> =
                first_look.iter().filter_map(|dir| listen(dir)).collect();
            // Whoever left between the look and the listening would not be heard again.
            match self.turn()? {
                Turn::Now => return Ok(Waited::HasPlaces),
                Turn::Others(second_look) if second_look != first_look => continue,
                Turn::Others(_) => {}
            }
            if let Some(stopped) = self.sleep(listening)? {
                return Ok(stopped);
            }
        }
    }

    /// Looks whose turn it is, and takes the places if it is ours.
    fn turn(&mut self) -> io::Result<Turn> {
        let store = store_dir(&self.owned.run_dir).to_owned();
        let mut before: Option<(u64, PathBuf)> = None;
        for entry in fs::read_dir(tickets_dir(&self.owned.run_dir, self.queue))? {
            let path = entry?.path();
            let number = path
                .file_name()
                .and_then(|name| name.to_str()?.parse::<u64>().ok());
            let Some(number) = number.filter(|number| *number < self.queue.ticket) else {
                continue;
            };
            let is_nearer = before.as_ref().is_none_or(|(best, _)| number > *best);
            let is_held =
                File::open(&path).is_ok_and(|file| lock::is_locked(&file).unwrap_or(true));
            if is_nearer && is_held {
                before = Some((number, path));
            }
        }
        if let Some((_, ticket)) = before {
            let run = fs::read_to_string(ticket).unwrap_or_default();
            return Ok(Turn::Others(vec![store.join(run.trim())]));
        }
        self.take_places(&store)
    }

    fn take_places(&mut self, store: &Path) -> io::Result<Turn> {
        let holder = self
            .owned
            .run_dir
            .strip_prefix(store)
            .unwrap_or(&self.owned.run_dir);
        let holder = holder.to_string_lossy().into_owned();
        let mut taken = Vec::new();
        for pool in &self.owned.spec.pools {
            let dir = store.join(names::PLACES).join(&pool.name);
            let Some(place) = places::take(&dir, pool.places_max, &holder)? else {
                let holders = places::holders(&dir, pool.places_max)?;
                let holders = holders.iter().take(limits::QUEUE_HOLDERS_MAX);
                return Ok(Turn::Others(
                    holders.map(|run| store.join(run.trim())).collect(),
                ));
            };
            taken.push(OwnedFd::from(place));
        }
        self.owned.places.extend(taken);
        Ok(Turn::Now)
    }

    /// Waits for a reason to look again; returns how the run was stopped, if it was.
    fn sleep(&mut self, mut listening: Vec<UnixStream>) -> io::Result<Option<Waited>> {
        let look_at = clock::monotonic_ms() + limits::QUEUE_LOOK_MS;
        loop {
            let mut watches = vec![Watch::read(self.owned.signals.as_fd())];
            let fixed = [&self.deadline, &self.holder].into_iter().flatten();
            watches.extend(fixed.map(|one| Watch::read(one.as_fd())));
            watches.extend(listening.iter().map(|one| Watch::read(one.as_fd())));
            self.owned.connections.watch(&mut watches);
            let now = clock::monotonic_ms();
            let due = look_at.min(self.give_up_at.unwrap_or(u64::MAX));
            poll::poll(&mut watches, Some(due.saturating_sub(now)))?;
            let now = clock::monotonic_ms();
            if let Some(stopped) = self.stop_asked(now)? {
                return Ok(Some(stopped));
            }
            if now >= look_at || listening.iter_mut().any(has_news) {
                return Ok(None);
            }
        }
    }

    fn stop_asked(&mut self, now: u64) -> io::Result<Option<Waited>> {
        while let Some(came) = platform::signal::next(&self.owned.signals) {
            if came.signal != libc::SIGCHLD {
                return Ok(Some(self.stopped(StopCause::Host, None)));
            }
        }
        if let Some(asked) = self.owned.connections.serve_cancels(now).into_iter().next() {
            return Ok(Some(self.stopped(asked.cause, asked.by)));
        }
        if is_ready(self.deadline.as_ref())? {
            return Ok(Some(self.stopped(StopCause::Deadline, None)));
        }
        if is_ready(self.holder.as_ref())? {
            return Ok(Some(self.stopped(StopCause::Session, None)));
        }
        let is_late = self.give_up_at.is_some_and(|at| now >= at);
        Ok(is_late.then(|| self.stopped(StopCause::QueueLimit, None)))
    }

    fn stopped(&mut self, cause: StopCause, by: Option<String>) -> Waited {
        let note = Note {
            stop: Some(Stop {
                cause,
                grace_ms: 0,
                by,
            }),
            ..Note::default()
        };
        self.owned.journal.append(&Fact::Note(note)).ok();
        Waited::Stopped(cause)
    }
}

/// Subscribes to the run in `run_dir`; `None` when its supervisor cannot be reached.
fn listen(run_dir: &Path) -> Option<UnixStream> {
    let mut stream = client::connect(run_dir).ok()?;
    let ask = Ask::Subscribe { output: false };
    stream.write_all(&ask.to_bytes()).ok()?;
    stream.set_nonblocking(true).ok()?;
    Some(stream)
}

/// Reads what came; true for a hint or the end, not for the answer to the subscription.
fn has_news(stream: &mut UnixStream) -> bool {
    let mut buffer = [0; 256];
    match stream.read(&mut buffer) {
        Ok(0) => true,
        Ok(read) => {
            let came = buffer.get(..read).unwrap_or_default();
            !came.ends_with(b"\n")
        }
        Err(error) => error.kind() != io::ErrorKind::WouldBlock,
    }
}
