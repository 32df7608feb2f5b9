//! `POST /api/runs`: a body to a request.

use super::{Answer, Call};
use crate::{
    failure::{Failure, exit},
    mcp::{ArgumentError, Arguments, REFUSED_ENV, clamp, containment, start_failure},
    sandbox::Asked,
    serve::query::bad,
    values::{milli, size_bytes},
};
use hyper::StatusCode;
use outlast_lib::{
    Begun, CommandLine, Git, Leftovers, Lifetime, Origin, Record, Request, Stdin, Timestamp,
};
use serde::Serialize;
use std::env;

/// Name of the header that makes a repeated request give the same run.
const KEY_HEADER: &str = "idempotency-key";

/// Arguments of a start.
pub(super) const NAMES: [&str; 29] = [
    "command",
    "argv",
    "cwd",
    "label",
    "session",
    "env",
    "secret_env",
    "login",
    "pipefail",
    "stdin",
    "leftovers",
    "lifetime",
    "timeout_secs",
    "deadline",
    "grace_secs",
    "stop_signal",
    "stop_command",
    "max_output_bytes",
    "idle_ttl_secs",
    "queue",
    "queue_secs",
    "sandbox",
    "network",
    "git",
    "memory",
    "pids",
    "cpu",
    "image",
    "host",
];

/// What a start answers.
#[derive(Serialize)]
struct Started<'a> {
    schema: &'static str,
    replayed: bool,
    run: &'a Record,
}

/// Starts a run and returns once its command executes.
pub(super) fn start(call: &Call<'_>) -> Result<Answer, Failure> {
    let mut arguments = call.body(&NAMES)?;
    let mut request = request(call, &mut arguments).map_err(|error| bad(&error))?;
    let mut notices = Vec::new();
    let asked = posture(&mut arguments, &mut notices).map_err(|error| bad(&error))?;
    let notice = call.mcp.bind(&call.config, &mut request, asked)?;
    request.idempotency_key = key(call)?;
    let begun = call.store.start(&request);
    let begun = begun.map_err(|error| start_failure(&error))?;
    if !begun.is_replayed {
        call.mcp.note_start();
    }
    notices.extend(notice);
    begun_answer(call, &begun, notices)
}

/// Returns the answer that tells of a run that was started.
pub(super) fn begun_answer(
    call: &Call<'_>,
    begun: &Begun,
    notices: Vec<String>,
) -> Result<Answer, Failure> {
    let record = call.record_of(&begun.id)?;
    let mut answer = Answer::fine(&Started {
        schema: "outlast.started/1",
        replayed: begun.is_replayed,
        run: &record,
    })
    .noting(notices.into_iter().chain(begun.notices.clone()).collect());
    if !begun.is_replayed {
        answer.status = StatusCode::CREATED;
    }
    answer.location = Some(format!("/api/runs/{}", begun.id));
    Ok(answer)
}

/// Reads what is to contain the run, by the words of the command line.
fn posture(from: &mut Arguments, notices: &mut Vec<String>) -> Result<Asked, ArgumentError> {
    let git = [
        ("read", Git::Read),
        ("commit", Git::Commit),
        ("write", Git::Write),
    ];
    let memory = match from.text("memory")? {
        None => None,
        Some(given) => Some(size_bytes(&given).map_err(|_| ArgumentError::Word {
            name: "memory",
            given,
            words: "bytes, or a number with `KiB`, `MiB` or `GiB`".to_owned(),
        })?),
    };
    let pids = from.number("pids")?;
    let pids = pids.map(|asked| clamp(notices, "pids", asked, 1, u64::from(u32::MAX)));
    Ok(Asked {
        git: from.word("git", &git)?,
        memory_bytes_max: memory,
        pids_max: pids,
        cpu_milli_max: from.fraction("cpu")?.map(milli),
        image: from.text("image")?,
        ..containment(from)?
    })
}

pub(super) fn key(call: &Call<'_>) -> Result<Option<String>, Failure> {
    let Some(value) = call.asked.head.headers.get(KEY_HEADER) else {
        return Ok(None);
    };
    match value.to_str() {
        Ok(key) => Ok(Some(key.to_owned())),
        Err(_) => Err(Failure::plain(
            "bad_header",
            "`Idempotency-Key` is no ASCII text".to_owned(),
            "send a key of printable ASCII characters",
            exit::USAGE,
        )),
    }
}

