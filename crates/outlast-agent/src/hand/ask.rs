//! What a hand is asked, and what it answers: one JSON object a line, versioned.

use crate::tools::seen::Wrote;
use outlast_journal::FORMAT_VERSION;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

/// Answer of a hand, in bytes: words and a few hashes.
const ANSWER_BYTES_MAX: u64 = 256 << 10;

/// A request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandAsk {
    v: u32,
    /// What is to be done.
    pub(crate) task: Task,
    /// Directory of the store, in which nothing is touched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) store: Option<String>,
}

/// What a hand can do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Task {
    /// Write a whole file.
    Write {
        /// Path beneath the directory of the hand.
        path: String,
        /// All that it is to hold.
        content: String,
        /// Hash of what it holds now; absent if it is not to be there.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        before: Option<String>,
    },
    /// Replace a text in a file.
    Edit {
        /// Path beneath the directory of the hand.
        path: String,
        /// What is replaced.
        old: String,
        /// By what.
        new: String,
        /// Each time that it stands there, or exactly once.
        is_all: bool,
        /// Hash of what the file holds now.
        before: String,
    },
    /// Make an HTTP request.
    Fetch(Fetch),
}

/// An HTTP request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Fetch {
    pub(crate) method: String,
    pub(crate) url: String,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) headers: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) body: Option<String>,
    pub(crate) timeout_ms: u64,
}

/// An answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HandAnswer {
    /// Version; it also says that this line is an answer.
    pub(crate) hand: u32,
    /// What was done, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) said: Option<String>,
    /// Why nothing was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<Refused>,
    /// The file that was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) wrote: Option<Wrote>,
    /// Status of an HTTP answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) status: Option<u16>,
    /// Where the body begins in the log; known to readers only.
    #[serde(skip)]
    pub(crate) body_at: u64,
}

/// Why a hand did nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Refused {
    pub(crate) code: String,
    pub(crate) why: String,
}

impl Refused {
    /// Returns a refusal.
    pub(crate) fn new(code: &str, why: impl Into<String>) -> Self {
        Self {
            code: code.to_owned(),
            why: why.into(),
        }
    }
}

impl From<crate::tools::Refusal> for Refused {
    fn from(refusal: crate::tools::Refusal) -> Self {
        Self::new(refusal.code, refusal.why)
    }
}

impl HandAsk {
    /// Returns a request of this version.
    pub(crate) fn new(task: Task, store: Option<String>) -> Self {
        Self {
            v: FORMAT_VERSION,
            task,
            store,
        }
    }

    /// Returns the line of it.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).expect("requests have only string keys") + "\n"
    }

    /// Reads a request.
    ///
    /// # Errors
    ///
    /// Fails when it is none, or of another version.
    pub(crate) fn from_line(line: &[u8]) -> Result<Self, serde_json::Error> {
        let ask: Self = serde_json::from_slice(line)?;
        if ask.v == FORMAT_VERSION {
            return Ok(ask);
        }
        let what = format!("version {} is not known", ask.v);
        Err(serde::de::Error::custom(what))
    }
}

impl HandAnswer {
    /// Returns an answer of something that was done.
    pub(crate) fn done(said: impl Into<String>) -> Self {
        Self {
            hand: FORMAT_VERSION,
            said: Some(said.into()),
            ..Self::default()
        }
    }

    /// Returns an answer of something that was not.
    pub(crate) fn refused(refused: Refused) -> Self {
        Self {
            hand: FORMAT_VERSION,
            refused: Some(refused),
            ..Self::default()
        }
    }

    /// Returns the line of it.
    pub(crate) fn to_line(&self) -> String {
        serde_json::to_string(self).expect("answers have only string keys") + "\n"
    }

    /// Returns the answer in the log of a call; `None` where there is none that can be read.
    ///
    /// Words of whatever started the hand may stand before it.
    pub(crate) fn in_log(log: &Path) -> Option<Self> {
        let mut reader = BufReader::new(File::open(log).ok()?.take(ANSWER_BYTES_MAX));
        let mut end = 0;
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = reader.read_until(b'\n', &mut line).ok()?;
            if read == 0 {
                return None;
            }
            end += read as u64;
            if let Ok(answer) = serde_json::from_slice::<Self>(&line)
                && answer.hand == FORMAT_VERSION
            {
                let body_at = end;
                return Some(Self { body_at, ..answer });
            }
        }
    }
}
