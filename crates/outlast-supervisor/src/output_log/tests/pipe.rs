//! What is taken from a pipe is what was written into it, however much that is at once.

use super::{CHUNK, Logged, bytes_at};
use crate::platform::file;
use outlast_journal::limits;
use outlast_testkit::Home;
use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::thread;

const MIB: usize = 1 << 20;

fn pipe() -> (OwnedFd, File) {
    let (read, write) = file::pipe().unwrap();
    (read, File::from(write))
}

/// Writes `length` bytes as they are to stand from the log's beginning on.
fn write_from_start(write: &mut File, length: usize) {
    for at in (0..length).step_by(CHUNK) {
        let part = CHUNK.min(length - at);
        write.write_all(bytes_at(at as u64, part)).unwrap();
    }
}

#[test]
fn much_output_stands_at_its_offsets_byte_by_byte() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), 4 * MIB as u64);
    let (read, mut write) = pipe();
    thread::scope(|scope| {
        scope.spawn(move || {
            let mut at = 0;
            for length in [1, 700, 16_384, 4_097].into_iter().cycle() {
                if at >= 3 * MIB {
                    return;
                }
                write.write_all(bytes_at(at as u64, length)).unwrap();
                at += length;
            }
        });
        while logged.log.take(&read, limits::PIPE_BULK_BYTES).unwrap() > 0 {}
    });
    assert!(logged.log.bytes() >= 3 * MIB as u64);
    logged.assert_all_right();
}

#[test]
fn a_run_that_has_become_quiet_has_no_large_buffer() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), MIB as u64);
    let (read, mut write) = pipe();
    write_from_start(&mut write, 2 * limits::PIPE_BUFFER_BYTES - 1);
    let taken = logged.log.take(&read, limits::PIPE_BULK_BYTES).unwrap();
    assert_eq!(taken, limits::PIPE_BUFFER_BYTES);
    assert_eq!(logged.log.bulk.len(), limits::PIPE_BULK_BYTES);
    let taken = logged.log.take(&read, limits::PIPE_BULK_BYTES).unwrap();
    assert_eq!(taken, limits::PIPE_BUFFER_BYTES - 1);
    assert_eq!(logged.log.bulk.capacity(), 0);
    logged.assert_all_right();
}

#[test]
fn no_more_is_taken_than_was_asked_for() {
    let home = Home::new();
    let mut logged = Logged::new(home.work(), MIB as u64);
    let (read, mut write) = pipe();
    write_from_start(&mut write, 2 * limits::PIPE_BUFFER_BYTES);
    for most in [1, 100, limits::PIPE_BUFFER_BYTES, 50] {
        assert_eq!(logged.log.take(&read, most).unwrap(), most);
    }
    logged.assert_all_right();
}
