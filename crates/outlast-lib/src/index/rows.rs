//! The rows of the index: how they are written.
//!
//! A row with a record is of an ended run and stands for it. A row without one
//! says how the run was when its directory was last read, and which to read again.

use crate::list::Glimpse;
use outlast_journal::{Record, RunId};
use rusqlite::{Connection, Result, params};

/// Status of a row whose run cannot be read.
pub(super) const DAMAGED: &str = "damaged";

/// Which sessions were told of an end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    /// Any.
    pub(crate) any: bool,
    /// The one that the run belongs to.
    pub(crate) own: bool,
}

/// Turns a count into what SQLite can hold.
pub(super) fn integer(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Puts an ended run in, or in the place of its earlier row.
pub(super) fn put_ended(
    connection: &Connection,
    month: &str,
    record: &Record,
    told: Told,
) -> Result<()> {
    let json = serde_json::to_string(record).expect("a record has only string keys");
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, ?8, ?9, ?10, ?11)
         ON CONFLICT(id) DO UPDATE SET month = ?2, project = ?3, session = ?4, label = ?5,
         status = ?6, updated = ?7, is_told = is_told OR ?8, is_told_own = is_told_own OR ?9,
         has_leftovers = ?10, record = ?11",
    )?;
    statement.execute(params![
        record.id.as_str(),
        month,
        record.project,
        record.session,
        record.label,
        record.status.as_str(),
        integer(record.updated.0),
        told.any,
        told.own,
        !record.leftovers.is_empty(),
        json,
    ])?;
    Ok(())
}

/// Puts a run in that has not ended. Another reader may have seen its end already.
pub(super) fn put_live(connection: &Connection, month: &str, run: &Glimpse) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, 0, 0, 0, NULL)
         ON CONFLICT(id) DO UPDATE SET project = ?3, session = ?4, label = ?5, status = ?6,
         updated = ?7, journal_bytes = ?8 WHERE record IS NULL",
    )?;
    statement.execute(params![
        run.id.as_str(),
        month,
        run.project,
        run.session,
        run.label,
        run.status.as_str(),
        integer(run.updated.0),
        integer(run.journal_bytes),
    ])?;
    Ok(())
}

/// Puts a run in that cannot be read, so that each look at it says so.
pub(super) fn put_damaged(connection: &Connection, month: &str, id: &RunId) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs VALUES (?1, ?2, '', NULL, '', ?3, 0, 0, 0, 0, 0, NULL)
         ON CONFLICT(id) DO NOTHING",
    )?;
    statement.execute(params![id.as_str(), month, DAMAGED])?;
    Ok(())
}

/// Takes a run out.
pub(super) fn delete(connection: &Connection, id: &RunId) -> Result<()> {
    let mut statement = connection.prepare_cached("DELETE FROM runs WHERE id = ?1")?;
    statement.execute([id.as_str()])?;
    Ok(())
}

/// Notes that a session was told of an end.
pub(super) fn tell(connection: &Connection, id: &RunId, told: Told) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "UPDATE runs SET is_told = is_told OR ?2, is_told_own = is_told_own OR ?3 WHERE id = ?1",
    )?;
    statement.execute(params![id.as_str(), told.any, told.own])?;
    Ok(())
}
