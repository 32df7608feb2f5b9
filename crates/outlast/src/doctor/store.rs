//! Checks of the store and of the file system below it.

use super::{Check, Group, Level};
use crate::{
    surface::{Surface, failed},
    words,
};
use outlast_lib::{Access, Advice, Damage, ListQuery, RunId, Store, network_name};
use outlast_supervisor::{fsio, lock};
use rustix::fs::statvfs;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

const STORE: Group = Group("store");
const FILES: Group = Group("file system");

/// Less free space than this is worth a warning: two full logs.
const FREE_BYTES_WARN: u64 = 128 << 20;
/// With less than this a start may fail: journal, spec and room to spare.
const FREE_BYTES_FAIL: u64 = 1 << 20;
/// Fewer free files than this are worth a warning: a run has about ten.
const FREE_FILES_WARN: u64 = 1_000;
/// Bytes of the file that holes are tried on: several blocks of any file system.
const TRIAL_BYTES: usize = 256 << 10;
/// Name of that file.
const TRIAL: &str = ".doctor";

/// Checks the store that the environment names. Makes none where there is none.
pub(super) fn checks(surface: &Surface) -> Vec<Check> {
    let root = match surface.surroundings.store() {
        Ok(root) => root,
        Err(error) => return vec![STORE.failure("path", error.to_string(), &error.hint())],
    };
    let mut checks = vec![configuration(surface)];
    let Some(there) = nearest(&root) else {
        checks.push(STORE.failure("path", "no part of its path exists", "set OUTLAST_HOME"));
        return checks;
    };
    if there == root {
        checks.push(STORE.fine("path", root.display().to_string()));
        let owner = owner(&root);
        // A store with a wrong owner does not open, for the reason that was just given.
        let is_ours = owner.level == Level::Fine;
        checks.push(owner);
        if is_ours {
            checks.push(opened(surface, &root));
        }
    } else {
        let message = format!(
            "{} is not there yet; the first run makes it",
            root.display()
        );
        checks.push(STORE.fine("path", message));
    }
    checks.push(space(&there));
    checks.push(kind(&there));
    if there == root {
        checks.extend(trials(&root));
    }
    checks
}

/// Returns the part of `path` that exists.
fn nearest(path: &Path) -> Option<PathBuf> {
    path.ancestors()
        .find(|part| part.exists())
        .map(Path::to_owned)
}

fn configuration(surface: &Surface) -> Check {
    match crate::config::Config::load(surface.surroundings.config()) {
        Ok(config) if config.is_there => STORE.fine("config", "the configuration can be used"),
        Ok(_) => STORE.fine("config", "no configuration; the defaults hold"),
        Err(error) => STORE.failure("config", failed(&error).sentence(), &error.hint()),
    }
}

fn owner(root: &Path) -> Check {
    match fs::metadata(root) {
        Ok(meta) => owner_check(root, meta.uid(), meta.mode(), fsio::own_user()),
        Err(error) => STORE.failure(
            "owner",
            format!("it cannot be looked at: {error}"),
            "see its permissions",
        ),
    }
}

fn owner_check(root: &Path, owner: u32, mode: u32, own: u32) -> Check {
    let path = root.display();
    let mode = mode & 0o7777;
    if owner != own {
        let message = format!("it belongs to user {owner} and you are {own}");
        return STORE.failure(
            "owner",
            message,
            "set OUTLAST_HOME to a directory of your own",
        );
    }
    if mode & 0o077 != 0 {
        let message = format!("others have permissions on it: its mode is {mode:04o}");
        return STORE.failure("owner", message, &format!("chmod 700 {path}"));
    }
    STORE.fine("owner", format!("yours alone (mode {mode:04o})"))
}

fn opened(surface: &Surface, root: &Path) -> Check {
    let limits = surface
        .config()
        .map(|config| config.limits)
        .unwrap_or_default();
    let store = match Store::open(root, limits) {
        Ok(store) => store,
        Err(error) => return STORE.failure("open", failed(&error).sentence(), &error.hint()),
    };
    match store.access() {
        Access::Full => index(&store),
        Access::ReadOnly => STORE.warning(
            "open",
            "it can be read and not written: no run can start",
            "make it writable, or set OUTLAST_HOME",
        ),
        Access::Newer { .. } | _ => STORE.warning(
            "open",
            "a newer outlast made it: this one only reads it",
            "install the newer outlast",
        ),
    }
}

/// Whatever the index lacks comes to light when it is used.
fn index(store: &Store) -> Check {
    let query = ListQuery {
        limit: 1,
        ..ListQuery::default()
    };
    let listing = match store.list(&query) {
        Ok(listing) => listing,
        Err(error) => return STORE.failure("index", error.to_string(), &error.hint()),
    };
    if let Some(damage) = listing.damaged.first() {
        let count = words::count(listing.damaged.len() as u64, "thing is", "things are");
        let message = format!(
            "{count} set aside, first {}: {}",
            damage.path.display(),
            damage.what
        );
        return STORE.warning("index", message, &damage_fix(damage));
    }
    match store.counts(None) {
        Ok(counts) => {
            let total = words::count(counts.total, "run", "runs");
            STORE.fine(
                "index",
                format!("{total}, {} of them going on", counts.running),
            )
        }
        Err(error) => STORE.failure("index", error.to_string(), &error.hint()),
    }
}

