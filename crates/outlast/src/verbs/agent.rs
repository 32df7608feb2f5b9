//! `outlast do` and `outlast resume`: words to an agent run, and the watching of it.

mod attend;

use crate::{
    agents::{self, Asked},
    cli::{DoArguments, ResumeArguments, Watch},
    config::Config,
    failure::{Failure, Stop, exit},
    interrupt::Interrupt,
    screen::talk,
    surface::{Surface, failed, find_record, read_failure},
    values::SandboxWord,
    verbs::run::{cwd, interrupt, start_failure, stdin_text},
};
use attend::Attend;
use outlast_journal::agent::document::Sandbox;
use outlast_lib::{
    Begun, CommandLine, Containment, Document, Kind, Origin, Posture, Record, Request, Spec,
    Status, Store, Tier, limits,
};
use serde_json::Value;
use std::{
    env,
    fs::File,
    io::Read,
    path::{Path, PathBuf},
};

/// Word that means stdin in place of a task.
const STDIN: &str = "-";

/// Starts an agent run; with `--wait` or `--json` watches it to its end.
pub(crate) fn act(surface: &mut Surface, arguments: DoArguments) -> Result<u8, Stop> {
    let watch = arguments.watch;
    let posture = posture(&arguments);
    let outcome = begin(surface, arguments).and_then(|begun| attend(surface, begun, watch));
    told(surface, watch, &posture, outcome)
}

/// Starts a run that goes on where another ended.
pub(crate) fn resume(surface: &mut Surface, arguments: &ResumeArguments) -> Result<u8, Stop> {
    let watch = arguments.watch;
    let outcome = go_on(surface, arguments).and_then(|begun| attend(surface, begun, watch));
    told(surface, watch, &Posture::host(), outcome)
}

/// A run that was begun, and what ends the watching of it.
struct Started {
    store: Store,
    begun: Begun,
    interrupt: Option<Interrupt>,
}

fn begin(surface: &Surface, arguments: DoArguments) -> Result<Started, Stop> {
    let config = surface.config()?;
    let task = if arguments.task == STDIN {
        stdin_text()?
    } else {
        arguments.task.clone()
    };
    let cwd = cwd(arguments.cwd.as_ref())?;
    check_directory(&cwd)?;
    let schema = arguments.json_schema.as_deref().map(read_schema);
    let containment = containment(&arguments, &config)?;
    let asked = Asked {
        task,
        until: arguments.until.filter(|check| !check.trim().is_empty()),
        turns_max: arguments.max_turns,
        is_local: arguments.local,
        asks: arguments.ask,
        schema: schema.transpose()?,
        model: arguments.model,
        resumes: None,
    };
    let request = Request {
        label: arguments.label,
        timeout_ms: arguments.timeout_ms,
        containment,
        ..request(surface, asked.command(&config)?, cwd)
    };
    start(surface, &request, arguments.watch)
}

fn request(surface: &Surface, command: CommandLine, cwd: PathBuf) -> Request {
    Request {
        environment: env::vars_os().collect(),
        origin: Origin {
            host: Some("cli".to_owned()),
            ancestry: surface.surroundings.invoked_by.clone(),
            ..Origin::default()
        },
        ..Request::new(command, cwd)
    }
}

fn start(surface: &Surface, request: &Request, watch: Watch) -> Result<Started, Stop> {
    // Taken before the start: a ^C from then on ends a wait and loses no id.
    let is_watched = watch.wait || watch.json;
    let interrupt = if is_watched { Some(interrupt()?) } else { None };
    let store = surface.open()?;
    let begun = store.start(request);
    let begun = begun.map_err(|error| start_failure(&error))?;
    Ok(Started {
        store,
        begun,
        interrupt,
    })
}

fn attend(surface: &mut Surface, started: Started, watch: Watch) -> Result<u8, Stop> {
    let Started {
        store,
        begun,
        interrupt,
    } = started;
    for notice in &begun.notices {
        talk(&format!("note: {notice}"));
    }
    if begun.is_replayed {
        let status = begun.status;
        talk(&format!("note: started before; it is {status}"));
    }
    let Some(interrupt) = interrupt else {
        let record = store.record(&begun.id);
        let record = record.map_err(|error| read_failure(&error))?;
        talk(&format!("note: {}", record.posture.line()));
        surface.screen.print_line(begun.id.as_str())?;
        return Ok(exit::FINE);
    };
    let attend = Attend {
        store: &store,
        id: begun.id,
        interrupt: &interrupt,
    };
    if watch.json {
        return attend.by_document(surface);
    }
    attend.by_log(surface)
}

/// Returns the outcome, told as a document where one was asked for and none was printed.
fn told(
    surface: &mut Surface,
    watch: Watch,
    posture: &Posture,
    outcome: Result<u8, Stop>,
) -> Result<u8, Stop> {
    let failure = match outcome {
        Err(Stop::Failure(failure)) if watch.json => failure,
        other => {
            return other.map_err(|stop| {
                if watch.wait {
                    stop.beside_a_run()
                } else {
                    stop
                }
            });
        }
    };
    let root = env::current_dir().unwrap_or_default();
    let sandbox = Sandbox::of_posture(posture, &root.to_string_lossy());
    let mut document =
        Document::unfinished(failure.code(), &failure.sentence(), failure.hint(), sandbox);
    document.run_id = failure.run();
    surface.screen.print_json(&document)?;
    Ok(failure.exit())
}

