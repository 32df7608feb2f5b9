//! Places: lock files of which a run holds one per pool while it executes.
//!
//! The lock is the place. Nothing is counted and nothing has to be repaired: a
//! holder that dies gives its place back by dying.

use crate::{fsio, lock};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Pools up to this size are filled from their first place on, so that few files are made.
const FILLED_IN_ORDER_MAX: u32 = 64;

/// Takes a place of the pool in `dir` and writes `holder` into it; `None` when all are held.
///
/// The place is held as long as the file, or a copy of it, is open in any process.
///
/// # Errors
///
/// Fails when the pool's folder cannot be made or written.
pub fn take(dir: &Path, places_max: u32, holder: &str) -> io::Result<Option<File>> {
    let first = if places_max > FILLED_IN_ORDER_MAX {
        // Different starts at once should not all look at the same held places.
        scatter(holder) % places_max
    } else {
        0
    };
    for step in 0..places_max {
        let path = dir.join(((first + step) % places_max).to_string());
        let file = match fsio::open_private(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fsio::make_private_dirs(dir)?;
                fsio::open_private(&path)?
            }
            other => other?,
        };
        if lock::try_lock(&file)? {
            // The name is for people and for those who wait; without room for it the
            // place is held all the same.
            write_holder(&file, holder).ok();
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Holders are of one length, and a file that is not cut is not flushed when it is closed.
fn write_holder(file: &File, holder: &str) -> io::Result<()> {
    if file.metadata()?.len() > holder.len() as u64 {
        file.set_len(0)?;
    }
    file.write_all_at(holder.as_bytes(), 0)
}

/// Returns what the holders of the pool in `dir` wrote into their places.
///
/// # Errors
///
/// Fails when the pool cannot be read.
pub fn holders(dir: &Path, places_max: u32) -> io::Result<Vec<String>> {
    let mut holders = Vec::new();
    for place in 0..places_max {
        let path = dir.join(place.to_string());
        let file = match File::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            other => other?,
        };
        if lock::is_locked(&file)? {
            holders.push(fs::read_to_string(&path).unwrap_or_default());
        }
    }
    Ok(holders)
}

fn scatter(text: &str) -> u32 {
    // FNV-1a: spread is all that is asked of it.
    text.bytes().fold(0x811c_9dc5, |hash: u32, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests;
