//! The words of `run` as a request to the library.

use crate::{
    cli::RunArguments,
    failure::{Failure, exit},
    surroundings::work_dir,
    values::SandboxWord,
};
use jiff::tz::TimeZone;
use outlast_lib::{
    CommandLine, Containment, Lifetime, Network, Origin, ProcessRef, Request, RequestError, Tier,
    limits,
};
use outlast_supervisor::{clock, process};
use std::{
    env,
    ffi::OsString,
    io::{self, Read},
    path::PathBuf,
};

/// Word that means stdin in place of a text.
const STDIN: &str = "-";

/// Returns the request that `arguments` make.
///
/// # Errors
///
/// Fails on what only the command line can get wrong; the rest is for the library to check.
pub(super) fn request(arguments: RunArguments) -> Result<Request, Failure> {
    let containment = containment(&arguments)?;
    let holder = holder(&arguments)?;
    let environment: Vec<(OsString, OsString)> = env::vars_os().collect();
    check_secrets(&arguments, &environment)?;
    let cwd = cwd(arguments.cwd.as_ref())?;
    let command = command(
        &arguments.words,
        arguments.is_shell,
        Shell {
            login: arguments.login,
            pipefail: arguments.pipefail,
        },
    )?;
    let now = clock::now();
    Ok(Request {
        environment,
        env_set: arguments
            .env
            .into_iter()
            .map(|pair| (pair.name, pair.value))
            .collect(),
        secret_env: arguments.secret_env,
        label: arguments.label,
        session: arguments.session,
        timeout_ms: arguments.timeout_ms,
        deadline: arguments
            .deadline
            // Looked for only when it is needed: that reads a folder of hundreds of files.
            .map(|deadline| deadline.resolve(now, &TimeZone::system())),
        grace_ms: arguments.grace_ms,
        stop_signal: arguments.stop_signal,
        stop_command: arguments.stop_command,
        output_bytes_max: arguments.max_output,
        leftovers: arguments.leftovers.into(),
        lifetime: arguments.lifetime.into(),
        holder,
        stdin: arguments.stdin.into(),
        is_queued: arguments.queue_ms.is_some(),
        queue_ms: arguments.queue_ms.flatten(),
        idle_ttl_ms: arguments.idle_ttl_ms,
        idempotency_key: arguments.idempotency_key,
        origin: Origin {
            host: Some("cli".to_owned()),
            ..Origin::default()
        },
        containment,
        ..Request::new(command, cwd)
    })
}

/// Returns what is to contain the run, if anything is.
///
/// # Errors
///
/// Fails with exit code 126 on what this version cannot bind, and on bounds of a run that nothing
/// contains: a run is never started with less than was asked for.
pub(super) fn containment(arguments: &RunArguments) -> Result<Option<Containment>, Failure> {
    check_image(arguments)?;
    let tier = match arguments.sandbox {
        None if arguments.image.is_some() => Tier::SandboxEdit,
        None | Some(SandboxWord::Host) => Tier::FullAccess,
        Some(SandboxWord::Read) => Tier::ReadOnly,
        Some(SandboxWord::Edit) => Tier::SandboxEdit,
    };
    if tier == Tier::FullAccess {
        return uncontained(arguments);
    }
    Ok(Some(Containment {
        image: arguments.image.clone(),
        ..arguments.bounds.of(tier)
    }))
}

/// Refuses what no container does.
fn check_image(arguments: &RunArguments) -> Result<(), Failure> {
    let Some(image) = &arguments.image else {
        return Ok(());
    };
    let refused = |fact: &str, hint: &str| {
        let code = "containment_unavailable";
        Err(Failure::plain(
            code,
            fact.to_owned(),
            hint,
            exit::NOT_STARTED,
        ))
    };
    if image.trim().is_empty() {
        return refused(
            "`--image` names no image",
            "name one after --image that `docker images` shows",
        );
    }
    if matches!(arguments.sandbox, Some(SandboxWord::Host)) {
        return refused(
            "a run in an image is contained, and `--sandbox host` asks for none of it",
            "say --sandbox edit or --sandbox read, or leave --image away",
        );
    }
    if matches!(arguments.bounds.network, Some(Network::Allow(_))) {
        return refused(
            "a container has no way to the hosts of `--network allow`",
            "leave --image away, or say --network none or --network full",
        );
    }
    Ok(())
}

fn uncontained(arguments: &RunArguments) -> Result<Option<Containment>, Failure> {
    match arguments.bounds.of_contained_alone() {
        None => Ok(None),
        Some(option) => Err(Failure::plain(
            "containment_unavailable",
            format!("`{option}` bounds nothing on the host, where nothing contains the run"),
            &format!("add --sandbox edit or --sandbox read, or leave {option} away"),
            exit::NOT_STARTED,
        )),
    }
}

