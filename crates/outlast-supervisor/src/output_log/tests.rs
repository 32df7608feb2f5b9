//! Every byte stands at its offset or in the gap, and the disk is never asked for more
//! than the cap.
//!
//! The bytes written are never NUL, so that a hole cannot pass for output. What a full
//! disk does is in `full_disk`.

mod full_disk;
mod pipe;

use super::OutputLog;
use outlast_journal::{Gap, names};
use outlast_testkit::Home;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

const MIB: u64 = 1 << 20;
/// What one read of the pipe gives at most.
const CHUNK: usize = 16 << 10;
/// A prime, so that no block has the bytes of its neighbour.
const PERIOD: u64 = 65_521;

static BYTES: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..PERIOD + CHUNK as u64)
        .map(|at| u8::try_from(at % PERIOD % 255).unwrap() + 1)
        .collect()
});

/// The bytes of all logs here at `from`, at most a chunk.
fn bytes_at(from: u64, length: usize) -> &'static [u8] {
    let from = usize::try_from(from % PERIOD).unwrap();
    &BYTES[from..from + length]
}

/// A log in a directory of its own.
struct Logged {
    log: OutputLog,
    dir: PathBuf,
    file: File,
    cap: u64,
}

impl Logged {
    fn new(dir: PathBuf, cap: u64) -> Self {
        let log = OutputLog::create(&dir, cap).unwrap();
        let file = File::open(dir.join(names::OUTPUT)).unwrap();
        Self {
            log,
            dir,
            file,
            cap,
        }
    }

    fn append(&mut self, length: usize) {
        self.log.append(bytes_at(self.log.bytes(), length));
    }

    fn append_all(&mut self, mut length: u64) {
        while length > 0 {
            let part = length.min(CHUNK as u64);
            self.append(usize::try_from(part).unwrap());
            length -= part;
        }
    }

    /// The gap as a reader finds it.
    fn gap(&self) -> Option<Gap> {
        let file = self.dir.join(names::GAP);
        file.exists()
            .then(|| Gap::from_file(&fs::read(file).unwrap()).expect("a whole gap file"))
    }

    fn kept(&self) -> u64 {
        self.log.bytes() - self.gap().map_or(0, Gap::bytes)
    }

    fn disk_bytes(&self) -> u64 {
        self.file.metadata().unwrap().blocks() * 512
    }

    #[track_caller]
    fn assert_right(&self, from: u64, to: u64) {
        let mut buffer = [0; CHUNK];
        let mut at = from;
        while at < to {
            let part = usize::try_from((to - at).min(CHUNK as u64)).unwrap();
            self.file.read_exact_at(&mut buffer[..part], at).unwrap();
            let is_right = buffer[..part] == *bytes_at(at, part);
            assert!(is_right, "wrong bytes in {at}..{}", at + part as u64);
            at += part as u64;
        }
    }

    /// Looks at every byte that the gap does not cover.
    #[track_caller]
    fn assert_all_right(&self) {
        let bytes = self.log.bytes();
        assert_eq!(self.file.metadata().unwrap().len(), bytes);
        let gap = self.gap().unwrap_or(Gap {
            from: bytes,
            to: bytes,
        });
        self.assert_right(0, gap.from);
        self.assert_right(gap.to, bytes);
    }

    /// Looks at the bytes beside the gap and at the newest.
    #[track_caller]
    fn assert_borders_right(&self) {
        let bytes = self.log.bytes();
        if let Some(gap) = self.gap() {
            self.assert_right(gap.from.saturating_sub(64), gap.from);
            self.assert_right(gap.to, bytes.min(gap.to + 64));
        }
        self.assert_right(bytes.saturating_sub(64), bytes);
    }
}

#[test]
fn an_empty_log_is_an_empty_private_file() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), MIB);
    logged.log.trim_all();
    let meta = fs::metadata(logged.dir.join(names::OUTPUT)).unwrap();
    assert_eq!((meta.len(), meta.mode() & 0o777), (0, 0o600));
    assert_eq!((logged.log.bytes(), logged.log.lost_bytes()), (0, 0));
    assert_eq!(logged.log.last_output_at(), None);
    assert_eq!(logged.log.tail(&mut [0; 64]), 0);
    assert_eq!(logged.gap(), None);
}

#[test]
fn nothing_is_cut_up_to_the_cap_and_one_block_beyond_it() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), MIB);
    logged.append_all(MIB);
    logged.log.trim_all();
    assert_eq!(logged.gap(), None);
    logged.assert_all_right();
    logged.append(1);
    logged.log.trim_all();
    let head = MIB / 4;
    let gap = Gap {
        from: head,
        to: head + 4_096,
    };
    assert_eq!(logged.gap(), Some(gap));
    logged.assert_all_right();
    assert_eq!(logged.disk_bytes(), MIB);
}

