//! Notes about a project that runs leave for later ones, searched by their words.
//!
//! They stand in a database of their own beside the index: the index can be
//! deleted, these cannot be made again. Nobody reads them but for the project
//! that they are about. What to note, and what to believe of it, is for the
//! caller: a note is what some run wrote.

use crate::Store;
use outlast_journal::error::Advice;
use outlast_journal::limits::{
    INDEX_BUSY_MS, NOTE_CHARS_MAX, NOTE_WORDS_MAX, NOTES_MAX, NOTES_SHOWN_MAX,
};
use outlast_journal::{RunId, Timestamp, names};
use outlast_supervisor::{clock, fsio};
use rusqlite::{Connection, OpenFlags, TransactionBehavior, params};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// The tables' version.
const SCHEMA: i64 = 1;
const TABLES: &str = "
    CREATE TABLE notes (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        project TEXT NOT NULL, text TEXT NOT NULL, run TEXT NOT NULL, created TEXT NOT NULL,
        UNIQUE (project, text)
    );
    CREATE VIRTUAL TABLE words USING fts5(text, content='notes', content_rowid='number',
        tokenize='porter unicode61');
    CREATE TRIGGER noted AFTER INSERT ON notes BEGIN
        INSERT INTO words(rowid, text) VALUES (new.number, new.text);
    END;
    CREATE TRIGGER forgotten AFTER DELETE ON notes BEGIN
        INSERT INTO words(words, rowid, text) VALUES ('delete', old.number, old.text);
    END;";
const ADD: &str = "INSERT INTO notes (project, text, run, created) VALUES (?1, ?2, ?3, ?4)
    ON CONFLICT DO NOTHING";
const DROP_OLDEST: &str = "DELETE FROM notes WHERE project = ?1 AND number NOT IN
    (SELECT number FROM notes WHERE project = ?1 ORDER BY number DESC LIMIT ?2)";
const FIND: &str = "SELECT notes.text, notes.run, notes.created FROM words
    JOIN notes ON notes.number = words.rowid
    WHERE words MATCH ?1 AND notes.project = ?2
    ORDER BY bm25(words), notes.number DESC LIMIT ?3";

/// A note about a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// The note.
    pub text: String,
    /// The run that left it.
    pub run: String,
    /// When.
    pub created: Timestamp,
}

/// What became of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Noted {
    /// It is kept.
    New,
    /// The same was noted before.
    Known,
}