fn check_directory(cwd: &Path) -> Result<(), Failure> {
    if cwd.is_dir() {
        return Ok(());
    }
    Err(Failure::plain(
        "work_dir",
        format!("`{}` is no directory to work in", cwd.display()),
        "give a directory that exists",
        exit::NOT_STARTED,
    ))
}

/// Returns how far the calls of the run are contained, before anything is bound.
fn posture(arguments: &DoArguments) -> Posture {
    let tier = tier(arguments);
    if arguments.local || tier == Tier::FullAccess {
        return Posture::host();
    }
    Posture::asked(&Containment {
        workspace: arguments
            .cwd
            .clone()
            .or_else(|| env::current_dir().ok())
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        ..arguments.bounds.of(tier)
    })
}

fn tier(arguments: &DoArguments) -> Tier {
    match arguments.sandbox {
        Some(SandboxWord::Host) => Tier::FullAccess,
        Some(SandboxWord::Read) => Tier::ReadOnly,
        None | Some(SandboxWord::Edit) => Tier::SandboxEdit,
    }
}

/// Returns what is to contain the calls; none where the run is local or has the host.
fn containment(arguments: &DoArguments, config: &Config) -> Result<Option<Containment>, Failure> {
    if arguments.local {
        return Ok(None);
    }
    let tier = tier(arguments);
    if tier == Tier::FullAccess {
        return match arguments.bounds.of_contained_alone() {
            None => Ok(None),
            Some(option) => Err(Failure::plain(
                "containment_unavailable",
                format!("`{option}` bounds nothing on the host, where nothing contains the calls"),
                &format!("say --sandbox edit or --sandbox read, or leave {option} away"),
                exit::NOT_STARTED,
            )),
        };
    }
    Ok(Some(config.sandbox.complete(arguments.bounds.of(tier))))
}

/// Reads the schema of the final answer.
///
/// # Errors
///
/// Fails when the file cannot be read, is no JSON, or no schema that an answer can be held to.
fn read_schema(path: &Path) -> Result<Value, Failure> {
    let refused =
        |message: String, hint: &str| Failure::plain("schema_invalid", message, hint, exit::USAGE);
    let shown = path.display();
    let most = limits::SCHEMA_BYTES_MAX as u64;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most + 1).read_to_end(&mut bytes));
    read.map_err(|error| {
        let message = format!("the schema `{shown}` cannot be read: {error}");
        refused(message, "give a file with a JSON Schema")
    })?;
    if bytes.len() as u64 > most {
        let message = format!("the schema `{shown}` has more than {most} bytes");
        return Err(refused(message, "give a smaller schema"));
    }
    let schema: Value = serde_json::from_slice(&bytes).map_err(|error| {
        let message = format!("the schema `{shown}` is no JSON: {error}");
        refused(message, "give a file with a JSON Schema")
    })?;
    agents::check_schema(&schema)?;
    Ok(schema)
}

fn go_on(surface: &Surface, arguments: &ResumeArguments) -> Result<Started, Stop> {
    let config = surface.config()?;
    let store = surface.open()?;
    let record = find_record(&store, &arguments.id)?;
    let spec = store.spec(&record.id);
    let spec = spec.map_err(|error| read_failure(&error))?;
    let mut agent = resumable(&record, &spec)?;
    if let Some(name) = &arguments.model {
        agent.model = agents::choose(Some(name), &config)?;
    }
    agent.turns_max = arguments.max_turns.or(agent.turns_max);
    agent.resumes = Some(record.id);
    let request = Request {
        timeout_ms: spec.timeout_ms,
        containment: spec.containment.clone(),
        label: Some(record.label.clone()),
        session: spec.session.clone(),
        idempotency_key: Some(format!("resume/{}", record.id)),
        ..request(
            surface,
            CommandLine::Agent(Box::new(agent)),
            spec.cwd.clone().into(),
        )
    };
    drop(store);
    start(surface, &request, arguments.watch)
}

/// Returns what a run was asked for, if another can go on with it.
fn resumable(
    record: &Record,
    spec: &Spec,
) -> Result<outlast_journal::agent::AgentRequest, Failure> {
    let id = record.id;
    let refused =
        |fact: String, hint: &str| Err(Failure::plain("not_resumable", fact, hint, exit::ERROR));
    let Some(agent) = spec.agent.as_deref() else {
        let kind = match record.kind {
            Kind::Command => "command",
            Kind::Agent => "sub-agent of another program",
        };
        let fact = format!("run `{id}` is a {kind}, and only an agent run can be resumed");
        return refused(fact, "start it again");
    };
    match record.status {
        Status::Queued | Status::Running => refused(
            format!("run `{id}` goes on: it is {}", record.status),
            "wait for it, or cancel it first",
        ),
        Status::Completed => refused(
            format!("run `{id}` has succeeded, so there is nothing to go on with"),
            "start another with what is still to be done",
        ),
        Status::Failed | Status::Cancelled | Status::TimedOut | Status::Interrupted => {
            Ok(agent.request.clone())
        }
    }
}

/// Returns the failure of a library error that is told as it is.
fn broken(error: &dyn outlast_lib::Advice) -> Stop {
    failed(error).into()
}
