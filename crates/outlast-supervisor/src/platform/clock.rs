//! The clocks.

use std::{io, mem};

fn read(clock: libc::clockid_t) -> u64 {
    // SAFETY: a timespec of zeroes is valid, and the pointer lives through the call.
    let time = unsafe {
        let mut time: libc::timespec = mem::zeroed();
        libc::clock_gettime(clock, &raw mut time);
        time
    };
    let ms = i128::from(time.tv_sec) * 1_000 + i128::from(time.tv_nsec) / 1_000_000;
    u64::try_from(ms).unwrap_or(0)
}

/// Milliseconds of awake time since boot.
pub(crate) fn monotonic_ms() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Milliseconds since the Unix epoch.
pub(crate) fn unix_ms() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Returns a descriptor that becomes readable when the wall clock reaches `unix_ms`, also by a jump.
pub(crate) fn wall_timer(unix_ms: u64) -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: the descriptor is new and owned by nobody else.
    let timer = unsafe {
        let raw = super::check(libc::timerfd_create(libc::CLOCK_REALTIME, flags))?;
        OwnedFd::from_raw_fd(raw)
    };
    let seconds = i64::try_from(unix_ms / 1_000).unwrap_or(i64::MAX);
    let nanos = i64::try_from(unix_ms % 1_000 * 1_000_000).unwrap_or(0);
    // SAFETY: an itimerspec of zeroes is valid; the pointers live through the call.
    unsafe {
        let mut when: libc::itimerspec = mem::zeroed();
        when.it_value.tv_sec = seconds;
        when.it_value.tv_nsec = nanos.max(1);
        super::check(libc::timerfd_settime(
            timer.as_raw_fd(),
            libc::TFD_TIMER_ABSTIME,
            &raw const when,
            std::ptr::null_mut(),
        ))?;
    }
    Ok(timer)
}