impl Store {
    /// Keeps a note about `project`. The same text a second time changes nothing.
    ///
    /// Of more than `NOTES_MAX` notes about a project the oldest go.
    ///
    /// # Errors
    ///
    /// Fails when the text is blank or longer than `NOTE_CHARS_MAX` characters, and when the
    /// notes cannot be written.
    pub fn note(&self, project: &str, text: &str, run: &RunId) -> Result<Noted, NoteError> {
        let text = text.trim();
        let count = text.chars().count();
        if count == 0 {
            return Err(NoteError::Blank);
        }
        if count > NOTE_CHARS_MAX {
            return Err(NoteError::TooLong { count });
        }
        if !self.is_writable() {
            return Err(NoteError::NotWritable);
        }
        fsio::open_private(&self.notes_path()).map_err(NoteError::Unreachable)?;
        let mut connection = self.open_notes(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if version(&transaction)? == 0 {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", SCHEMA)?;
        }
        let created = clock::now().to_string();
        let added = transaction.execute(ADD, params![project, text, run.as_str(), created])?;
        transaction.execute(DROP_OLDEST, params![project, NOTES_MAX.cast_signed()])?;
        transaction.commit()?;
        Ok(if added == 0 { Noted::Known } else { Noted::New })
    }

    /// Returns the notes about `project` that share words with `text`, the best first, at most
    /// `NOTES_SHOWN_MAX`. Only the first `NOTE_WORDS_MAX` words count.
    ///
    /// # Errors
    ///
    /// Fails when there are notes and they cannot be read.
    pub fn notes(&self, project: &str, text: &str) -> Result<Vec<Note>, NoteError> {
        let wanted = query(text);
        if wanted.is_empty() || !self.notes_path().exists() {
            return Ok(Vec::new());
        }
        // Written to, since the log of the database may have to be made.
        let flags = if self.is_writable() {
            OpenFlags::SQLITE_OPEN_READ_WRITE
        } else {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        };
        let connection = self.open_notes(flags)?;
        if version(&connection)? == 0 {
            return Ok(Vec::new());
        }
        let mut statement = connection.prepare(FIND)?;
        let shown = i64::try_from(NOTES_SHOWN_MAX).unwrap_or(i64::MAX);
        let rows = statement.query_map(params![wanted, project, shown], |row| {
            let created: String = row.get(2)?;
            Ok((row.get(0)?, row.get(1)?, created))
        })?;
        let mut notes = Vec::new();
        for row in rows {
            let (text, run, created) = row?;
            let created = Timestamp::parse(&created).map_err(|_| NoteError::Damaged)?;
            notes.push(Note { text, run, created });
        }
        Ok(notes)
    }

    fn notes_path(&self) -> PathBuf {
        self.root().join(names::NOTES)
    }

    fn open_notes(&self, access: OpenFlags) -> Result<Connection, NoteError> {
        let flags = access | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(self.notes_path(), flags)?;
        connection.busy_timeout(Duration::from_millis(INDEX_BUSY_MS))?;
        match version(&connection)? {
            0 | SCHEMA => Ok(connection),
            newer => Err(NoteError::Newer { version: newer }),
        }
    }
}

fn version(connection: &Connection) -> Result<i64, rusqlite::Error> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Returns the search for any of the words of `text`.
fn query(text: &str) -> String {
    let words = text.split(|letter: char| !letter.is_alphanumeric());
    let mut known: Vec<String> = Vec::new();
    // One letter alone is in every text, and fits none.
    for word in words.filter(|word| word.chars().nth(1).is_some()) {
        let quoted = format!("\"{}\"", word.to_lowercase());
        if !known.contains(&quoted) {
            known.push(quoted);
        }
        if known.len() == NOTE_WORDS_MAX {
            break;
        }
    }
    known.join(" OR ")
}

/// Why a note was not kept or found.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum NoteError {
    /// There is nothing in it.
    #[error("the note is blank")]
    Blank,
    /// It is no note any more.
    #[error("the note has {count} characters, and the most is {NOTE_CHARS_MAX}")]
    TooLong {
        /// Its characters.
        count: usize,
    },
    /// The store cannot be written.
    #[error("the store cannot be written")]
    NotWritable,
    /// The file of the notes cannot be opened.
    #[error("the notes cannot be opened")]
    Unreachable(#[source] io::Error),
    /// A newer program made the notes.
    #[error("a newer version made the notes (schema {version})")]
    Newer {
        /// Their schema.
        version: i64,
    },
    /// What stands in the notes means nothing.
    #[error("the notes are damaged")]
    Damaged,
    /// The database failed.
    #[error("the notes cannot be read or written")]
    Database(#[from] rusqlite::Error),
}

impl Advice for NoteError {
    fn code(&self) -> &'static str {
        match self {
            Self::Blank => "blank",
            Self::TooLong { .. } => "too_long",
            Self::NotWritable => "store_read_only",
            Self::Newer { .. } => "notes_newer",
            Self::Unreachable(_) | Self::Damaged | Self::Database(_) => "notes_unreadable",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::Blank => "write down one fact".to_owned(),
            Self::TooLong { .. } => "write down one fact, in a few sentences".to_owned(),
            Self::NotWritable => "look at the permissions of the store".to_owned(),
            Self::Newer { .. } => "update this program".to_owned(),
            Self::Unreachable(_) | Self::Damaged | Self::Database(_) => {
                "move `notes.sqlite` out of the store; what was noted is then not known any more"
                    .to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
