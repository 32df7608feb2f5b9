//! The index: a SQLite file that makes lists quick, and that can be deleted.
//!
//! The journals are the truth. A row of an ended run holds its record; a row of
//! any other run only says that its directory is to be read again. `sync`
//! brings the rows up to date, `queries` asks, `repair` replaces a damaged file.

mod queries;
mod repair;
mod rows;
mod sync;

pub(crate) use queries::{Filter, Stored};
pub(crate) use rows::Told;
pub(crate) use sync::Fresh;

use crate::{Damage, Store};
use outlast_journal::{limits, names};
use outlast_supervisor::fsio;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, TransactionBehavior};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The schema that this program writes.
const SCHEMA: i64 = 1;

/// Pages of the log that a commit leaves: read in 0.2 ms at the next opening.
const LOG_PAGES: i64 = 64;

/// Memory for a fill, in KiB with SQLite's sign: less writes pages again and again.
const FILL_CACHE: i64 = -65_536;

const TABLES: &str = "
CREATE TABLE runs(
    id TEXT PRIMARY KEY NOT NULL,
    month TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT,
    label TEXT NOT NULL,
    status TEXT NOT NULL,
    updated INTEGER NOT NULL,
    journal_bytes INTEGER NOT NULL,
    is_told INTEGER NOT NULL,
    is_told_own INTEGER NOT NULL,
    has_leftovers INTEGER NOT NULL,
    record TEXT
);
CREATE INDEX ended ON runs(status, updated, id, month) WHERE record IS NOT NULL;
CREATE INDEX ended_of_project ON runs(project, status, updated, id, month)
    WHERE record IS NOT NULL;
CREATE INDEX ended_of_session ON runs(session, status, updated, id, month)
    WHERE record IS NOT NULL;
CREATE INDEX untold_of_project ON runs(project, updated, id, month)
    WHERE is_told = 0 AND record IS NOT NULL;
CREATE INDEX untold_of_session ON runs(session, updated, id, month)
    WHERE is_told_own = 0 AND record IS NOT NULL;
CREATE INDEX labels ON runs(label, project);
CREATE INDEX live ON runs(id) WHERE record IS NULL;
CREATE INDEX with_leftovers ON runs(id) WHERE has_leftovers = 1;
CREATE TABLE pending(id TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
CREATE TABLE progress(
    births_bytes INTEGER NOT NULL,
    month TEXT NOT NULL,
    month_changed_ns INTEGER NOT NULL
);
INSERT INTO progress VALUES (0, '', 0);
";

/// An open index. One operation opens it, uses it and closes it.
pub(crate) struct Index {
    connection: Connection,
}

/// Why the index cannot be used.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// Its content is wrong: it is to be set aside and made again.
    Damaged(String),
    /// It may be fine, and cannot be used now.
    Unavailable(String),
    /// The store is only read, and an index cannot be opened without writing.
    NotWritable,
}

impl From<rusqlite::Error> for Trouble {
    fn from(error: rusqlite::Error) -> Self {
        // An error without a code is a value of a wrong type, or a row too few.
        let is_damage = error.sqlite_error_code().is_none_or(|code| {
            matches!(
                code,
                ErrorCode::DatabaseCorrupt
                    | ErrorCode::NotADatabase
                    | ErrorCode::Unknown
                    | ErrorCode::SchemaChanged
                    | ErrorCode::ConstraintViolation
                    | ErrorCode::TypeMismatch
            )
        });
        if is_damage {
            Self::Damaged(error.to_string())
        } else {
            Self::Unavailable(error.to_string())
        }
    }
}

