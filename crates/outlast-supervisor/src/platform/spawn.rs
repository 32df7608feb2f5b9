//! Fork and exec: of a command, with nothing of the supervisor in it, and of a supervisor,
//! with nothing of its launcher above it.
//!
//! The child shares our memory until its exec, so that it costs the same in a host of any size.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Stack of a child until exec, in words of 16 bytes: 16 KiB, far more than its few calls need.
const STACK_WORDS: usize = 1_024;

/// What is to be executed.
pub(crate) struct Exec<'a> {
    /// Paths to try, in order, as a search of PATH would.
    pub(crate) paths: &'a [CString],
    /// Its words.
    pub(crate) argv: &'a [&'a CStr],
    /// Its environment, `NAME=VALUE` each.
    pub(crate) environment: &'a [&'a CStr],
    /// Its directory.
    pub(crate) cwd: &'a CStr,
    /// What it reads.
    pub(crate) stdin: BorrowedFd<'a>,
    /// Where both of its output streams go.
    pub(crate) output: BorrowedFd<'a>,
    /// What it gets as 3 and 4; only our own processes get any. None stands before one.
    pub(crate) extra: [Option<BorrowedFd<'a>>; 2],
}

/// What could not be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Making the process.
    Fork,
    /// Going to its directory.
    Chdir,
    /// Executing the path with this index, the last one that says why.
    Exec(usize),
}

/// What the child reads and writes in the memory that it shares with us until exec.
struct Shared {
    paths: *const *const c_char,
    paths_count: usize,
    argv: *const *const c_char,
    environment: *const *const c_char,
    cwd: *const c_char,
    stdin: c_int,
    output: c_int,
    /// Negative when there is none.
    extra: [c_int; 2],
    /// Where the stack of a grandchild begins: stacks grow downwards.
    inner_stack_end: *mut c_void,
    /// Soft limit of open files.
    files: Option<u64>,
    failed_step: usize,
    errno: c_int,
}

const NOTHING_FAILED: usize = usize::MAX;
const CHDIR_FAILED: usize = usize::MAX - 1;
const FORK_FAILED: usize = usize::MAX - 2;

/// Starts the command and returns its process id once the exec has succeeded.
///
/// The parent sleeps until then (`CLONE_VFORK`), so what the child writes into the
/// shared memory before it gives up is the answer, and no pipe is needed.
pub(crate) fn spawn(exec: &Exec<'_>) -> Result<i32, (Step, io::Error)> {
    start(exec, None, child, libc::SIGCHLD)
}

/// Starts a program that is no child of this process, once its exec has succeeded: its
/// parent is gone then. With `files` it has that soft limit of open files, as far as the
/// hard one allows, else this process's own.
///
/// Nobody here hears of the child in between: it has no signal for its end.
pub(crate) fn spawn_apart(exec: &Exec<'_>, files: Option<u64>) -> Result<(), (Step, io::Error)> {
    let started = super::signal::with_all_blocked(|| start(exec, files, child_between, 0));
    super::process::wait_for(started?);
    Ok(())
}