/// What mends a damage: a run with it can only be removed, and the index is made from the runs.
fn damage_fix(damage: &Damage) -> String {
    let name = damage.path.file_name().and_then(|name| name.to_str());
    let run = name.and_then(|name| RunId::parse(name).ok());
    match run {
        Some(id) if damage.what.contains(SPEC_DAMAGED) => {
            format!("outlast rm {id}, when what it wrote there is not needed")
        }
        Some(_) => "make it readable for you".to_owned(),
        None => "outlast reindex, then outlast ps -a".to_owned(),
    }
}

/// Name of the error that a list says of a run whose spec is damaged.
const SPEC_DAMAGED: &str = "spec_damaged";

fn space(there: &Path) -> Check {
    match statvfs(there) {
        Ok(stat) => space_check(
            stat.f_bavail.saturating_mul(stat.f_frsize),
            stat.f_files,
            stat.f_favail,
        ),
        Err(error) => FILES.warning(
            "space",
            format!("its free space is unknown: {error}"),
            "see `df`",
        ),
    }
}

/// Some file systems count no files; they say 0 of 0.
fn space_check(free_bytes: u64, files: u64, free_files: u64) -> Check {
    let free = format!("{} free", words::bytes(free_bytes));
    let fix = "free some, for example with outlast gc";
    if free_bytes < FREE_BYTES_FAIL {
        return FILES.failure("space", free, fix);
    }
    if files > 0 && free_files < FREE_FILES_WARN {
        return FILES.warning("space", format!("room for {free_files} more files"), fix);
    }
    if free_bytes < FREE_BYTES_WARN {
        return FILES.warning("space", free, fix);
    }
    FILES.fine("space", free)
}

fn kind(there: &Path) -> Check {
    match fsio::file_system(there) {
        Ok(magic) => kind_check(magic),
        Err(error) => FILES.warning(
            "kind",
            format!("its kind is unknown: {error}"),
            "see `df -T`",
        ),
    }
}

fn kind_check(magic: u64) -> Check {
    if let Some(name) = network_name(magic) {
        let message = format!("{name} is a network file system: locks and ends could be lost");
        return FILES.failure(
            "kind",
            message,
            "set OUTLAST_HOME to a directory on a local disk",
        );
    }
    let name = file_system_name(magic);
    if matches!(name, Some("tmpfs" | "ramfs")) {
        let message = "it is in memory: records go with a restart of the machine";
        return FILES.warning("kind", message, "set OUTLAST_HOME to a directory on a disk");
    }
    FILES.fine(
        "kind",
        name.map_or_else(|| format!("kind {magic:#x}"), str::to_owned),
    )
}

/// Names of local file systems by the number that `statfs` gives.
fn file_system_name(magic: u64) -> Option<&'static str> {
    Some(match magic {
        0xef53 => "ext4",
        0x5846_5342 => "xfs",
        0x9123_683e => "btrfs",
        0x2fc1_2fc1 => "zfs",
        0xf2f5_2010 => "f2fs",
        0xca45_1a4e => "bcachefs",
        0x0102_1994 => "tmpfs",
        0x8584_58f6 => "ramfs",
        0x794c_7630 => "overlayfs",
        0x6573_5546 => "fuse",
        _ => return None,
    })
}

/// Tries on a file what logs and locks need.
fn trials(root: &Path) -> Vec<Check> {
    let path = root.join(format!("{TRIAL}.{}", std::process::id()));
    let checks = match fsio::open_private(&path) {
        Ok(file) => vec![holes(&file), locks(&file, &path)],
        Err(error) => {
            let message = format!("no file can be made in the store: {error}");
            vec![STORE.failure("write", message, "see its permissions and free space")]
        }
    };
    // It may never have been made.
    fs::remove_file(&path).ok();
    checks
}

fn holes(file: &File) -> Check {
    let blocks = |file: &File| file.metadata().map(|meta| meta.blocks());
    let tried = (|| {
        let mut writer = file;
        writer.write_all(&vec![b'x'; TRIAL_BYTES])?;
        file.sync_data()?;
        let before = blocks(file)?;
        let most = u64::try_from(TRIAL_BYTES).unwrap_or(u64::MAX);
        fsio::punch_hole(file, most / 4, most / 2)?;
        Ok::<bool, io::Error>(blocks(file)? < before)
    })();
    match tried {
        Ok(true) => FILES.fine("holes", "the middle of a long log can be freed"),
        Ok(false) => FILES.warning("holes", "freed parts of a file stay on the disk", HOLES_FIX),
        Err(error) => FILES.warning(
            "holes",
            format!("the middle of a file cannot be freed: {error}"),
            HOLES_FIX,
        ),
    }
}

const HOLES_FIX: &str = "nothing is lost: the middle of a long log is not written instead";

fn locks(file: &File, path: &Path) -> Check {
    let tried = (|| {
        let other = fsio::open_private(path)?;
        let is_taken = lock::try_lock(file)?;
        let is_seen = lock::is_locked(&other)?;
        let is_refused = !lock::try_lock(&other)?;
        Ok::<bool, io::Error>(is_taken && is_seen && is_refused)
    })();
    let fix = "set OUTLAST_HOME to a directory on a local disk";
    match tried {
        Ok(true) => FILES.fine("locks", "locks tell who is alive"),
        Ok(false) => FILES.failure("locks", "locks do not keep others out", fix),
        Err(error) => FILES.failure("locks", format!("there are no OFD locks: {error}"), fix),
    }
}

#[cfg(test)]
mod tests;