fn request(call: &Call<'_>, from: &mut Arguments) -> Result<Request, ArgumentError> {
    check_lifetime(from)?;
    let cwd = call.mcp.cwd(from.text("cwd")?.as_deref());
    if !cwd.is_dir() {
        return Err(ArgumentError::NoDirectory {
            path: cwd.to_string_lossy().into_owned(),
        });
    }
    let command = command(from)?;
    let env = from.pairs("env")?;
    let secrets = from.pairs("secret_env")?;
    let names = secrets.iter().map(|(name, _)| name.clone()).collect();
    let env_set: Vec<(String, String)> = env.into_iter().chain(secrets).collect();
    if let Some((name, _)) = env_set
        .iter()
        .find(|(name, _)| name.starts_with(REFUSED_ENV))
    {
        return Err(ArgumentError::EnvNotAllowed { name: name.clone() });
    }
    let ms = |seconds: Option<u64>| seconds.map(|seconds| seconds.saturating_mul(1_000));
    let queue_ms = ms(from.number("queue_secs")?);
    let is_queued = from.flag("queue")?.unwrap_or(queue_ms.is_some());
    let host = from.text("host")?.unwrap_or_else(|| "http".to_owned());
    Ok(Request {
        environment: env::vars_os().collect(),
        env_set,
        secret_env: names,
        is_for_tool: true,
        label: from.text("label")?,
        session: from.text("session")?,
        timeout_ms: ms(from.number("timeout_secs")?),
        deadline: deadline(from)?,
        grace_ms: ms(from.number("grace_secs")?),
        stop_signal: from.text("stop_signal")?,
        stop_command: from.text("stop_command")?,
        output_bytes_max: from.number("max_output_bytes")?,
        leftovers: leftovers(from)?,
        stdin: from
            .word("stdin", &[("null", Stdin::Null), ("pipe", Stdin::Pipe)])?
            .unwrap_or_default(),
        is_queued,
        queue_ms,
        idle_ttl_ms: ms(from.number("idle_ttl_secs")?),
        origin: Origin {
            host: Some(host),
            ..Origin::default()
        },
        ..Request::new(command, cwd)
    })
}

fn leftovers(from: &mut Arguments) -> Result<Leftovers, ArgumentError> {
    let words = [
        ("report", Leftovers::Report),
        ("wait", Leftovers::Wait),
        ("stop", Leftovers::Stop),
    ];
    Ok(from.word("leftovers", &words)?.unwrap_or_default())
}

/// Returns the command: a text for a shell, or a program and its arguments.
fn command(from: &mut Arguments) -> Result<CommandLine, ArgumentError> {
    let login = from.flag("login")?.unwrap_or(true);
    let pipefail = from.flag("pipefail")?.unwrap_or(false);
    match (from.text("command")?, from.texts("argv")?) {
        (Some(text), None) => Ok(CommandLine::Shell {
            text,
            login,
            pipefail,
        }),
        (None, Some(words)) => Ok(CommandLine::Direct(words)),
        (Some(_), Some(_)) => Err(ArgumentError::Unknown {
            name: "argv".to_owned(),
            known: "command` alone, or `argv` alone".to_owned(),
        }),
        (None, None) => Err(ArgumentError::Missing { name: "command" }),
    }
}

fn deadline(from: &mut Arguments) -> Result<Option<Timestamp>, ArgumentError> {
    let Some(given) = from.text("deadline")? else {
        return Ok(None);
    };
    match Timestamp::parse(&given) {
        Ok(deadline) => Ok(Some(deadline)),
        Err(_) => Err(ArgumentError::Word {
            name: "deadline",
            given,
            words: "a time such as `2027-01-31T08:00:00Z`".to_owned(),
        }),
    }
}

/// Refuses a lifetime whose end nobody here would see.
fn check_lifetime(from: &mut Arguments) -> Result<(), ArgumentError> {
    let lifetimes = [
        ("detached", Lifetime::Detached),
        ("session", Lifetime::Session),
    ];
    if from.word("lifetime", &lifetimes)? == Some(Lifetime::Session) {
        return Err(ArgumentError::LifetimeOverHttp);
    }
    Ok(())
}