/// Forks with `entry` and waits for its exec or end. Every signal must be blocked.
fn start(
    exec: &Exec<'_>,
    files: Option<u64>,
    entry: extern "C" fn(*mut c_void) -> c_int,
    end_signal: c_int,
) -> Result<i32, (Step, io::Error)> {
    let paths: Vec<*const c_char> = exec.paths.iter().map(|path| path.as_ptr()).collect();
    let argv = pointers(exec.argv);
    let environment = pointers(exec.environment);
    // Not zeroed: pages that no child uses are never made.
    let mut stacks: Vec<u128> = Vec::with_capacity(2 * STACK_WORDS);
    let mut stack_end = |number: usize| {
        let end = stacks.as_mut_ptr().wrapping_add(number * STACK_WORDS);
        end.cast::<c_void>()
    };
    let (stack_end, inner_stack_end) = (stack_end(1), stack_end(2));
    let mut shared = Shared {
        paths: paths.as_ptr(),
        paths_count: paths.len(),
        argv: argv.as_ptr(),
        environment: environment.as_ptr(),
        cwd: exec.cwd.as_ptr(),
        stdin: exec.stdin.as_raw_fd(),
        output: exec.output.as_raw_fd(),
        extra: exec.extra.map(|one| one.map_or(-1, |one| one.as_raw_fd())),
        inner_stack_end,
        files,
        failed_step: NOTHING_FAILED,
        errno: 0,
    };
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | end_signal;
    // SAFETY: the stacks are ours; `shared` and all it points at live until the call
    // returns, which is after the exec or the exit of all that share it; these only make
    // system calls, and every signal is blocked in this thread.
    let pid = unsafe {
        let shared = (&raw mut shared).cast::<c_void>();
        libc::clone(entry, stack_end, flags, shared)
    };
    let pid = super::check(pid).map_err(|error| (Step::Fork, error))?;
    let error = io::Error::from_raw_os_error(shared.errno);
    let step = match shared.failed_step {
        NOTHING_FAILED => return Ok(pid),
        FORK_FAILED => Step::Fork,
        CHDIR_FAILED => Step::Chdir,
        index => Step::Exec(index),
    };
    super::process::wait_for(pid);
    Err((step, error))
}

fn pointers(words: &[&CStr]) -> Vec<*const c_char> {
    let words = words.iter().map(|word| word.as_ptr());
    words.chain(std::iter::once(std::ptr::null())).collect()
}

/// Starts the program and leaves, so that it has no parent here.
extern "C" fn child_between(argument: *mut c_void) -> c_int {
    // SAFETY: as in `child`; the inner stack is used by nobody else, and we sleep until
    // the grandchild has left our memory.
    unsafe {
        let shared = &mut *argument.cast::<Shared>();
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
        if libc::clone(child, shared.inner_stack_end, flags, argument) < 0 {
            shared.errno = *libc::__errno_location();
            shared.failed_step = FORK_FAILED;
        }
        libc::_exit(0);
    }
}

/// Puts what is handed down at 3 and 4, and returns the first number that is not used.
fn hand_extra_down(extra: [c_int; 2]) -> c_int {
    let mut next = 3;
    // SAFETY: numbers only. Each is copied above both places first, since it may lie in one; of
    // a negative number there is no copy.
    unsafe {
        let above = extra.map(|one| libc::fcntl(one, libc::F_DUPFD, 5));
        for one in above {
            if one >= 0 {
                libc::dup2(one, next);
                next += 1;
            }
        }
    }
    next
}

extern "C" fn child(argument: *mut c_void) -> c_int {
    // SAFETY: the parent passes a `Shared` that outlives us and sleeps meanwhile; every
    // call here is a plain system call; after a failure we leave without unwinding.
    unsafe {
        let shared = &mut *argument.cast::<Shared>();
        libc::setsid();
        libc::dup2(shared.stdin, 0);
        libc::dup2(shared.output, 1);
        libc::dup2(shared.output, 2);
        if libc::chdir(shared.cwd) != 0 {
            shared.errno = *libc::__errno_location();
            shared.failed_step = CHDIR_FAILED;
            libc::_exit(127);
        }
        // The child has a table of descriptors of its own and needs none of these any more.
        libc::syscall(
            libc::SYS_close_range,
            hand_extra_down(shared.extra),
            u32::MAX,
            0,
        );
        // Last, since no number at or above the limit can be made.
        if let Some(files) = shared.files {
            super::files::set_soft(files);
        }
        super::signal::reset_all();
        let (mut errno, mut failed) = (libc::ENOENT, 0);
        for index in 0..shared.paths_count {
            libc::execve(*shared.paths.add(index), shared.argv, shared.environment);
            let why = *libc::__errno_location();
            // A later folder of PATH may hold the program: only the most telling error
            // is kept, as a shell does.
            if index == 0 || !matches!(why, libc::ENOENT | libc::ENOTDIR) {
                (errno, failed) = (why, index);
            }
            if !matches!(why, libc::ENOENT | libc::ENOTDIR | libc::EACCES) {
                break;
            }
        }
        shared.errno = errno;
        shared.failed_step = failed;
        libc::_exit(127);
    }
}
