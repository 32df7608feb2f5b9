//! Space of files: reserve it, free the middle, ask what file system it is.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

fn offset(value: u64) -> libc::off_t {
    libc::off_t::try_from(value).unwrap_or(libc::off_t::MAX)
}

/// Reserves the first `bytes` of `file` on disk without changing its length.
pub(crate) fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let result = unsafe {
        libc::fallocate(
            file.as_raw_fd(),
            libc::FALLOC_FL_KEEP_SIZE,
            0,
            offset(bytes),
        )
    };
    super::check(result).map(drop)
}

/// Frees `from..to` of `file`; what is read there are zeroes then.
pub(crate) fn punch(file: &File, from: u64, to: u64) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let result = unsafe {
        libc::fallocate(
            file.as_raw_fd(),
            libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE,
            offset(from),
            offset(to - from),
        )
    };
    super::check(result).map(drop)
}

/// Returns how many bytes can be read from a pipe at this instant.
pub(crate) fn bytes_readable(pipe: impl AsFd) -> io::Result<usize> {
    let mut count: libc::c_int = 0;
    // SAFETY: FIONREAD writes one int, which lives through the call.
    let result = unsafe { libc::ioctl(pipe.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut count) };
    super::check(result)?;
    Ok(usize::try_from(count).unwrap_or(0))
}

/// Returns the magic number of the file system that `file` lies on.
pub(crate) fn file_system(file: &File) -> io::Result<u64> {
    // SAFETY: a statfs of zeroes is valid, and the pointer lives through the call.
    unsafe {
        let mut stat: libc::statfs = std::mem::zeroed();
        super::check(libc::fstatfs(file.as_raw_fd(), &raw mut stat))?;
        Ok(stat.f_type.unsigned_abs())
    }
}

/// Reads into `buffer`.
pub(crate) fn read(from: impl AsFd, buffer: &mut [u8]) -> io::Result<usize> {
    let from = from.as_fd().as_raw_fd();
    // SAFETY: pointer and length are those of `buffer`.
    super::retry(|| unsafe { libc::read(from, buffer.as_mut_ptr().cast(), buffer.len()) })
}

/// Writes from `bytes`; returns how many were taken.
pub(crate) fn write(to: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
    let to = to.as_fd().as_raw_fd();
    // SAFETY: pointer and length are those of `bytes`.
    super::retry(|| unsafe { libc::write(to, bytes.as_ptr().cast(), bytes.len()) })
}

/// Goes back to the beginning of a file.
pub(crate) fn rewind(file: impl AsFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    let at = unsafe { libc::lseek(file.as_fd().as_raw_fd(), 0, libc::SEEK_SET) };
    super::check(libc::c_int::try_from(at).unwrap_or(-1)).map(drop)
}

/// Makes reads and writes return at once.
pub(crate) fn set_nonblocking(descriptor: impl AsFd) -> io::Result<()> {
    let raw = descriptor.as_fd().as_raw_fd();
    // SAFETY: no memory is passed.
    unsafe {
        let flags = super::check(libc::fcntl(raw, libc::F_GETFL))?;
        super::check(libc::fcntl(raw, libc::F_SETFL, flags | libc::O_NONBLOCK)).map(drop)
    }
}

/// Lets others write to a pipe by its path under `/proc`, as a command under another user does.
pub(crate) fn let_others_write(pipe: impl AsFd) -> io::Result<()> {
    // SAFETY: no memory is passed.
    super::check(unsafe { libc::fchmod(pipe.as_fd().as_raw_fd(), 0o622) }).map(drop)
}

/// Lets a pipe hold `bytes`, where the user may have so much in pipes.
pub(crate) fn widen(pipe: impl AsFd, bytes: usize) -> io::Result<()> {
    let bytes = libc::c_int::try_from(bytes).unwrap_or(libc::c_int::MAX);
    // SAFETY: no memory is passed.
    super::check(unsafe { libc::fcntl(pipe.as_fd().as_raw_fd(), libc::F_SETPIPE_SZ, bytes) })
        .map(drop)
}

/// Makes a pipe whose ends are closed by exec.
pub(crate) fn pipe() -> io::Result<(std::os::fd::OwnedFd, std::os::fd::OwnedFd)> {
    use std::os::fd::{FromRawFd, OwnedFd};
    let mut ends = [0; 2];
    // SAFETY: `ends` has room for two; both are new and owned by nobody else.
    unsafe {
        super::check(libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC))?;
        Ok((OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1])))
    }
}
