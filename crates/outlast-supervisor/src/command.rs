//! Executes the command of a spec, and says in words why it could not be.

use crate::platform::spawn::{self, Exec, Step};
use crate::{launch, process};
use outlast_journal::{Failure, Spec};
use std::ffi::{CStr, CString, OsStr};
use std::fs;
use std::io::{self, Read};
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where a program is looked for when the run has no PATH.
const PATH_DEFAULT: &str = "/usr/local/bin:/usr/bin:/bin";

/// Words, environment and directory of something to execute.
pub(crate) struct Command<'a> {
    /// Its words.
    pub(crate) argv: &'a [String],
    /// `NAME=VALUE` entries, each ended by a NUL.
    pub(crate) environment: &'a [u8],
    /// Its directory.
    pub(crate) cwd: &'a str,
}

impl Command<'_> {
    /// Starts the command; returns its process id once the exec has succeeded.
    pub(crate) fn spawn(
        &self,
        stdin: BorrowedFd<'_>,
        output: BorrowedFd<'_>,
    ) -> Result<i32, Failure> {
        let text = |text: &str| CString::new(text).map_err(|_| nul_failure());
        let words: Result<Vec<CString>, Failure> =
            self.argv.iter().map(|word| text(word)).collect();
        let words = words?;
        let argv: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
        let environment: Vec<&CStr> = self
            .environment
            .split_inclusive(|byte| *byte == 0)
            .filter_map(|entry| CStr::from_bytes_with_nul(entry).ok())
            .collect();
        let paths = self.paths()?;
        let exec = Exec {
            paths: &paths,
            argv: &argv,
            environment: &environment,
            cwd: &text(self.cwd)?,
            stdin,
            output,
            extra: [None; 2],
        };
        spawn::spawn(&exec).map_err(|(step, error)| match step {
            Step::Fork => failure(
                "could_not_start",
                "no process could be made".to_owned(),
                &error,
            ),
            Step::Chdir => self.chdir_failure(&error),
            Step::Exec(index) => self.failure_of(&paths, index, &error),
        })
    }

    /// Returns why the exec of the path with this index failed, in words.
    pub(crate) fn failure_of(&self, paths: &[CString], index: usize, error: &io::Error) -> Failure {
        let path = paths
            .get(index)
            .map(|path| path.to_bytes())
            .unwrap_or_default();
        self.exec_failure(Path::new(OsStr::from_bytes(path)), error)
    }

    /// Returns whether one of the paths of the program is there.
    pub(crate) fn is_there(&self) -> bool {
        let paths = self.paths().unwrap_or_default();
        let place = |path: &CString| Path::new(self.cwd).join(OsStr::from_bytes(path.to_bytes()));
        paths.iter().any(|path| fs::metadata(place(path)).is_ok())
    }

    /// Returns the paths that a search of PATH tries, in order.
    pub(crate) fn paths(&self) -> Result<Vec<CString>, Failure> {
        let program = self.argv.first().map(String::as_str).unwrap_or_default();
        let path = launch::variable(self.environment, "PATH")
            .unwrap_or_else(|| OsStr::new(PATH_DEFAULT))
            .as_bytes();
        let candidates: Vec<Vec<u8>> = if program.contains('/') {
            vec![program.as_bytes().to_vec()]
        } else {
            let folders = path.split(|byte| *byte == b':');
            folders
                .map(|folder| {
                    let folder = if folder.is_empty() { b"." } else { folder };
                    [folder, b"/", program.as_bytes()].concat()
                })
                .collect()
        };
        let paths = candidates
            .into_iter()
            .map(|path| CString::new(path).map_err(|_| nul_failure()));
        paths.collect()
    }

    pub(crate) fn chdir_failure(&self, error: &io::Error) -> Failure {
        let cwd = self.cwd;
        let message = match error.raw_os_error() {
            Some(libc::ENOENT) => format!("the directory `{cwd}` does not exist"),
            Some(libc::ENOTDIR) => format!("`{cwd}` is not a directory"),
            Some(libc::EACCES) => format!("the directory `{cwd}` may not be entered"),
            Some(_) | None => format!("the directory `{cwd}` cannot be entered"),
        };
        failure("work_dir", message, error)
    }

    fn exec_failure(&self, tried: &Path, error: &io::Error) -> Failure {
        let program = self.argv.first().map(String::as_str).unwrap_or_default();
        let path: PathBuf = Path::new(self.cwd).join(tried);
        let (code, message) = match error.raw_os_error() {
            Some(libc::ENOENT) if fs::metadata(&path).is_ok() => {
                ("no_interpreter", missing_interpreter(program, &path))
            }
            Some(libc::ENOENT | libc::ENOTDIR) => {
                let place = if program.contains('/') {
                    ""
                } else {
                    " on PATH"
                };
                (
                    "no_such_program",
                    format!("there is no program `{program}`{place}"),
                )
            }
            Some(libc::EACCES) => ("not_executable", not_executable(program, &path)),
            Some(libc::ENOEXEC) => (
                "exec_format",
                format!("`{program}` has no `#!` line and is no program of this machine"),
            ),
            Some(libc::E2BIG) => (
                "argument_list_too_long",
                "arguments and environment together are longer than the kernel takes".to_owned(),
            ),
            Some(_) | None => (
                "could_not_start",
                format!("`{program}` could not be executed"),
            ),
        };
        failure(code, message, error)
    }
}

fn failure(code: &str, message: String, error: &io::Error) -> Failure {
    Failure {
        code: code.to_owned(),
        message,
        errno: error.raw_os_error(),
    }
}

fn nul_failure() -> Failure {
    Failure {
        code: "nul_byte".to_owned(),
        message: "the command holds a NUL byte".to_owned(),
        errno: None,
    }
}

fn missing_interpreter(program: &str, path: &Path) -> String {
    let mut start = [0; 256];
    let read = fs::File::open(path).and_then(|mut file| file.read(&mut start));
    let line = start.get(..read.unwrap_or(0)).unwrap_or_default();
    let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
    match line.strip_prefix(b"#!") {
        Some(interpreter) => {
            let name = String::from_utf8_lossy(interpreter);
            format!(
                "the interpreter `{}` of `{program}` does not exist",
                name.trim()
            )
        }
        None => format!("the loader that `{program}` needs does not exist"),
    }
}

fn not_executable(program: &str, path: &Path) -> String {
    match fs::metadata(path) {
        Ok(meta) if meta.is_dir() => format!("`{program}` is a directory"),
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
            format!("`{program}` is not marked as executable")
        }
        Ok(_) | Err(_) => format!("`{program}` may not be executed"),
    }
}

/// Returns the words that run a shell text under `shell`, or under `sh`.
pub(crate) fn shell_words(spec: &Spec, text: &str) -> Vec<String> {
    let program = spec
        .shell
        .as_ref()
        .map_or("/bin/sh", |shell| &shell.program);
    vec![program.to_owned(), "-c".to_owned(), text.to_owned()]
}

/// Returns the environment of a stop command: the little that the supervisor still knows.
pub(crate) fn stop_environment(spec: &Spec, main: Option<i32>) -> Vec<u8> {
    let main = main
        .map(|pid| format!("OUTLAST_MAIN_PID={pid}\0"))
        .unwrap_or_default();
    let run = process::cookie(&spec.id);
    format!("PATH={PATH_DEFAULT}\0{run}\0{main}").into_bytes()
}
