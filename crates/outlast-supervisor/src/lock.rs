//! Locks that say who is alive: taken once, handed on, looked at without taking.

use std::fs::File;
use std::io;

/// Takes the lock of `file` for its open description; false when another one holds it.
///
/// The lock lives until the last copy of the description is closed, in whatever process.
///
/// # Errors
///
/// Fails when the file system has no such locks.
pub fn try_lock(file: &File) -> io::Result<bool> {
    crate::platform::lock::try_lock(file)
}

/// Returns whether another open description holds the lock of `file`. Takes nothing.
///
/// # Errors
///
/// Fails when the file system has no such locks.
pub fn is_locked(file: &File) -> io::Result<bool> {
    crate::platform::lock::is_locked(file)
}
