//! What is asked of the index. Whoever asks brings it up to date first.

use super::{Index, Trouble, rows};
use crate::list::Glimpse;
use crate::reindex;
use outlast_journal::{Record, RunId, Status, Timestamp};
use rusqlite::{OptionalExtension, Row, ToSql, params};
use std::cmp::Reverse;
use std::path::Path;

/// Which runs are meant. The default is all.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Filter<'a> {
    /// Those of one project.
    pub(crate) project: Option<&'a str>,
    /// Those of one session.
    pub(crate) session: Option<&'a str>,
    /// Those in one of these states; all when empty.
    pub(crate) statuses: &'a [Status],
}

impl Filter<'_> {
    /// Returns whether a run with these properties is meant.
    pub(crate) fn has(&self, project: &str, session: Option<&str>, status: Status) -> bool {
        self.project.is_none_or(|wanted| wanted == project)
            && self.session.is_none_or(|wanted| Some(wanted) == session)
            && self.has_status(status)
    }

    /// Returns whether a run is meant.
    pub(crate) fn has_run(&self, run: &Glimpse) -> bool {
        self.has(&run.project, run.session.as_deref(), run.status)
    }

    fn has_status(&self, status: Status) -> bool {
        self.statuses.is_empty() || self.statuses.contains(&status)
    }
}

/// The row of an ended run, without its record.
#[derive(Clone, Debug)]
pub(crate) struct Stored {
    /// The run.
    pub(crate) id: RunId,
    /// Folder that it lies in.
    pub(crate) month: String,
    /// When it last changed.
    pub(crate) updated: Timestamp,
}

const COLUMNS: &str = "id, month, updated";

fn stored(row: &Row<'_>) -> Result<Stored, Trouble> {
    let id: String = row.get(0)?;
    let updated: i64 = row.get(2)?;
    Ok(Stored {
        id: RunId::parse(&id).map_err(|error| Trouble::Damaged(error.to_string()))?,
        month: row.get(1)?,
        updated: Timestamp(u64::try_from(updated).unwrap_or(0)),
    })
}

impl Index {
    /// Returns the newest ended runs that are meant, newest first.
    pub(crate) fn newest(&self, filter: &Filter<'_>, count: usize) -> Result<Vec<Stored>, Trouble> {
        let project = filter.project.map_or("", |_| " AND project = ?3");
        let session = filter.session.map_or("", |_| " AND session = ?4");
        // One state at a time, so that an index gives them in their order.
        let sql = format!(
            "SELECT {COLUMNS} FROM runs
             WHERE status = ?1{project}{session} AND record IS NOT NULL
             ORDER BY updated DESC, id DESC LIMIT ?2"
        );
        let mut statement = self.connection.prepare(&sql)?;
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        let mut found = Vec::new();
        let ended = Status::ALL.into_iter().filter(|status| status.is_ended());
        for status in ended.filter(|status| filter.has_status(*status)) {
            let status = status.as_str();
            let all: [&dyn ToSql; 4] = [&status, &limit, &filter.project, &filter.session];
            for (number, value) in (1..=statement.parameter_count()).zip(all) {
                statement.raw_bind_parameter(number, value)?;
            }
            let mut rows = statement.raw_query();
            while let Some(row) = rows.next()? {
                found.push(stored(row)?);
            }
        }
        found.sort_by_key(|stored| Reverse((stored.updated, stored.id)));
        found.truncate(count);
        Ok(found)
    }

