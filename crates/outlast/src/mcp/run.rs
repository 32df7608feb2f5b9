//! `background_run`: arguments to a request, and with `wait_secs` a short wait for its end.

use super::{
    answer::{Answer, seconds},
    arguments::{ArgumentError, Arguments, clamp},
    keys, read,
    tools::{Call, bad},
};
use crate::{
    failure::{Failure, exit},
    sandbox,
    surface::read_failure,
    values::network,
};
use outlast_lib::{
    Begun, CommandLine, Leftovers, Lifetime, Origin, Record, Request, StartError, Status, Stdin,
    Tier, WaitQuery, limits,
};
use outlast_supervisor::process;
use std::{
    env,
    path::{Path, PathBuf},
};

/// How names begin that `env` may not set: they put code into every program that starts.
pub(crate) const REFUSED_ENV: &str = "LD_";

/// Starts a run and returns at once, or when it has ended within `wait_secs`.
pub(super) fn run(call: &Call<'_>, arguments: &mut Arguments) -> Result<Answer, Failure> {
    let asked = Asked::read(arguments).map_err(|error| bad(&error))?;
    let mut notices = Vec::new();
    let wait_secs = asked.wait_secs.unwrap_or(0);
    let wait_secs = clamp(
        &mut notices,
        "wait_secs",
        wait_secs,
        0,
        limits::TOOL_WAIT_SECS,
    );
    let begun = start_once(call, request(call, asked, &mut notices)?);
    let begun = begun.map_err(|error| start_failure(&error))?;
    if !begun.is_replayed {
        call.desk.note_start();
    }
    if wait_secs > 0 {
        let query = WaitQuery {
            timeout_ms: Some(wait_secs * 1_000),
            interrupt: Some(call.interrupt),
            ..WaitQuery::default()
        };
        // Where the run stands is read below, however the wait went.
        call.store.wait(&[begun.id], &query).ok();
    }
    let record = call.store.record(&begun.id);
    let record = record.map_err(|error| read_failure(&error))?;
    notices.extend(begun.notices.iter().cloned());
    let answer = head(&begun, &record, notices);
    if wait_secs > 0 && record.status.is_ended() {
        return read::with_output(&call.store, answer, &record, &read::newest(), Vec::new());
    }
    Ok(answer.with("message", message(&begun, &record)))
}

/// Starts a run. Without a key of the caller's own, the host's id of the call is one.
pub(super) fn start_once(call: &Call<'_>, request: Request) -> Result<Begun, StartError> {
    let mut request = request;
    let is_own = request.idempotency_key.is_some();
    if !is_own {
        request.idempotency_key = keys::of_call(call.caller);
    }
    let mut begun = call.store.start(&request);
    // Two requests are two calls, whatever their host calls them.
    if !is_own && matches!(begun, Err(StartError::KeyConflict { .. })) {
        request.idempotency_key = None;
        begun = call.store.start(&request);
    }
    begun
}

fn head(begun: &Begun, record: &Record, notices: Vec<String>) -> Answer {
    let answer = Answer::fine().with("id", begun.id.as_str()).telling(record);
    let summary = record.summary.clone();
    let lifetime = match record.lifetime {
        Lifetime::Detached => "detached",
        Lifetime::Session => "session",
    };
    let answer = answer
        .with_some("summary", summary.filter(|_| record.status.is_ended()))
        .with("label", record.label.as_str())
        .with("timeout_secs", seconds(record.timeout_secs))
        .with("lifetime", lifetime)
        .with("posture", record.posture.line())
        .with("replayed", begun.is_replayed)
        .with_some("queue_position", record.queue_position);
    answer.with_list("notices", notices.into_iter().map(Into::into).collect())
}

fn message(begun: &Begun, record: &Record) -> String {
    let id = begun.id;
    let what = match (begun.is_replayed, record.status) {
        (true, status) => {
            format!(
                "Nothing new was started: this call, or its key, had started run {id}, {status}."
            )
        }
        (false, Status::Queued) => "Waits for a place, then starts by itself.".to_owned(),
        (false, Status::Running) if record.lifetime == Lifetime::Session => {
            "Runs; it is cancelled when this server exits.".to_owned()
        }
        (false, Status::Running) => {
            "Runs; it outlives your turn, this host and this server.".to_owned()
        }
        (
            false,
            Status::Completed
            | Status::Failed
            | Status::Cancelled
            | Status::TimedOut
            | Status::Interrupted,
        ) => format!("Has ended: {}.", record.status),
    };
    if record.status.is_ended() {
        format!("{what} Next: background_output.")
    } else {
        format!("{what} Next: background_wait, or go on working.")
    }
}

/// The arguments, each of its type.
struct Asked {
    command: String,
    label: Option<String>,
    cwd: Option<String>,
    timeout_secs: Option<u64>,
    wait_secs: Option<u64>,
    env: Vec<(String, String)>,
    stdin: Stdin,
    pipefail: bool,
    leftovers: Leftovers,
    lifetime: Lifetime,
    queue: bool,
    idempotency_key: Option<String>,
    containment: sandbox::Asked,
}

