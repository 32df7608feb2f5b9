//! The store: the directory that holds every run, opened and checked.
//!
//! Opening is on the way to an exec, so it takes few system calls and touches
//! neither the runs nor the index.

use outlast_journal::{Limits, RunId, Timestamp, error::Advice, names};
use outlast_supervisor::{clock, fsio};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The store's format that this program writes.
const FORMAT: u32 = 1;

/// Bytes of the store's key.
const KEY_BYTES: usize = 32;

/// Permissions of group and others, none of which a store may have.
const OTHERS: u32 = 0o077;

/// What this process may do with a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Access {
    /// Read and write.
    Full,
    /// Read: the file system or its permissions forbid writing.
    ReadOnly,
    /// Read: a newer program made the store, and its rules are not known here.
    Newer {
        /// The store's format.
        version: u32,
    },
}

/// A directory that holds runs. Cheap to open, and safe to share between threads.
#[derive(Debug)]
pub struct Store {
    root: PathBuf,
    limits: Limits,
    access: Access,
    key: OnceLock<[u8; KEY_BYTES]>,
}

impl Store {
    /// Opens the store in the directory `root`, and makes it when it is absent.
    ///
    /// A store that cannot be written opens for reading; [`Self::access`] says why.
    ///
    /// # Errors
    ///
    /// Fails when `root` cannot be made or read, is no directory, belongs to another user,
    /// has any permission for group or others, or lies on a network file system.
    pub fn open(root: &Path, limits: Limits) -> Result<Self, OpenError> {
        let root = std::path::absolute(root).map_err(|source| OpenError::Unreadable {
            path: root.to_owned(),
            source,
        })?;
        check_directory(&root)?;
        let access = access(&root)?;
        Ok(Self {
            root,
            limits,
            access,
            key: OnceLock::new(),
        })
    }

    /// Returns the store's directory, an absolute path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the limits that this opening of the store works by.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Returns what this process may do with the store.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns whether runs can be started and records written.
    pub fn is_writable(&self) -> bool {
        self.access == Access::Full
    }

    /// Returns the directory of a run, for those who read what no verb shows; `None` where there
    /// is no such run.
    pub fn directory_of(&self, id: &RunId) -> Option<PathBuf> {
        self.run_dir(id)
    }

    /// Returns the bytes that key the hashes of secrets and requests, made at their first need.
    pub(crate) fn key(&self) -> io::Result<[u8; KEY_BYTES]> {
        if let Some(key) = self.key.get() {
            return Ok(*key);
        }
        let path = self.root.join(names::STORE_KEY);
        let key = match read_key(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound && self.is_writable() => {
                make_key(&path)?;
                read_key(&path)?
            }
            other => other?,
        };
        Ok(*self.key.get_or_init(|| key))
    }

    /// Returns the directory of a run that can be seen, wherever it lies.
    pub(crate) fn run_dir(&self, id: &RunId) -> Option<PathBuf> {
        let runs = self.root.join(names::RUNS);
        // Most of what is asked for was born this month: one look then.
        let newest = runs.join(clock::now().month()).join(id.as_str());
        if newest.is_dir() {
            return Some(newest);
        }
        let mut months = months(&runs).unwrap_or_default();
        months.reverse();
        months
            .iter()
            .map(|month| runs.join(month).join(id.as_str()))
            .find(|dir| dir.is_dir())
    }

    /// Returns the folders of runs, oldest month first.
    pub(crate) fn months(&self) -> io::Result<Vec<String>> {
        months(&self.root.join(names::RUNS))
    }

    /// Returns the store with another access, for tests of what must not be written.
    #[cfg(test)]
    pub(crate) fn with_access(root: &Path, access: Access) -> Self {
        Self {
            root: root.to_owned(),
            limits: Limits::default(),
            access,
            key: OnceLock::new(),
        }
    }
}

/// Returns the name of the network file system that has the magic number `magic`.
///
/// Locks there are kept by a server that may forget them, and the lock is what says that a
/// run is alive.
pub fn network_name(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0x6969 => "NFS",
        0x517B => "SMB",
        0xFF53_4D42 => "CIFS",
        0xFE53_4D42 => "SMB2",
        0x564C => "NCP",
        0x5346_414F | 0x6B41_4653 => "AFS",
        0x7375_7245 => "Coda",
        0x00C3_6400 => "Ceph",
        0x0BD0_0BD0 => "Lustre",
        0x0102_1997 => "9p",
        0x0116_1970 => "GFS2",
        0x7461_636F => "OCFS2",
        0x4750_4653 => "GPFS",
        0x1983_0326 => "BeeGFS",
        0x2003_0528 => "OrangeFS",
        0xAAD7_AAEA => "PanFS",
        0x786F_4256 => "vboxsf",
        _ => return None,
    })
}

fn months(runs: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(runs) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut months = Vec::new();
    for entry in entries {
        if let Ok(name) = entry?.file_name().into_string()
            && is_month(&name)
        {
            months.push(name);
        }
    }
    months.sort_unstable();
    Ok(months)
}

/// Returns whether `name` is of the form of [`Timestamp::month`].
fn is_month(name: &str) -> bool {
    Timestamp::parse(&format!("{name}-01T00:00:00Z")).is_ok_and(|first| first.month() == name)
}