/// 50 MiB pass a cap of 1 MiB. The bound is that of a run with this cap.
#[test]
fn the_disk_never_holds_more_than_the_cap_and_a_sixteenth() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), MIB);
    let mut most = 0;
    for step in 0..50 * MIB / CHUNK as u64 {
        logged.append(CHUNK);
        most = most.max(logged.disk_bytes());
        let slack = MIB / 32;
        assert!(logged.kept() <= MIB + slack);
        logged.assert_borders_right();
        if step % 500 == 0 {
            logged.assert_all_right();
        }
    }
    assert!(most <= 1_114_112, "{most} bytes on disk");
    logged.log.trim_all();
    let gap = Gap {
        from: MIB / 4,
        to: 50 * MIB - MIB / 4 * 3,
    };
    assert_eq!(logged.gap(), Some(gap));
    assert_eq!(logged.kept(), MIB);
    assert_eq!(logged.log.bytes(), 50 * MIB);
    assert_eq!(logged.log.lost_bytes(), 0);
    assert!(logged.disk_bytes() <= MIB);
    logged.assert_all_right();
}

/// A reader looks at the bytes, finds a hole, and looks at the gap after that.
#[test]
fn a_reader_never_finds_a_hole_that_was_not_said_before() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), 64 << 10);
    let holes = AtomicU64::new(0);
    thread::scope(|scope| {
        let (holes, dir) = (&holes, home.work());
        let reader = scope.spawn(move || while read_once(&dir, holes) {});
        for count in 0..100_000 {
            logged.append(CHUNK / 2);
            let is_enough = count > 3_000 && holes.load(Ordering::Relaxed) > 500;
            if is_enough || reader.is_finished() {
                break;
            }
        }
        // This length is the sign that nothing more will come.
        logged.append(1);
    });
    logged.assert_all_right();
    assert!(holes.into_inner() > 500, "the reader was never fast enough");
}

/// Reads the newest blocks and counts those that are holes; false when the log is done.
fn read_once(dir: &Path, holes: &AtomicU64) -> bool {
    let file = File::open(dir.join(names::OUTPUT)).unwrap();
    let length = file.metadata().unwrap().len();
    let mut block = [0; 4_096];
    for number in (0..length / 4_096).rev().take(24) {
        let from = number * 4_096;
        file.read_exact_at(&mut block, from).unwrap();
        if let Some(hole) = block.iter().position(|byte| *byte == 0) {
            let at = from + hole as u64;
            let gap = gap_of(dir);
            let is_said = (gap.from..gap.to).contains(&at);
            assert!(is_said, "a hole at {at}, and {gap:?} is said");
            holes.fetch_add(1, Ordering::Relaxed);
        }
    }
    length.is_multiple_of(2)
}

/// The gap file, read again while it is being written.
fn gap_of(dir: &Path) -> Gap {
    loop {
        let file = fs::read(dir.join(names::GAP)).expect("the gap was said before the hole");
        if let Some(gap) = Gap::from_file(&file) {
            return gap;
        }
    }
}

#[test]
fn the_tail_is_the_newest_output() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), MIB);
    let mut buffer = [0; 4_096];
    logged.append(10);
    assert_eq!(logged.log.tail(&mut buffer), 10);
    assert_eq!(buffer[..10], *bytes_at(0, 10));
    for total in [4_096, 5_000, 3 * MIB] {
        logged.append_all(total - logged.log.bytes());
        assert_eq!(logged.log.tail(&mut buffer), 4_096);
        assert_eq!(buffer, *bytes_at(total - 4_096, 4_096));
    }
    assert_eq!(logged.log.tail(&mut []), 0);
    assert!(logged.log.last_output_at().is_some());
}

#[test]
fn a_file_system_that_cannot_free_the_middle_is_not_written_beyond_the_cap() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), 64 << 10);
    logged.log.can_punch = false;
    logged.append_all(MIB);
    logged.log.trim_all();
    let gap = Gap {
        from: 64 << 10,
        to: MIB,
    };
    assert_eq!(logged.gap(), Some(gap));
    assert_eq!(logged.log.bytes(), MIB);
    assert_eq!(logged.log.lost_bytes(), 0);
    assert!(logged.disk_bytes() <= logged.cap);
    logged.assert_all_right();
}

#[test]
fn head_and_tail_are_kept_for_any_cap_and_any_pieces() {
    let home = Home::new();
    let pieces = prop::collection::vec(1..=CHUNK, 0..24);
    let tried = TestRunner::default().run(&(16_384..100_000_u64, pieces), |(cap, pieces)| {
        let dir = home.work().join("run");
        fs::create_dir(&dir)?;
        let mut logged = Logged::new(dir.clone(), cap);
        for piece in &pieces {
            logged.append(*piece);
            logged.assert_borders_right();
        }
        logged.log.trim_all();
        logged.assert_all_right();
        let bytes = pieces.iter().sum::<usize>() as u64;
        prop_assert_eq!(logged.log.bytes(), bytes);
        prop_assert!(logged.kept() <= cap);
        match logged.gap() {
            None => prop_assert!(bytes <= cap),
            Some(gap) => {
                let head = cap / 4 / 4_096 * 4_096;
                let tail = cap - head;
                prop_assert_eq!(gap.from, head);
                prop_assert!(gap.to >= bytes - tail && gap.to - (bytes - tail) < 4_096);
                prop_assert!(logged.kept() > cap - 4_096);
            }
        }
        fs::remove_dir_all(&dir)?;
        Ok(())
    });
    tried.unwrap();
}
