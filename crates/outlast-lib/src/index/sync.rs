//! Brings the index up to date with what was born, what ended and what is gone.
//!
//! A start only appends the run's id to `births`, so that no database is on its
//! way; what was appended since the last look becomes rows here. What a look
//! finds is returned too, so that a write that fails costs time and no truth.

use super::{Index, Trouble, rows};
use crate::list::{Glimpse, Looked};
use crate::{Damage, Store, list, notices, reindex};
use outlast_journal::{Record, RunId, Status, Timestamp, names};
use outlast_supervisor::clock;
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

/// Bytes of one line of `births`.
const BIRTH_BYTES: u64 = RunId::LEN as u64 + 1;

/// Bytes of `births` that a fill leaves to the next look: a directory that is renamed while
/// its folder is read may not be seen in it.
const REPEATED_BYTES: u64 = 256 * BIRTH_BYTES;

/// Runs that ended since the last look and make the log long: about four pages each.
const MANY: usize = 64;

/// What a look found beside the rows of ended runs.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    /// Runs that were looked at in their directories: they count, not their rows.
    pub(crate) runs: Vec<Glimpse>,
    /// What could not be read.
    pub(crate) damaged: Vec<Damage>,
}

/// How far the index has come.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Progress {
    births_bytes: u64,
    month: String,
    month_changed_ns: i64,
}

/// What a look found, to be written.
#[derive(Default)]
struct Changes {
    ended: Vec<(String, Box<Record>, rows::Told)>,
    live: Vec<(String, Glimpse)>,
    unreadable: Vec<(String, RunId)>,
    gone: Vec<RunId>,
    pending_new: Vec<RunId>,
    pending_over: Vec<RunId>,
}

impl Changes {
    fn append(&mut self, mut other: Self) {
        self.ended.append(&mut other.ended);
        self.live.append(&mut other.live);
        self.unreadable.append(&mut other.unreadable);
        self.gone.append(&mut other.gone);
        self.pending_new.append(&mut other.pending_new);
        self.pending_over.append(&mut other.pending_over);
    }

    fn is_empty(&self) -> bool {
        self.ended.is_empty()
            && self.live.is_empty()
            && self.unreadable.is_empty()
            && self.gone.is_empty()
            && self.pending_new.is_empty()
            && self.pending_over.is_empty()
    }
}