fn check_directory(root: &Path) -> Result<(), OpenError> {
    let path = || root.to_owned();
    let unreadable = |source| OpenError::Unreadable {
        path: root.to_owned(),
        source,
    };
    let metadata = match fs::metadata(root) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            fsio::make_private_dirs(root).map_err(|source| OpenError::NotMade {
                path: path(),
                source,
            })?;
            fs::metadata(root).map_err(unreadable)?
        }
        other => other.map_err(unreadable)?,
    };
    if !metadata.is_dir() {
        return Err(OpenError::NotADirectory { path: path() });
    }
    if metadata.uid() != fsio::own_user() {
        return Err(OpenError::OtherOwner {
            path: path(),
            owner: metadata.uid(),
        });
    }
    let mode = metadata.permissions().mode() & 0o7777;
    if mode & OTHERS != 0 {
        return Err(OpenError::OpenToOthers { path: path(), mode });
    }
    let magic = fsio::file_system(root).map_err(unreadable)?;
    match network_name(magic) {
        Some(file_system) => Err(OpenError::OnNetwork {
            path: path(),
            file_system,
        }),
        None => Ok(()),
    }
}

#[derive(Serialize, Deserialize)]
struct Format {
    v: u32,
}

fn access(root: &Path) -> Result<Access, OpenError> {
    let path = root.join(names::STORE_FORMAT);
    let may_write = rustix::fs::access(root, rustix::fs::Access::WRITE_OK).is_ok();
    match fs::read(&path) {
        Ok(bytes) => match serde_json::from_slice::<Format>(&bytes) {
            Ok(Format { v }) if v > FORMAT => Ok(Access::Newer { version: v }),
            Ok(_) if may_write => Ok(Access::Full),
            Ok(_) => Ok(Access::ReadOnly),
            Err(source) => Err(OpenError::FormatDamaged { path, source }),
        },
        Err(error) if error.kind() == ErrorKind::NotFound && may_write => {
            furnish(root).map_err(|source| OpenError::NotMade {
                path: root.to_owned(),
                source,
            })?;
            Ok(Access::Full)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Access::ReadOnly),
        Err(source) => Err(OpenError::Unreadable { path, source }),
    }
}

/// Makes what every store has. The format comes last, so that it says that all is there.
fn furnish(root: &Path) -> io::Result<()> {
    for folder in [names::RUNS, names::KEYS, names::PLACES, names::QUEUE] {
        fsio::make_private_dirs(&root.join(folder))?;
    }
    let format = format!("{{\"v\":{FORMAT}}}\n");
    fsio::write_atomic(&root.join(names::STORE_FORMAT), format.as_bytes())
}

fn read_key(path: &Path) -> io::Result<[u8; KEY_BYTES]> {
    let bytes = fs::read(path)?;
    let wrong = |_| io::Error::new(ErrorKind::InvalidData, "the store's key has a wrong length");
    <[u8; KEY_BYTES]>::try_from(bytes).map_err(wrong)
}

/// Makes the key. Of two processes that do so at once, one wins and both use its key.
fn make_key(path: &Path) -> io::Result<()> {
    let mut key = [0; KEY_BYTES];
    getrandom::fill(&mut key).map_err(io::Error::other)?;
    let mut unique = [0; 8];
    getrandom::fill(&mut unique).map_err(io::Error::other)?;
    let name = format!(
        "{}.{:016x}.tmp",
        names::STORE_KEY,
        u64::from_ne_bytes(unique)
    );
    let temporary = path.with_file_name(name);
    fsio::write_atomic(&temporary, &key)?;
    // A link fails where a rename would replace a key that is in use.
    let linked = fs::hard_link(&temporary, path);
    fs::remove_file(&temporary).ok();
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Why a store cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// It cannot be made.
    #[error("the store `{path}` cannot be made")]
    NotMade {
        /// Its directory.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It cannot be read.
    #[error("the store `{path}` cannot be read")]
    Unreadable {
        /// What cannot be read.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It is no directory.
    #[error("the store `{path}` is no directory")]
    NotADirectory {
        /// The path.
        path: PathBuf,
    },
    /// It belongs to another user.
    #[error("the store `{path}` belongs to user {owner}")]
    OtherOwner {
        /// Its directory.
        path: PathBuf,
        /// The user.
        owner: u32,
    },
    /// Group or others have permissions on it.
    #[error("the store `{path}` is open to others: its mode is {mode:04o}")]
    OpenToOthers {
        /// Its directory.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// It lies on a network file system.
    #[error("the store `{path}` lies on a network file system: {file_system}")]
    OnNetwork {
        /// Its directory.
        path: PathBuf,
        /// The file system's name.
        file_system: &'static str,
    },
    /// The file that says its format cannot be understood.
    #[error("`{path}` does not say the format of the store")]
    FormatDamaged {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

impl Advice for OpenError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotMade { .. } => "store_not_made",
            Self::Unreadable { .. } => "store_unreadable",
            Self::NotADirectory { .. } => "store_not_a_directory",
            Self::OtherOwner { .. } => "store_of_other_user",
            Self::OpenToOthers { .. } => "store_open_to_others",
            Self::OnNetwork { .. } => "store_on_network",
            Self::FormatDamaged { .. } => "store_format_damaged",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotMade { .. } | Self::NotADirectory { .. } => {
                "set OUTLAST_HOME to a directory that can be written".to_owned()
            }
            Self::Unreadable { path, .. } => {
                format!("make `{}` readable for you", path.display())
            }
            Self::OtherOwner { .. } => {
                "set OUTLAST_HOME to a directory of your own, or work as its owner".to_owned()
            }
            Self::OpenToOthers { path, .. } => {
                format!("close it with `chmod 700 {}`", path.display())
            }
            Self::OnNetwork { .. } => "set OUTLAST_HOME to a directory on a local disk".to_owned(),
            Self::FormatDamaged { path, .. } => format!(
                "if no newer version of outlast used this store, delete `{}`",
                path.display()
            ),
        }
    }
}

#[cfg(test)]
mod tests;
