//! The soft limit of open files of this process.

/// Returns the soft and the hard limit of open files.
pub(crate) fn limits() -> Option<(u64, u64)> {
    let mut now = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the structure lives through the call.
    let result = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut now) };
    (result == 0).then_some((now.rlim_cur, now.rlim_max))
}

/// Sets the soft limit as far as the hard one allows, and returns whether it did.
///
/// It makes two system calls and nothing else, so that a child may call it before its exec.
pub(crate) fn set_soft(soft: u64) -> bool {
    let Some((_, hard)) = limits() else {
        return false;
    };
    let wanted = libc::rlimit {
        rlim_cur: soft.min(hard),
        rlim_max: hard,
    };
    // SAFETY: the structure lives through the call.
    unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const wanted) == 0 }
}