/// How a shell is to run a text.
#[derive(Clone, Copy)]
struct Shell {
    login: bool,
    pipefail: bool,
}

fn command(words: &[OsString], is_shell: bool, shell: Shell) -> Result<CommandLine, Failure> {
    if !is_shell {
        let words: Result<_, _> = words.iter().map(|word| text("argument", word)).collect();
        return Ok(CommandLine::Direct(words?));
    }
    let [word] = words else {
        let count = words.len();
        return Err(Failure::plain(
            "usage",
            format!("`-c` takes one text and there are {count}"),
            "put the text into quotes, and options before it",
            exit::USAGE,
        ));
    };
    let text = if word == STDIN {
        stdin_text()?
    } else {
        text("command", word)?
    };
    Ok(CommandLine::Shell {
        text,
        login: shell.login,
        pipefail: shell.pipefail,
    })
}

fn text(what: &'static str, word: &OsString) -> Result<String, Failure> {
    match word.to_str() {
        Some(text) => Ok(text.to_owned()),
        None => Err(not_utf8(what, &word.to_string_lossy())),
    }
}

fn not_utf8(what: &'static str, lossy: &str) -> Failure {
    /// Columns of a message that a wrong text is worth.
    const SHOWN_CHARS: usize = 80;
    let error = RequestError::NotUtf8 {
        what,
        lossy: lossy.chars().take(SHOWN_CHARS).collect(),
    };
    Failure::new(&error, exit::USAGE)
}

/// Reads the text of a command from stdin, and no more than one byte beyond the limit.
pub(crate) fn stdin_text() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let bytes_max = limits::COMMAND_BYTES_MAX;
    let limit = u64::try_from(bytes_max)
        .unwrap_or(u64::MAX)
        .saturating_add(1);
    let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
    read.map_err(|error| {
        let message = format!("cannot read the command from stdin: {error}");
        Failure::plain(
            "stdin_unreadable",
            message,
            "give the text as a word",
            exit::USAGE,
        )
    })?;
    if bytes.len() > bytes_max {
        return Err(Failure::plain(
            "too_long",
            format!("the command on stdin has more than {bytes_max} bytes, which is the limit"),
            "write the text into a script and run that",
            exit::USAGE,
        ));
    }
    String::from_utf8(bytes)
        .map_err(|error| not_utf8("command", &String::from_utf8_lossy(error.as_bytes())))
}

/// Returns the directory to run in. That it exists is for the run to find out.
pub(crate) fn cwd(asked: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    let here = || work_dir().map_err(|error| Failure::new(&error, exit::NOT_STARTED));
    let cwd = match asked {
        Some(path) if path.is_absolute() => path.clone(),
        Some(path) => here()?.join(path),
        None => here()?,
    };
    // A record is text: one that only looked like the path would name another directory.
    if cwd.to_str().is_none() {
        return Err(not_utf8("working directory", &cwd.to_string_lossy()));
    }
    Ok(cwd)
}

/// Returns the process whose end ends the run, if one is to.
fn holder(arguments: &RunArguments) -> Result<Option<ProcessRef>, Failure> {
    let lifetime: Lifetime = arguments.lifetime.into();
    match (lifetime, arguments.session_pid, arguments.wait) {
        (Lifetime::Detached, None, _) => Ok(None),
        (Lifetime::Detached, Some(_), _) => Err(Failure::plain(
            "usage",
            "`--session-pid` says nothing about a detached run".to_owned(),
            "add --lifetime session, or leave --session-pid away",
            exit::USAGE,
        )),
        (Lifetime::Session, Some(pid), _) => match process::current(pid) {
            Some(process) => Ok(Some(process)),
            None => Err(Failure::plain(
                "no_such_process",
                format!("there is no process {pid} to hold the run"),
                "give the pid of a live process, such as $$",
                exit::USAGE,
            )),
        },
        (Lifetime::Session, None, true) => Ok(Some(process::own())),
        (Lifetime::Session, None, false) => Err(Failure::plain(
            "no_holder",
            "nothing says whose end ends the run".to_owned(),
            "add --wait to hold it by this command, or --session-pid PID",
            exit::USAGE,
        )),
    }
}

fn check_secrets(
    arguments: &RunArguments,
    environment: &[(OsString, OsString)],
) -> Result<(), Failure> {
    let is_known = |name: &str| {
        let is_inherited = environment.iter().any(|(known, _)| known == name);
        is_inherited || arguments.env.iter().any(|pair| pair.name == name)
    };
    match arguments.secret_env.iter().find(|name| !is_known(name)) {
        None => Ok(()),
        Some(name) => {
            let name: String = name.split('=').take(1).collect();
            Err(Failure::plain(
                "secret_not_set",
                format!("the environment has no variable `{name}`"),
                "export it first; `--secret-env` takes a name and reads the value itself",
                exit::USAGE,
            ))
        }
    }
}

#[cfg(test)]
mod tests;
