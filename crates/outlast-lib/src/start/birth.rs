//! A run that is being born: its folder is hidden, its lock held, its places taken.

use super::{StartError, ancestry::Parent, discard, keys, pools, private_dirs};
use crate::Store;
use outlast_journal::control::Answer;
use outlast_journal::{Checked, Pool, Queue, Request, RunId, Shell, Spec, Timestamp, names};
use outlast_supervisor::launch::{self, Launch, LaunchError, Supervisor};
use outlast_supervisor::{clock, fault, fsio, lock, places};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;

/// A birth; dropped before the run is shown, it leaves nothing behind.
pub(super) struct Birth {
    pub(super) id: RunId,
    pub(super) created: Timestamp,
    hidden: PathBuf,
    pub(super) visible: PathBuf,
    pub(super) lock: File,
    pub(super) places: Vec<File>,
    pub(super) ticket: Option<File>,
    pub(super) queue: Option<Queue>,
    pub(super) shell: Option<Shell>,
    pub(super) has_command_file: bool,
    /// The words to execute, where the spec has them masked.
    pub(super) words: Vec<String>,
    ticket_path: Option<PathBuf>,
    is_shown: bool,
}

impl Birth {
    /// Makes the hidden folder of a new run and takes its lock.
    pub(super) fn begin(store: &Store) -> Result<Self, StartError> {
        let mut bits = [0; 10];
        getrandom::fill(&mut bits).map_err(|_| StartError::NoRandom)?;
        let (id, created) = (RunId::from_bits(bits), clock::now());
        let month = store.root().join(names::RUNS).join(created.month());
        let hidden = month.join(names::hidden(&id));
        match fsio::make_private_dir(&hidden) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                private_dirs(&month)?;
                fsio::make_private_dir(&hidden).map_err(folder)?;
            }
            other => other.map_err(folder)?,
        }
        let lock = fsio::open_private(&hidden.join(names::LOCK)).map_err(|error| {
            discard(&hidden);
            StartError::store("the run's lock", Some(error))
        })?;
        let birth = Self {
            id,
            created,
            visible: month.join(id.as_str()),
            hidden,
            lock,
            places: Vec::new(),
            ticket: None,
            queue: None,
            shell: None,
            has_command_file: false,
            words: Vec::new(),
            ticket_path: None,
            is_shown: false,
        };
        let is_taken =
            lock::try_lock(&birth.lock).map_err(|source| StartError::NoLocks { source })?;
        assert!(is_taken, "nobody else knows the folder of a run being born");
        fault::point("born");
        Ok(birth)
    }

    /// Takes a place of each pool, or a ticket when the run may wait and has to.
    pub(super) fn take_places(
        &mut self,
        store: &Store,
        request: &Request,
        checked: &Checked,
        pools: &[Pool],
        parent: Option<&Parent>,
    ) -> Result<(), StartError> {
        let holder = format!("{}/{}/{}", names::RUNS, self.created.month(), self.id);
        let dir = store.root().join(names::PLACES);
        if let Some(parent) = parent {
            let pool = pools::of_root(store, parent);
            let place = places::take(&dir.join(&pool.name), pool.places_max, &holder);
            let place = place.map_err(|error| StartError::store("a place", Some(error)))?;
            self.places
                .push(place.ok_or(StartError::DescendantsExceeded {
                    root: parent.root,
                    descendants_max: pool.places_max,
                })?);
        }
        let queue_name = pools::queue_name(request);
        if request.is_queued && pools::has_waiters(store, &queue_name) {
            return self.take_ticket(store, queue_name, checked, &holder);
        }
        let before = self.places.len();
        for pool in pools {
            let place = places::take(&dir.join(&pool.name), pool.places_max, &holder);
            match place.map_err(|error| StartError::store("a place", Some(error)))? {
                Some(place) => self.places.push(place),
                None if request.is_queued => {
                    self.places.truncate(before);
                    return self.take_ticket(store, queue_name, checked, &holder);
                }
                None => return Err(pools::at_capacity(store, request, pool)),
            }
        }
        Ok(())
    }

    /// Takes the next number of a queue. The ticket is locked before it can be seen.
    fn take_ticket(
        &mut self,
        store: &Store,
        name: String,
        checked: &Checked,
        holder: &str,
    ) -> Result<(), StartError> {
        let failed = |error| StartError::store("a ticket", Some(error));
        let dir = store.root().join(names::QUEUE).join(&name);
        private_dirs(&dir)?;
        let hidden = dir.join(names::hidden(&self.id));
        let mut file = fsio::open_private(&hidden).map_err(failed)?;
        let written = file
            .write_all(holder.as_bytes())
            .and_then(|()| lock::try_lock(&file));
        let mut ticket = pools::last_ticket(&dir) + 1;
        let linked = written.and_then(|_| {
            loop {
                match fs::hard_link(&hidden, dir.join(ticket.to_string())) {
                    Err(error) if error.kind() == io::ErrorKind::AlreadyExists => ticket += 1,
                    other => return other,
                }
            }
        });
        fs::remove_file(&hidden).ok();
        linked.map_err(failed)?;
        self.ticket_path = Some(dir.join(ticket.to_string()));
        self.ticket = Some(file);
        self.queue = Some(Queue {
            name,
            ticket,
            wait_ms: checked.queue_ms,
        });
        Ok(())
    }

    /// Writes a shell text into the run's folder; returns the path that it will have.
    pub(super) fn write_command(&mut self, text: &str) -> Result<String, StartError> {
        fsio::write_new(&self.hidden.join(names::COMMAND_TEXT), text.as_bytes())
            .map_err(|error| StartError::store("the command's text", Some(error)))?;
        self.has_command_file = true;
        Ok(self
            .visible
            .join(names::COMMAND_TEXT)
            .to_string_lossy()
            .into_owned())
    }

    /// Writes what was bound.
    pub(super) fn write_spec(&self, spec: &Spec) -> Result<(), StartError> {
        fsio::write_new(&self.hidden.join(names::SPEC), spec.to_json().as_bytes())
            .map_err(|error| StartError::store("the run's spec", Some(error)))?;
        fault::point("spec_written");
        Ok(())
    }

    /// Lists the run among the births, then lets it be seen.
    ///
    /// In this order, so that no visible run is missing from the list.
    pub(super) fn show(&mut self, store: &Store) -> Result<(), StartError> {
        let failed = |error| StartError::store("the list of births", Some(error));
        let mut births = fsio::open_append(&store.root().join(names::BIRTHS)).map_err(failed)?;
        births
            .write_all(format!("{}\n", self.id).as_bytes())
            .map_err(failed)?;
        fault::point("listed");
        fs::rename(&self.hidden, &self.visible).map_err(folder)?;
        self.is_shown = true;
        fault::point("shown");
        Ok(())
    }

    /// Hands the run to its supervisor and waits for the answer.
    pub(super) fn launch(
        &self,
        supervisor: Supervisor,
        environment: &[(OsString, OsString)],
    ) -> Result<Answer, LaunchError> {
        supervisor.launch(&Launch {
            words: &self.words,
            environment,
            lock: self.lock.as_fd(),
            ticket: self.ticket.as_ref().map(AsFd::as_fd),
            places: &launch::borrowed(&self.places),
        })
    }

    /// Takes back the link of a key whose run is not to be.
    pub(super) fn forget_key(&self, store: &Store, key: Option<&str>) {
        if let Some(key) = key {
            keys::forget(store, key, &self.id);
        }
    }

    /// Takes back a run that was shown and did not begin.
    pub(super) fn unbear(mut self, store: &Store, key: Option<&str>) {
        let gone = self.visible.with_file_name(names::removed(&self.id));
        if fs::rename(&self.visible, &gone).is_ok() {
            discard(&gone);
        }
        self.forget_key(store, key);
        self.is_shown = false;
    }
}

impl Drop for Birth {
    fn drop(&mut self) {
        if self.is_shown {
            return;
        }
        discard(&self.hidden);
        if let Some(ticket) = &self.ticket_path {
            fs::remove_file(ticket).ok();
        }
    }
}

fn folder(error: io::Error) -> StartError {
    StartError::store("the run's folder", Some(error))
}