impl Asked {
    fn read(from: &mut Arguments) -> Result<Self, ArgumentError> {
        let asked = Self {
            command: from.needed_text("command")?,
            label: from.text("label")?,
            cwd: from.text("cwd")?,
            timeout_secs: from.number("timeout_secs")?,
            wait_secs: from.number("wait_secs")?,
            env: from.pairs("env")?,
            stdin: from
                .word("stdin", &[("null", Stdin::Null), ("pipe", Stdin::Pipe)])?
                .unwrap_or_default(),
            pipefail: from.flag("pipefail")?.unwrap_or(false),
            leftovers: from
                .word(
                    "leftovers",
                    &[
                        ("report", Leftovers::Report),
                        ("wait", Leftovers::Wait),
                        ("stop", Leftovers::Stop),
                    ],
                )?
                .unwrap_or_default(),
            lifetime: from
                .word(
                    "lifetime",
                    &[
                        ("detached", Lifetime::Detached),
                        ("session", Lifetime::Session),
                    ],
                )?
                .unwrap_or_default(),
            queue: from.flag("queue")?.unwrap_or(false),
            idempotency_key: from.text("idempotency_key")?,
            containment: containment(from)?,
        };
        let refused = asked
            .env
            .iter()
            .find(|(name, _)| name.starts_with(REFUSED_ENV));
        match refused {
            Some((name, _)) => Err(ArgumentError::EnvNotAllowed { name: name.clone() }),
            None => Ok(asked),
        }
    }
}

/// Reads how far the run is to be contained, and which hosts it may talk to.
pub(crate) fn containment(from: &mut Arguments) -> Result<sandbox::Asked, ArgumentError> {
    let words = [Tier::ReadOnly, Tier::SandboxEdit, Tier::FullAccess];
    let tier = from.word("sandbox", &words.map(|tier| (tier.word(), tier)))?;
    let network = match from.text("network")? {
        None => None,
        Some(asked) => Some(network(&asked).map_err(|_| ArgumentError::Word {
            name: "network",
            given: asked,
            words: "`none`, `full`, `allow:HOST,HOST`".to_owned(),
        })?),
    };
    Ok(sandbox::Asked {
        tier,
        network,
        ..sandbox::Asked::default()
    })
}

fn request(call: &Call<'_>, asked: Asked, notices: &mut Vec<String>) -> Result<Request, Failure> {
    // A connection is no holder: it ends with each answer, and the server with no session.
    if asked.lifetime == Lifetime::Session && call.desk.is_shared() {
        return Err(bad(&ArgumentError::LifetimeOverHttp));
    }
    let cwd = call.desk.cwd(call.caller, asked.cwd.as_deref());
    check_directory(&cwd).map_err(|error| bad(&error))?;
    let command = CommandLine::Shell {
        text: asked.command,
        // Hosts give their servers a poor environment.
        login: true,
        pipefail: asked.pipefail,
    };
    let timeout_ms = match asked.timeout_secs {
        Some(secs) => secs.saturating_mul(1_000),
        None => call.store.limits().tool_timeout_ms,
    };
    let mut request = Request {
        env_set: asked.env,
        label: asked.label,
        timeout_ms: Some(timeout_ms),
        leftovers: asked.leftovers,
        lifetime: asked.lifetime,
        holder: (asked.lifetime == Lifetime::Session).then(process::own),
        stdin: asked.stdin,
        is_queued: asked.queue,
        idempotency_key: asked.idempotency_key,
        ..plain_request(call, command, cwd)
    };
    let bound = call
        .desk
        .bind(&call.config, call.caller, &mut request, asked.containment)?;
    notices.extend(bound);
    Ok(request)
}

/// Returns the request of a caller for this command, without what a call may ask beside.
pub(super) fn plain_request(call: &Call<'_>, command: CommandLine, cwd: PathBuf) -> Request {
    let session = call.caller.session.as_deref();
    let session = session.or(call.desk.host_session());
    Request {
        environment: env::vars_os().collect(),
        is_for_tool: true,
        session: Some(call.desk.session(call.caller)),
        origin: Origin {
            host: Some(call.caller.host.clone().unwrap_or_else(|| "mcp".to_owned())),
            session: session.map(str::to_owned),
            thread: call.caller.thread.clone(),
            ancestry: call.desk.invoked_by().to_vec(),
        },
        ..Request::new(command, cwd)
    }
}

/// Refuses a directory that is not there before there is a run.
fn check_directory(cwd: &Path) -> Result<(), ArgumentError> {
    if cwd.is_dir() {
        return Ok(());
    }
    Err(ArgumentError::NoDirectory {
        path: cwd.to_string_lossy().into_owned(),
    })
}

/// Returns the failure of a start, with the run that records it, if one does.
pub(crate) fn start_failure(error: &StartError) -> Failure {
    let failure = Failure::new(error, exit::ERROR);
    if let StartError::CouldNotStart { id, .. } | StartError::Supervisor { id, .. } = error {
        return failure.of_run(*id);
    }
    failure
}
