//! Which project a call is about, by the roots that a host names.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStringExt,
    path::{Path, PathBuf},
};

/// Returns where a host works: in the directory of the server if that lies in a root of the
/// host's, else in its first root that is there; `None` where it names none.
pub(super) fn base(roots: &[String], server_dir: &Path) -> Option<PathBuf> {
    let roots = roots.iter().filter_map(|uri| path(uri));
    let roots: Vec<PathBuf> = roots.filter(|root| root.is_dir()).collect();
    if roots.iter().any(|root| server_dir.starts_with(root)) {
        return Some(server_dir.to_owned());
    }
    roots.into_iter().next()
}

/// Returns the path of a `file:` address of this machine.
fn path(uri: &str) -> Option<PathBuf> {
    let rest = uri.strip_prefix("file://")?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    if !path.starts_with('/') {
        return None;
    }
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.bytes();
    while let Some(byte) = left.next() {
        if byte == b'%' {
            bytes.push(hex(left.next()?)? << 4 | hex(left.next()?)?);
        } else {
            bytes.push(byte);
        }
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

fn hex(digit: u8) -> Option<u8> {
    let value = char::from(digit).to_digit(16)?;
    u8::try_from(value).ok()
}

#[cfg(test)]
mod tests;
