//! A file system of 256 KiB, for tests of what a full disk does.

use outlast_testkit::Home;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// An empty tmpfs, unmounted when dropped.
pub(crate) struct SmallDisk {
    path: PathBuf,
    _home: Home,
}

impl SmallDisk {
    /// Mounts one; `None`, and a line that says so, where that is not allowed.
    pub(crate) fn mount() -> Option<Self> {
        let home = Home::new();
        let path = home.work();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=256k,mode=700", "tmpfs"])
            .arg(&path)
            .output();
        match mounted {
            Ok(output) if output.status.success() => Some(Self { path, _home: home }),
            Ok(_) | Err(_) => {
                println!("not run: a tmpfs cannot be mounted here");
                None
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Takes all of its space but `bytes`, until what is returned is dropped.
    pub(crate) fn fill_but(&self, bytes: usize) -> Filler {
        let path = self.path.join("filler");
        let mut file = File::create(&path).unwrap();
        let block = [b'#'; 4_096];
        let full = loop {
            if let Err(error) = file.write_all(&block) {
                break error;
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        let length = file.metadata().unwrap().len();
        file.set_len(length - bytes as u64).unwrap();
        Filler { path }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a test that failed may still have files open on it.
        let unmounted = Command::new("umount").arg("-l").arg(&self.path).status();
        if !std::thread::panicking() {
            assert!(unmounted.unwrap().success());
        }
    }
}

/// A file that fills a disk until it is dropped.
pub(crate) struct Filler {
    path: PathBuf,
}

impl Drop for Filler {
    fn drop(&mut self) {
        fs::remove_file(&self.path).ok();
    }
}
