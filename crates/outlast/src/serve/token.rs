//! The bearer token: made once for a store, read by whoever may read the store.
//!
//! It stands in a file and in memory, and nowhere else: no value of this
//! module can be printed.

use outlast_journal::names;
use outlast_lib::Advice;
use outlast_supervisor::fsio;
use std::{
    fmt::Write,
    fs::{self, File},
    io::{self, ErrorKind, Read},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};
use subtle::ConstantTimeEq;

/// Random bytes of a token that we make: more than anybody can try.
const RANDOM_BYTES: usize = 32;

/// Fewest characters of a token that somebody else made.
const CHARS_MIN: usize = 32;

/// Longest file with a token, in bytes.
const FILE_BYTES_MAX: u64 = 4_096;

/// Permissions of group and others, none of which the file may have.
const OTHERS: u32 = 0o077;

/// What a client must know.
pub(super) struct Token(String);

impl Token {
    /// Returns the token of the store at `root`, made now where there is none.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be made, and as [`Self::read`] does.
    pub(super) fn of_store(root: &Path) -> Result<Self, TokenError> {
        let path = path(root);
        match Self::read(&path) {
            Err(TokenError::Unreadable { source, .. }) if source.kind() == ErrorKind::NotFound => {
                make(&path).map_err(|source| TokenError::NotMade {
                    path: path.clone(),
                    source,
                })?;
                Self::read(&path)
            }
            other => other,
        }
    }

    /// Returns the token in the file at `path`.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be read, when others than its owner may read or write it, when it is
    /// another user's (root's is not), and when what it holds is no token.
    pub(super) fn read(path: &Path) -> Result<Self, TokenError> {
        let unreadable = |source| TokenError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(unreadable)?;
        // What is open is looked at, so that nothing can be put in its place in between.
        let metadata = file.metadata().map_err(unreadable)?;
        let is_ours = [fsio::own_user(), 0].contains(&metadata.uid());
        if metadata.mode() & OTHERS != 0 || !is_ours {
            return Err(TokenError::OpenToOthers {
                path: path.to_owned(),
                mode: metadata.mode() & 0o7777,
            });
        }
        let mut text = String::new();
        let mut limited = file.take(FILE_BYTES_MAX);
        limited.read_to_string(&mut text).map_err(unreadable)?;
        let token = text.trim_end_matches(['\n', '\r']);
        let is_token =
            token.len() >= CHARS_MIN && token.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_token {
            return Err(TokenError::Form {
                path: path.to_owned(),
            });
        }
        Ok(Self(token.to_owned()))
    }

    /// Returns whether `given` is this token, in a time that does not tell how much of it is.
    pub(super) fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

#[cfg(test)]
impl Token {
    /// Returns this text as a token.
    pub(super) fn known(text: &str) -> Self {
        Self(text.to_owned())
    }
}

/// Returns where the token of the store at `root` is.
pub(super) fn path(root: &Path) -> PathBuf {
    root.join(names::SERVE_TOKEN)
}

/// Makes the file. Of two processes that do so at once, one wins and both use its token.
fn make(path: &Path) -> io::Result<()> {
    let mut random = [0; RANDOM_BYTES + 8];
    getrandom::fill(&mut random).map_err(io::Error::other)?;
    let mut text = random.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes everything");
        text
    });
    let unique = text.split_off(RANDOM_BYTES * 2);
    text.push('\n');
    let temporary = path.with_file_name(format!("{}.{unique}.tmp", names::SERVE_TOKEN));
    fsio::write_atomic(&temporary, text.as_bytes())?;
    // A link fails where a rename would replace a token that is in use.
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary).ok();
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Why there is no token.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(super) enum TokenError {
    /// It cannot be made.
    #[error("the token `{}` cannot be made", path.display())]
    NotMade {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("the token `{}` cannot be read", path.display())]
    Unreadable {
        /// Its file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Somebody else may know it.
    #[error("the token `{}` is not ours alone: its mode is {mode:04o}", path.display())]
    OpenToOthers {
        /// Its file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It is none.
    #[error("`{}` holds no token", path.display())]
    Form {
        /// Its file.
        path: PathBuf,
    },
}

impl Advice for TokenError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotMade { .. } => "token_not_made",
            Self::Unreadable { .. } => "token_unreadable",
            Self::OpenToOthers { .. } => "token_open_to_others",
            Self::Form { .. } => "token_form",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotMade { .. } => {
                "make the store writable, or give a file with `--token-file`".to_owned()
            }
            Self::Unreadable { .. } => {
                "give a file that you can read, or leave `--token-file` out".to_owned()
            }
            Self::OpenToOthers { path, .. } => format!(
                "delete `{}` and make a new one: somebody may have read it",
                path.display()
            ),
            Self::Form { .. } => {
                "write one line of at least 32 printable characters without blanks".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
