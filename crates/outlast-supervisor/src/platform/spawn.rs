//! Fork and exec of the command, with nothing of the supervisor in it.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Stack of the child until exec, in 8-byte words: 32 KiB, far more than its few calls need.
const STACK_WORDS: usize = 4_096;

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
    failed_step: usize,
    errno: c_int,
}

const NOTHING_FAILED: usize = usize::MAX;
const CHDIR_FAILED: usize = usize::MAX - 1;

/// Starts the command and returns its process id once the exec has succeeded.
///
/// The parent sleeps until then (`CLONE_VFORK`), so what the child writes into the
/// shared memory before it gives up is the answer, and no pipe is needed.
pub(crate) fn spawn(exec: &Exec<'_>) -> Result<i32, (Step, io::Error)> {
    let paths: Vec<*const c_char> = exec.paths.iter().map(|path| path.as_ptr()).collect();
    let argv = pointers(exec.argv);
    let environment = pointers(exec.environment);
    let mut shared = Shared {
        paths: paths.as_ptr(),
        paths_count: paths.len(),
        argv: argv.as_ptr(),
        environment: environment.as_ptr(),
        cwd: exec.cwd.as_ptr(),
        stdin: exec.stdin.as_raw_fd(),
        output: exec.output.as_raw_fd(),
        failed_step: NOTHING_FAILED,
        errno: 0,
    };
    let mut stack = vec![0_u64; STACK_WORDS];
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack is ours and 16-byte aligned at its end; `shared` and all it
    // points at live until the call returns, which is after the child's exec or exit;
    // the child only makes system calls, and every signal is blocked in this thread.
    let pid = unsafe {
        let top = stack.as_mut_ptr().add(STACK_WORDS).cast::<c_void>();
        let top = top.wrapping_sub(top.addr() % 16);
        libc::clone(child, top, flags, (&raw mut shared).cast::<c_void>())
    };
    let pid = super::check(pid).map_err(|error| (Step::Fork, error))?;
    let error = || io::Error::from_raw_os_error(shared.errno);
    match shared.failed_step {
        NOTHING_FAILED => Ok(pid),
        failed => {
            super::process::wait_for(pid);
            let step = match failed {
                CHDIR_FAILED => Step::Chdir,
                index => Step::Exec(index),
            };
            Err((step, error()))
        }
    }
}

fn pointers(words: &[&CStr]) -> Vec<*const c_char> {
    let words = words.iter().map(|word| word.as_ptr());
    words.chain(std::iter::once(std::ptr::null())).collect()
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
        libc::syscall(libc::SYS_close_range, 3, u32::MAX, 0);
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
