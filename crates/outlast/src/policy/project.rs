//! The file of a project: read with care, since whoever wrote the project wrote it.

use super::{PolicyError, Rules, TABLE};
use crate::{
    config::ConfigError,
    sandbox::{self, Bound},
};
use outlast_lib::limits;
use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};
use std::{
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

/// Its name.
const FILE: &str = ".outlast.toml";

/// What a project says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Project {
    /// Its rules.
    pub(super) rules: Option<Rules>,
    /// How far it lowers what may be asked for.
    pub(super) bound: Option<Bound>,
}

/// Reads what a project says: nothing where it has no file.
///
/// No link is followed, and nothing but a regular file is read.
///
/// # Errors
///
/// Fails when there is something of that name that cannot be used as a whole.
pub(super) fn read(project: &Path) -> Result<Project, PolicyError> {
    let path = project.join(FILE);
    let Some(text) = text(&path)? else {
        return Ok(Project::default());
    };
    let table: Table = text.parse().map_err(|source| ConfigError::Form {
        file: path.clone(),
        source: Box::new(source),
    })?;
    let mut said = Project::default();
    for (name, value) in &table {
        match value {
            Value::Table(table) if name == TABLE => said.rules = Some(Rules::read(&path, table)?),
            Value::Table(table) if name == sandbox::TABLE => {
                said.bound = Some(Bound::read(&path, table)?);
            }
            Value::String(_)
            | Value::Integer(_)
            | Value::Float(_)
            | Value::Boolean(_)
            | Value::Datetime(_)
            | Value::Array(_)
            | Value::Table(_) => {
                return Err(PolicyError::Unusable(ConfigError::Key {
                    file: path,
                    key: name.clone(),
                }));
            }
        }
    }
    Ok(said)
}

fn text(path: &PathBuf) -> Result<Option<String>, PolicyError> {
    let unreadable = |source| {
        PolicyError::Unusable(ConfigError::Read {
            file: path.clone(),
            source,
        })
    };
    // Not blocking: a pipe of that name would keep us waiting for its writer.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::LOOP) => return Err(PolicyError::NoFile { file: path.clone() }),
        Err(error) => return Err(unreadable(error.into())),
    };
    let metadata = file.metadata().map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(PolicyError::NoFile { file: path.clone() });
    }
    let most = limits::PROJECT_FILE_BYTES_MAX;
    let mut bytes = Vec::new();
    file.take(most + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > most {
        return Err(PolicyError::TooLong { file: path.clone() });
    }
    // What is no text is no TOML, and fails as such at the first odd sign.
    Ok(Some(String::from_utf8_lossy(&bytes).into_owned()))
}

#[cfg(test)]
mod tests;