impl Index {
    /// Opens the index of `store`; one that is not there is made from the run directories.
    pub(crate) fn open(store: &Store) -> Result<Self, Trouble> {
        if !store.is_writable() {
            return Err(Trouble::NotWritable);
        }
        let path = path(store);
        make_file(&path).map_err(|error| Trouble::Unavailable(error.to_string()))?;
        let file = repair::inode(&path);
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&path, flags)?;
        connection.busy_timeout(Duration::from_millis(limits::INDEX_BUSY_MS))?;
        // Else the last one to close would sync the disk, at each list that wrote a row.
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        // The first one to open reads the whole log, so it is kept short.
        connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
        let mut index = Self { connection };
        let schema = index.schema()?;
        // SQLite opens its log by name, at the first read: it must be this file's own.
        if repair::inode(&path) != file {
            return Err(Trouble::Unavailable("it is being made again".to_owned()));
        }
        match schema {
            SCHEMA => {}
            0 => index.create(store)?,
            newer => {
                let what = format!("a newer version made it (schema {newer})");
                return Err(Trouble::Unavailable(what));
            }
        }
        index
            .connection
            .pragma_update(None, "synchronous", "NORMAL")?;
        Ok(index)
    }

    fn schema(&self) -> Result<i64, Trouble> {
        let version = self
            .connection
            .pragma_query_value(None, "user_version", |row| row.get(0))?;
        Ok(version)
    }

    /// Makes the tables and fills them, in one transaction: a schema says that all is there.
    fn create(&mut self, store: &Store) -> Result<(), Trouble> {
        self.keep_a_log()?;
        self.connection
            .pragma_update(None, "cache_size", FILL_CACHE)?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        let made: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if made == SCHEMA {
            return Ok(());
        }
        transaction.execute_batch(TABLES)?;
        sync::fill(&transaction, store)?;
        transaction.pragma_update(None, "user_version", SCHEMA)?;
        transaction.commit()?;
        self.empty_log();
        Ok(())
    }

    /// Has the database keep a log.
    ///
    /// Of several that do so at once SQLite refuses all but one without waiting. A write waits
    /// for that one, and then there is nothing left to change.
    fn keep_a_log(&self) -> Result<(), Trouble> {
        let mut tries = limits::INDEX_LOG_TRIES_MAX;
        loop {
            tries -= 1;
            let mode =
                self.connection
                    .pragma_update_and_check(None, "journal_mode", "WAL", |row| {
                        row.get::<_, String>(0)
                    });
            match mode {
                Ok(mode) if mode == "wal" => return Ok(()),
                Ok(mode) => {
                    return Err(Trouble::Unavailable(format!("its journal mode is {mode}")));
                }
                Err(error)
                    if tries > 0 && error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) =>
                {
                    self.connection.execute_batch("BEGIN IMMEDIATE; COMMIT")?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Moves a long log into the database, so that later openings need not read it.
    fn empty_log(&self) {
        let emptied = self
            .connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        // While another one reads, it stays: slower, and as right.
        drop(emptied);
    }

    /// Empties the tables and fills them anew; returns how many runs there are, and what is damaged.
    pub(crate) fn refill(&mut self, store: &Store) -> Result<(u64, Vec<Damage>), Trouble> {
        self.connection
            .pragma_update(None, "cache_size", FILL_CACHE)?;
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        transaction.execute_batch(
            "DELETE FROM runs; DELETE FROM pending;
             UPDATE progress SET births_bytes = 0, month = '', month_changed_ns = 0;",
        )?;
        let filled = sync::fill(&transaction, store)?;
        transaction.commit()?;
        self.empty_log();
        Ok(filled)
    }
}

/// Does something with the index of `store`; a damaged one is replaced first, and that is said.
///
/// Returns `None` where there is no index to be had; the caller then reads the directories.
pub(crate) fn with_index<T>(
    store: &Store,
    said: &mut Vec<Damage>,
    mut act: impl FnMut(&mut Index) -> Result<T, Trouble>,
) -> Option<T> {
    let file = repair::inode(&path(store));
    let mut attempt = || Index::open(store).and_then(|mut index| act(&mut index));
    let mut outcome = attempt();
    if let Err(Trouble::Damaged(what)) = &outcome {
        match repair::set_aside(store, file, what) {
            Ok(damage) => {
                said.extend(damage);
                outcome = attempt();
            }
            Err(error) => outcome = Err(Trouble::Unavailable(error.to_string())),
        }
    }
    match outcome {
        Ok(value) => Some(value),
        Err(Trouble::NotWritable) => None,
        Err(Trouble::Damaged(what) | Trouble::Unavailable(what)) => {
            said.push(Damage {
                path: path(store),
                what: format!("the index was not used: {what}"),
            });
            None
        }
    }
}

/// Makes an empty file that only its owner can read; SQLite itself would let others.
fn make_file(path: &Path) -> io::Result<()> {
    if path.exists() {
        return Ok(());
    }
    // Made under another name: closing the file under its own would drop the locks that
    // SQLite holds on it in other threads of this process.
    let mut unique = [0; 8];
    getrandom::fill(&mut unique).map_err(io::Error::other)?;
    let unique = u64::from_ne_bytes(unique);
    let temporary = path.with_file_name(format!("{}.{unique:016x}.tmp", names::INDEX));
    fsio::write_new(&temporary, &[])?;
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

fn path(store: &Store) -> PathBuf {
    store.root().join(names::INDEX)
}

#[cfg(test)]
mod tests;