    /// Returns the record that the row of an ended run holds.
    pub(crate) fn record(&self, stored: &Stored) -> Result<Record, Trouble> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT record FROM runs WHERE id = ?1")?;
        let json: Option<String> = statement.query_row([stored.id.as_str()], |row| row.get(0))?;
        let record = serde_json::from_str(json.as_deref().unwrap_or_default());
        record.map_err(|error| Trouble::Damaged(error.to_string()))
    }

    /// Puts the record of an ended run in the place of an older one; a busy index keeps the old.
    pub(crate) fn put(&self, dir: &Path, record: &Record) -> Result<(), Trouble> {
        let told = rows::Told::default();
        ease(rows::put_ended(
            &self.connection,
            &reindex::month_of(dir),
            record,
            told,
        ))
    }

    /// Takes runs out that are gone; a busy index keeps them.
    pub(crate) fn forget(&self, ids: &[RunId]) -> Result<(), Trouble> {
        let forget = || {
            let transaction = self.connection.unchecked_transaction()?;
            for id in ids {
                rows::delete(&transaction, id)?;
            }
            transaction.commit()
        };
        ease(forget())
    }

    /// Notes that sessions were told of an end; a busy index does not.
    pub(crate) fn tell(&self, id: &RunId, told: rows::Told) -> Result<(), Trouble> {
        ease(rows::tell(&self.connection, id, told))
    }

    /// Returns how many ended runs there are, of one session or of all.
    pub(crate) fn count_ended(&self, session: Option<&str>) -> Result<u64, Trouble> {
        let count: i64 = match session {
            Some(session) => self.connection.query_row(
                "SELECT count(*) FROM runs WHERE session = ?1 AND record IS NOT NULL",
                [session],
                |row| row.get(0),
            )?,
            None => self.connection.query_row(
                "SELECT count(*) FROM runs INDEXED BY ended WHERE record IS NOT NULL",
                [],
                |row| row.get(0),
            )?,
        };
        Ok(u64::try_from(count).unwrap_or(0))
    }

    /// Returns how many ended runs there are in each state that one is in.
    pub(crate) fn count_by_status(&self) -> Result<Vec<(Status, u64)>, Trouble> {
        let mut found = Vec::new();
        let mut statement = self
            .connection
            .prepare("SELECT count(*) FROM runs WHERE status = ?1 AND record IS NOT NULL")?;
        for status in Status::ALL.into_iter().filter(|status| status.is_ended()) {
            let count: i64 = statement.query_row([status.as_str()], |row| row.get(0))?;
            found.push((status, u64::try_from(count).unwrap_or(0)));
        }
        Ok(found)
    }

    /// Returns whether the rows know a run as ended.
    pub(crate) fn is_ended(&self, id: &RunId) -> Result<bool, Trouble> {
        let mut statement = self
            .connection
            .prepare_cached("SELECT 1 FROM runs WHERE id = ?1 AND record IS NOT NULL")?;
        let found: Option<i64> = statement
            .query_row([id.as_str()], |row| row.get(0))
            .optional()?;
        Ok(found.is_some())
    }

    /// Visits ended runs of which its own session (or, for a project, anybody) is not known to be told, newest first.
    ///
    /// `visit` returns whether it wants another.
    pub(crate) fn untold(
        &self,
        of_session: bool,
        name: &str,
        mut visit: impl FnMut(Stored) -> Result<bool, Trouble>,
    ) -> Result<(), Trouble> {
        let (column, told) = if of_session {
            ("session", "is_told_own")
        } else {
            ("project", "is_told")
        };
        let mut statement = self.connection.prepare(&format!(
            "SELECT {COLUMNS} FROM runs
             WHERE {column} = ?1 AND {told} = 0 AND record IS NOT NULL
             ORDER BY updated DESC, id DESC"
        ))?;
        let mut rows = statement.query([name])?;
        while let Some(row) = rows.next()? {
            if !visit(stored(row)?)? {
                break;
            }
        }
        Ok(())
    }

    /// Returns ended runs whose record names leftovers.
    pub(crate) fn with_leftovers(&self) -> Result<Vec<RunId>, Trouble> {
        self.ids("SELECT id FROM runs WHERE has_leftovers = 1")
    }

    /// Returns the ids, at most `count`, that begin with `prefix`.
    pub(crate) fn with_prefix(&self, prefix: &str, count: usize) -> Result<Vec<RunId>, Trouble> {
        let mut statement = self
            .connection
            .prepare("SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT ?3")?;
        // The character after the last letter of an id.
        let end = format!("{prefix}{{");
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![prefix, end, limit])?;
        collect_ids(&mut rows)
    }

    /// Returns ended runs, at most `count`, that have `label`, newest first.
    pub(crate) fn with_label(
        &self,
        label: &str,
        project: Option<&str>,
        count: usize,
    ) -> Result<Vec<RunId>, Trouble> {
        let mut statement = self.connection.prepare(
            "SELECT id FROM runs WHERE label = ?1 AND (?2 IS NULL OR project = ?2)
             AND record IS NOT NULL ORDER BY updated DESC LIMIT ?3",
        )?;
        let limit = i64::try_from(count).unwrap_or(i64::MAX);
        let mut rows = statement.query(params![label, project, limit])?;
        collect_ids(&mut rows)
    }
}

fn collect_ids(rows: &mut rusqlite::Rows<'_>) -> Result<Vec<RunId>, Trouble> {
    let mut ids = Vec::new();
    while let Some(row) = rows.next()? {
        let id: String = row.get(0)?;
        ids.push(RunId::parse(&id).map_err(|error| Trouble::Damaged(error.to_string()))?);
    }
    Ok(ids)
}

/// Lets a write be missed where that only costs time later.
fn ease(written: rusqlite::Result<()>) -> Result<(), Trouble> {
    match written.map_err(Trouble::from) {
        Err(Trouble::Damaged(what)) => Err(Trouble::Damaged(what)),
        Ok(()) | Err(Trouble::Unavailable(_) | Trouble::NotWritable) => Ok(()),
    }
}
