//! The rows of the index: how they are written.

use outlast_journal::{Record, RunId};
use rusqlite::{Connection, Result, params};

/// Status of a row whose run is to be read from its directory.
pub(super) const LIVE: &str = "live";

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

/// Puts an ended run in, or in the place of its live row.
pub(super) fn put_ended(
    connection: &Connection,
    month: &str,
    record: &Record,
    told: Told,
) -> Result<()> {
    let json = serde_json::to_string(record).expect("a record has only string keys");
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
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

/// Puts a run in that is to be read again. Another reader may have seen its end already.
pub(super) fn put_live(connection: &Connection, month: &str, record: &Record) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, 0, 0, 0, NULL)
         ON CONFLICT(id) DO NOTHING",
    )?;
    statement.execute(params![
        record.id.as_str(),
        month,
        record.project,
        record.session,
        record.label,
        LIVE,
        integer(record.updated.0),
    ])?;
    Ok(())
}

/// Puts a run in whose spec cannot be read, so that each look at it says so.
pub(super) fn put_damaged(connection: &Connection, month: &str, id: &RunId) -> Result<()> {
    let mut statement = connection.prepare_cached(
        "INSERT INTO runs VALUES (?1, ?2, '', NULL, '', ?3, 0, 0, 0, 0, NULL)
         ON CONFLICT(id) DO NOTHING",
    )?;
    statement.execute(params![id.as_str(), month, LIVE])?;
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
