//! Ends that a session was not told of yet, and the notes that it was.
//!
//! The note is an empty file in the run's directory, so that any process can
//! make it and it goes with the run. The index mirrors it.

use crate::index::{self, Filter, Told};
use crate::{ReadError, Store, list, read};
use outlast_journal::{Record, RunId, ShortRecord, State, mask, names};
use outlast_supervisor::fsio;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Whose ends are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoticeScope {
    /// Those of this session's runs that it was not told of.
    Session(String),
    /// Those of this project's runs that no session was told of.
    Project(String),
}

impl NoticeScope {
    fn has(&self, record: &Record) -> bool {
        record.status.is_ended()
            && match self {
                Self::Session(session) => record.session.as_ref() == Some(session),
                Self::Project(project) => record.project == *project,
            }
    }

    fn is_untold(&self, told: Told) -> bool {
        match self {
            Self::Session(_) => !told.own,
            Self::Project(_) => !told.any,
        }
    }
}

impl Store {
    /// Returns ended runs that were not told of yet, newest first, at most `limit`.
    ///
    /// To look is not to be told: they come again until [`Self::acknowledge`].
    ///
    /// # Errors
    ///
    /// Fails as [`Self::list`] does.
    pub fn notices(
        &self,
        scope: &NoticeScope,
        limit: usize,
    ) -> Result<Vec<ShortRecord>, ReadError> {
        let indexed = index::with_index(self, &mut Vec::new(), |index| {
            let fresh = index.sync(self)?;
            let read: HashSet<RunId> = fresh.runs.iter().map(|run| run.id).collect();
            // An end that was just seen comes with its record.
            let records = fresh.runs.into_iter().filter_map(|run| run.record);
            let mut untold: Vec<Record> = records
                .map(|record| *record)
                .filter(|record| scope.has(record) && self.is_untold(record, scope))
                .collect();
            let (of_session, name) = match scope {
                NoticeScope::Session(session) => (true, session),
                NoticeScope::Project(project) => (false, project),
            };
            let mut missed = Vec::new();
            let mut found = 0;
            index.untold(of_session, name, |stored| {
                let dir = list::dir_of(self, &stored);
                if read.contains(&stored.id) || !dir.exists() {
                    return Ok(found < limit);
                }
                let record = index.record(&stored)?;
                let told = told(&dir, record.session.as_deref());
                if scope.is_untold(told) {
                    untold.push(record);
                    found += 1;
                } else {
                    missed.push((stored.id, told));
                }
                Ok(found < limit)
            })?;
            for (id, told) in missed {
                index.tell(&id, told)?;
            }
            Ok(untold)
        });
        let mut untold = if let Some(untold) = indexed {
            untold
        } else {
            let all = self.read_all(&Filter::default(), usize::MAX)?.records;
            all.into_iter()
                .filter(|record| scope.has(record) && self.is_untold(record, scope))
                .collect()
        };
        untold.sort_by_key(|record| Reverse((record.updated, record.id)));
        untold.truncate(limit);
        Ok(untold.iter().map(Record::short).collect())
    }

    /// Notes that `session` was told of the ends of `ids`, so that it is not told again.
    ///
    /// The notes are on disk when this returns. Once more does nothing more. A run that is
    /// gone, or has not ended, is passed over.
    ///
    /// # Errors
    ///
    /// Fails when a note cannot be made; those of other runs may have been.
    pub fn acknowledge(&self, ids: &[RunId], session: &str) -> io::Result<()> {
        let mut noted = Vec::new();
        for id in ids {
            let Some(dir) = self.run_dir(id) else {
                continue;
            };
            let journal = read::read_journal(&dir).map_err(io::Error::other)?;
            if State::fold(&journal).is_ended() {
                note(&dir, session)?;
                noted.push((*id, dir));
            }
        }
        if noted.is_empty() {
            return Ok(());
        }
        index::with_index(self, &mut Vec::new(), |index| {
            noted.iter().try_for_each(|(id, dir)| {
                let spec = read::read_spec(dir, id).ok();
                let own = spec.and_then(|spec| spec.session);
                index.tell(id, told(dir, own.as_deref()))
            })
        });
        Ok(())
    }

    fn is_untold(&self, record: &Record, scope: &NoticeScope) -> bool {
        self.run_dir(&record.id)
            .is_some_and(|dir| scope.is_untold(told(&dir, record.session.as_deref())))
    }
}

/// Returns which sessions were told of the end of the run in `dir`, whose own session is `own`.
pub(crate) fn told(dir: &Path, own: Option<&str>) -> Told {
    let folder = dir.join(names::TOLD);
    let any = fs::read_dir(&folder).is_ok_and(|mut entries| entries.next().is_some());
    Told {
        any,
        own: any && own.is_some_and(|own| note_path(&folder, own).exists()),
    }
}

fn note(dir: &Path, session: &str) -> io::Result<()> {
    let folder = dir.join(names::TOLD);
    match fsio::make_private_dir(&folder) {
        Ok(()) => File::open(dir)?.sync_all()?,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    match fsio::write_new(&note_path(&folder, session), &[]) {
        Ok(()) => File::open(&folder)?.sync_all(),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}

/// Returns the file that says that `session` was told.
fn note_path(folder: &Path, session: &str) -> PathBuf {
    let is_plain = (1..=64).contains(&session.len())
        && !session.starts_with('.')
        && session
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    if is_plain {
        folder.join(session)
    } else {
        // A mark that no plain name has keeps the two kinds apart.
        let hash = mask::keyed_hash(&[0; 32], session.as_bytes());
        folder.join(format!("~{hash}"))
    }
}

#[cfg(test)]
mod tests;