impl Index {
    /// Reads what is new and what is alive from the directories, and writes it into the rows.
    pub(crate) fn sync(&mut self, store: &Store) -> Result<Fresh, Trouble> {
        let before = self.progress()?;
        let (births, births_bytes) = births_since(store, before.births_bytes)?;
        let mut after = Progress {
            births_bytes,
            ..before.clone()
        };
        let mut fresh = Fresh::default();
        let mut changes = Changes::default();
        let known: HashSet<RunId> = births.iter().copied().collect();
        self.look_at_born(store, births, &mut fresh, &mut changes)?;
        self.look_at_live(store, &known, &mut fresh, &mut changes)?;
        self.look_at_month(store, &known, &mut after, &mut fresh, &mut changes)?;
        if !changes.is_empty() || before != after {
            match self.write(&changes, &after) {
                // Another process writes, or the disk is full: the next look does it.
                Ok(()) | Err(Trouble::Unavailable(_)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
        Ok(fresh)
    }

    fn progress(&self) -> Result<Progress, Trouble> {
        let sql = "SELECT births_bytes, month, month_changed_ns FROM progress";
        let progress = self.connection.query_row(sql, [], |row| {
            let bytes: i64 = row.get(0)?;
            Ok(Progress {
                births_bytes: u64::try_from(bytes).unwrap_or(0),
                month: row.get(1)?,
                month_changed_ns: row.get(2)?,
            })
        })?;
        Ok(progress)
    }

    /// Looks at the runs that were born, and at those that were being born at the last look.
    fn look_at_born(
        &self,
        store: &Store,
        births: Vec<RunId>,
        fresh: &mut Fresh,
        changes: &mut Changes,
    ) -> Result<(), Trouble> {
        let pending: HashSet<RunId> = self.ids("SELECT id FROM pending")?.into_iter().collect();
        let born: HashSet<RunId> = births.into_iter().collect();
        for id in born.union(&pending) {
            let was_pending = pending.contains(id);
            let mut dir = store.run_dir(id);
            if dir.is_none() {
                if reindex::is_being_born(store, id) {
                    if !was_pending {
                        changes.pending_new.push(*id);
                    }
                    continue;
                }
                // It may have come into sight between the two looks.
                dir = store.run_dir(id);
            }
            if was_pending {
                changes.pending_over.push(*id);
            }
            if let Some(dir) = dir {
                take(store, &dir, id, fresh, changes);
            }
        }
        Ok(())
    }

    /// Looks at every run that had not ended at the last look.
    fn look_at_live(
        &self,
        store: &Store,
        known: &HashSet<RunId>,
        fresh: &mut Fresh,
        changes: &mut Changes,
    ) -> Result<(), Trouble> {
        let mut statement = self.connection.prepare(
            "SELECT id, month, project, session, label, status, updated, journal_bytes
             FROM runs WHERE record IS NULL",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let run = glimpse(store, row)?;
            if known.contains(&run.id) {
                continue;
            }
            if let Some(last_output_at) = list::unchanged(&run.dir, run.journal_bytes) {
                fresh.runs.push(Glimpse {
                    updated: run.updated.max(last_output_at),
                    ..run
                });
                continue;
            }
            let mut seen = Changes::default();
            take(store, &run.dir, &run.id, fresh, &mut seen);
            // What is as it was needs no write.
            seen.unreadable.clear();
            seen.live.retain(|(_, now)| {
                (now.status, now.journal_bytes) != (run.status, run.journal_bytes)
            });
            changes.append(seen);
        }
        Ok(())
    }

    /// Looks for runs of this month that `births` did not tell of, and for rows without a run.
    ///
    /// Both come from a copied, restored or deleted directory. The folder's time of change
    /// says whether there is reason to look: it changes with each birth too, so a look that
    /// found births has its reason already. Then counts are compared, and only if they
    /// differ is each name looked at.
    fn look_at_month(
        &self,
        store: &Store,
        known: &HashSet<RunId>,
        after: &mut Progress,
        fresh: &mut Fresh,
        changes: &mut Changes,
    ) -> Result<(), Trouble> {
        let month = clock::now().month();
        let folder = store.root().join(names::RUNS).join(&month);
        let Ok(metadata) = fs::metadata(&folder) else {
            return Ok(());
        };
        let changed_ns = metadata
            .mtime()
            .saturating_mul(1_000_000_000)
            .saturating_add(metadata.mtime_nsec());
        let is_unchanged = after.month == month && after.month_changed_ns == changed_ns;
        after.month.clone_from(&month);
        after.month_changed_ns = changed_ns;
        if is_unchanged || !known.is_empty() {
            return Ok(());
        }
        let names = reindex::visible(&folder);
        let count = "SELECT count(*) FROM runs WHERE month = ?1";
        let rows: i64 = self
            .connection
            .query_row(count, [&month], |row| row.get(0))?;
        if usize::try_from(rows) == Ok(names.len()) {
            return Ok(());
        }
        let mut is_known = self
            .connection
            .prepare("SELECT 1 FROM runs WHERE id = ?1")?;
        for id in &names {
            let row: Option<i64> = is_known
                .query_row([id.as_str()], |row| row.get(0))
                .optional()?;
            if row.is_none() {
                take(store, &folder.join(id.as_str()), id, fresh, changes);
            }
        }
        changes.gone.extend(self.missing(&folder, &month)?);
        Ok(())
    }

    /// Returns the rows of a month that have no directories in `folder`.
    pub(crate) fn missing(&self, folder: &Path, month: &str) -> Result<Vec<RunId>, Trouble> {
        let seen: HashSet<RunId> = reindex::visible(folder).into_iter().collect();
        let mut statement = self
            .connection
            .prepare("SELECT id FROM runs WHERE month = ?1")?;
        let mut rows = statement.query([month])?;
        let mut missing = Vec::new();
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            let id = RunId::parse(&id).map_err(|error| Trouble::Damaged(error.to_string()))?;
            // One that was renamed meanwhile need not have been seen.
            if !seen.contains(&id) && !folder.join(id.as_str()).exists() {
                missing.push(id);
            }
        }
        Ok(missing)
    }

    fn write(&mut self, changes: &Changes, after: &Progress) -> Result<(), Trouble> {
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)?;
        for (month, record, told) in &changes.ended {
            rows::put_ended(&transaction, month, record, *told)?;
        }
        for (month, run) in &changes.live {
            rows::put_live(&transaction, month, run)?;
        }
        for (month, id) in &changes.unreadable {
            rows::put_damaged(&transaction, month, id)?;
        }
        for id in &changes.gone {
            rows::delete(&transaction, id)?;
        }
        for id in &changes.pending_new {
            let sql = "INSERT OR IGNORE INTO pending VALUES (?1)";
            transaction.execute(sql, [id.as_str()])?;
        }
        for id in &changes.pending_over {
            transaction.execute("DELETE FROM pending WHERE id = ?1", [id.as_str()])?;
        }
        put_progress(&transaction, after)?;
        transaction.commit()?;
        if changes.ended.len() > MANY {
            self.empty_log();
        }
        Ok(())
    }

    /// Returns the ids that a query gives in its first column.
    pub(super) fn ids(&self, sql: &str) -> Result<Vec<RunId>, Trouble> {
        let mut statement = self.connection.prepare(sql)?;
        let mut rows = statement.query([])?;
        let mut ids = Vec::new();
        while let Some(row) = rows.next()? {
            let id: String = row.get(0)?;
            ids.push(RunId::parse(&id).map_err(|error| Trouble::Damaged(error.to_string()))?);
        }
        Ok(ids)
    }
}

fn put_progress(connection: &Connection, after: &Progress) -> rusqlite::Result<()> {
    // Another process may have come further; births that are read twice do no harm.
    let sql = "UPDATE progress SET births_bytes = max(births_bytes, ?1), month = ?2,
               month_changed_ns = ?3";
    let bytes = rows::integer(after.births_bytes);
    connection.execute(sql, params![bytes, after.month, after.month_changed_ns])?;
    Ok(())
}

/// Returns the row of a run that had not ended. One that could not be read matches no journal.
fn glimpse(store: &Store, row: &Row<'_>) -> Result<Glimpse, Trouble> {
    let (id, month): (String, String) = (row.get(0)?, row.get(1)?);
    let status: String = row.get(5)?;
    let (updated, journal_bytes): (i64, i64) = (row.get(6)?, row.get(7)?);
    let status = Status::from_word(&status);
    Ok(Glimpse {
        dir: store.root().join(names::RUNS).join(month).join(&id),
        id: RunId::parse(&id).map_err(|error| Trouble::Damaged(error.to_string()))?,
        project: row.get(2)?,
        session: row.get(3)?,
        label: row.get(4)?,
        status: status.unwrap_or(Status::Running),
        updated: Timestamp(u64::try_from(updated).unwrap_or(0)),
        journal_bytes: status.map_or(u64::MAX, |_| u64::try_from(journal_bytes).unwrap_or(0)),
        record: None,
    })
}

/// Reads one run, and notes what is to be told and written of it.
fn take(store: &Store, dir: &Path, id: &RunId, fresh: &mut Fresh, changes: &mut Changes) {
    let month = reindex::month_of(dir);
    match list::look(store, dir, id) {
        Looked::Ended(record) => {
            let told = notices::told(dir, record.session.as_deref());
            changes.ended.push((month, record.clone(), told));
            fresh.runs.push(Glimpse::new(dir, record, 0));
        }
        Looked::Live(record, journal_bytes) => {
            let run = Glimpse::new(dir, record, journal_bytes);
            fresh.runs.push(run.clone());
            changes.live.push((month, run));
        }
        Looked::Gone => changes.gone.push(*id),
        Looked::Damaged(damage) => {
            fresh.damaged.push(damage);
            changes.unreadable.push((month, *id));
        }
    }
}

/// Fills empty tables from the directories; returns how many runs there are, and what is damaged.
pub(super) fn fill(
    transaction: &Transaction<'_>,
    store: &Store,
) -> Result<(u64, Vec<Damage>), Trouble> {
    let mut runs = 0;
    let mut damaged = Vec::new();
    let births_bytes = births_length(store).saturating_sub(REPEATED_BYTES);
    let unavailable = |error: std::io::Error| Trouble::Unavailable(error.to_string());
    let months = store.months().map_err(unavailable)?;
    for month in months {
        let folder = store.root().join(names::RUNS).join(&month);
        for id in reindex::visible(&folder) {
            let dir = folder.join(id.as_str());
            match list::look(store, &dir, &id) {
                Looked::Ended(record) => {
                    let told = notices::told(&dir, record.session.as_deref());
                    rows::put_ended(transaction, &month, &record, told)?;
                }
                Looked::Live(record, journal_bytes) => {
                    let run = Glimpse::new(&dir, record, journal_bytes);
                    rows::put_live(transaction, &month, &run)?;
                }
                Looked::Gone => continue,
                Looked::Damaged(damage) => {
                    rows::put_damaged(transaction, &month, &id)?;
                    damaged.push(damage);
                }
            }
            runs += 1;
        }
    }
    let progress = Progress {
        births_bytes: births_bytes / BIRTH_BYTES * BIRTH_BYTES,
        ..Progress::default()
    };
    put_progress(transaction, &progress)?;
    Ok((runs, damaged))
}

fn births_length(store: &Store) -> u64 {
    fs::metadata(store.root().join(names::BIRTHS)).map_or(0, |file| file.len())
}

/// Returns the ids that were appended after `from`, and how far the file was read.
fn births_since(store: &Store, from: u64) -> Result<(Vec<RunId>, u64), Trouble> {
    let unavailable = |error: std::io::Error| Trouble::Unavailable(error.to_string());
    let length = births_length(store);
    if length < from {
        let what = format!("the list of births has {length} bytes and {from} were read once");
        return Err(Trouble::Damaged(what));
    }
    if length == from {
        return Ok((Vec::new(), from));
    }
    let file = match File::open(store.root().join(names::BIRTHS)) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok((Vec::new(), from)),
        other => other.map_err(unavailable)?,
    };
    let mut bytes = vec![0; usize::try_from(length - from).unwrap_or(0)];
    file.read_exact_at(&mut bytes, from).map_err(unavailable)?;
    // The last line may be in the making.
    let whole = bytes
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |at| at + 1);
    bytes.truncate(whole);
    let ids = bytes
        .split(|byte| *byte == b'\n')
        .filter_map(|line| {
            // A line that a full disk cut is the beginning of the next one.
            let end = line.get(line.len().saturating_sub(RunId::LEN)..)?;
            RunId::parse(std::str::from_utf8(end).ok()?).ok()
        })
        .collect();
    Ok((ids, from + u64::try_from(whole).unwrap_or(0)))
}
