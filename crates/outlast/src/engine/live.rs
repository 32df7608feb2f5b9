//! The life of one container, from its making to its end.
//!
//! What breaks in the middle is said as what is known. The container is gone
//! before its end is told, so that nobody is told too early.

use super::connect::{Found, connect};
use super::container::Asked;
use super::refusal::{Refusal, status, words};
use super::say;
use bollard::container::{AttachContainerResults, LogOutput};
use bollard::errors::Error;
use bollard::query_parameters::{
    AttachContainerOptionsBuilder, CreateContainerOptionsBuilder, InspectContainerOptions,
    KillContainerOptionsBuilder, ListContainersOptionsBuilder, RemoveContainerOptionsBuilder,
    StartContainerOptions, WaitContainerOptions,
};
use futures_util::StreamExt;
use outlast_journal::{Failure, Guarantee, limits, policy::Report};
use outlast_supervisor::owner;
use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe;
use tokio::time::{Instant, interval, timeout};

const ANSWER: Duration = Duration::from_millis(limits::ENGINE_ANSWER_MS);
/// Between two looks for an engine that went away.
const LOOK_AGAIN: Duration = Duration::from_millis(200);
/// The exit code of a shell, and of an engine, for what ended by signal 0.
const BY_SIGNAL: i64 = 128;

/// A container whose command executes.
pub(super) struct Running {
    found: Found,
    name: String,
    attached: AttachContainerResults,
    reads_stdin: bool,
    holds: Vec<Guarantee>,
    protected: Vec<String>,
}

/// How a container ended.
enum Ended {
    /// With this exit code, as the engine says.
    Exited(i64),
    /// Nobody knows; this is known.
    Lost(String),
    /// The supervisor is gone.
    Abandoned,
}

/// Makes the container and executes the command in it.
pub(super) async fn begin(asked: &Asked<'_>, status: &UnixStream) -> Result<Running, Refusal> {
    let found = connect(&asked.policy.containment.surroundings.engines).await?;
    let (docker, image, name) = (&found.docker, asked.image(), asked.name());
    let no_image = || Refusal::image(image, found.program);
    match docker.inspect_image(image).await {
        Ok(_) => {}
        Err(error) if super::refusal::status(&error) == Some(404) => return Err(no_image()),
        Err(error) => return Err(Refusal::of("look for the image", &error)),
    }
    let reads_stdin = is_pipe(&io::stdin());
    let _filter = asked.filter.write(found.program)?;
    let options = CreateContainerOptionsBuilder::default().name(&name).build();
    let body = asked.body(&found, reads_stdin, owner::label(asked.policy.supervisor));
    let made = docker.create_container(Some(options), body).await;
    let made = made.map_err(|error| Refusal::of("make the container", &error))?;
    if let Some(warning) = made.warnings.iter().find(|one| one.contains("limit")) {
        return Err(Refusal::engine(
            format!("the engine cannot bind a limit: {warning}"),
            "leave the limit away, or use an engine that has cgroups",
        ));
    }
    let seen = docker
        .inspect_container(&name, None::<InspectContainerOptions>)
        .await;
    let seen = seen.map_err(|error| Refusal::of("describe the container", &error))?;
    let holds = asked.check(&seen)?;
    let options = AttachContainerOptionsBuilder::default()
        .stream(true)
        .stdout(true)
        .stderr(true)
        .stdin(reads_stdin)
        .build();
    let attached = docker.attach_container(&name, Some(options)).await;
    let attached = attached.map_err(|error| Refusal::of("attach to the container", &error))?;
    if is_abandoned(status) {
        return Err(Refusal::engine("the supervisor is gone", "start it again"));
    }
    let started = docker
        .start_container(&name, None::<StartContainerOptions>)
        .await;
    started.map_err(|error| not_started(asked, &error))?;
    let protected = asked
        .pinned
        .iter()
        .filter(|(_, is_read_only)| *is_read_only);
    let workspace = format!("{}/", asked.policy.containment.workspace);
    let protected = protected.map(|(path, _)| path.strip_prefix(&workspace).unwrap_or(path));
    Ok(Running {
        protected: protected.map(str::to_owned).collect(),
        name,
        attached,
        reads_stdin,
        holds,
        found,
    })
}

/// Takes away what a start that failed may have made.
pub(super) async fn remove_half_made(asked: &Asked<'_>) {
    if let Ok(found) = connect(&asked.policy.containment.surroundings.engines).await {
        remove(&found, &asked.name()).await.ok();
    }
}

impl Running {
    /// Lives until the container is gone, and says how its command ended.
    pub(super) async fn live(self, status: &mut UnixStream) {
        let Self {
            found,
            name,
            attached,
            reads_stdin,
            holds,
            protected,
        } = self;
        let running = Report::Running {
            holds,
            protected,
            notice: None,
        };
        say(status, &running);
        let AttachContainerResults { output, input } = attached;
        let mut output = Box::pin(forward(output));
        let mut input = Box::pin(feed(input, reads_stdin));
        let mut ending = Box::pin(wait(&found, &name));
        let (mut is_written, mut is_read) = (false, false);
        let mut sent: Vec<i32> = Vec::new();
        let Ok(mut asks) = listen(status) else {
            return drop(remove(&found, &name).await);
        };
        let ended = loop {
            tokio::select! {
                ended = &mut ending => break ended,
                () = &mut output, if !is_written => is_written = true,
                () = &mut input, if !is_read => is_read = true,
                line = asks.next_line() => match line {
                    Ok(Some(line)) => {
                        if let Ok(signal) = line.parse() {
                            signal_to(&found, &name, signal).await;
                            sent.push(signal);
                        }
                    }
                    Ok(None) | Err(_) => break Ended::Abandoned,
                },
            }
        };
        if !is_written && matches!(ended, Ended::Exited(_)) {
            timeout(ANSWER, &mut output).await.ok();
        }
        let reports = finish(&found, &name, ended, &sent).await;
        for report in &reports {
            say(status, report);
        }
        timeout(ANSWER, sweep(&found)).await.ok();
    }
}

/// Takes the container away and returns what is to be said of its end.
async fn finish(found: &Found, name: &str, ended: Ended, sent: &[i32]) -> Vec<Report> {
    let seen = found
        .docker
        .inspect_container(name, None::<InspectContainerOptions>);
    let seen = answered(seen).await;
    let was_out_of_memory = seen
        .as_ref()
        .ok()
        .and_then(|seen| seen.state.as_ref()?.oom_killed)
        .unwrap_or(false);
    let removed = remove(found, name).await;
    match (ended, removed) {
        (Ended::Exited(code), Ok(())) => {
            let exited = Report::Exited {
                status: wait_status(code, sent, was_out_of_memory),
                cpu_ms: 0,
                rss_bytes: 0,
            };
            let out = was_out_of_memory.then_some(Report::OutOfMemory);
            out.into_iter().chain([exited]).collect()
        }
        (Ended::Exited(code), Err(error)) => vec![Report::Lost {
            told: format!(
                "the container engine went away in the middle of the run, or does not answer ({}); it had said that the command ended with {code}; the container `{name}` may be left",
                words(&error)
            ),
        }],
        (Ended::Lost(told), Ok(())) => vec![Report::Lost {
            told: format!("{told}; its container was taken away"),
        }],
        (Ended::Lost(told), Err(_)) => vec![Report::Lost {
            told: format!("{told}; the container `{name}` may run on"),
        }],
        (Ended::Abandoned, _) => Vec::new(),
    }
}

/// Returns the wait status that an exit code stands for.
///
/// An engine says 128 and more of what ended by a signal, as of what exited so. It was the
/// signal where somebody is known to have sent it.
fn wait_status(code: i64, sent: &[i32], was_out_of_memory: bool) -> i32 {
    const KILL: i32 = 9;
    let signal = i32::try_from(code - BY_SIGNAL).unwrap_or(0);
    if signal > 0 && (sent.contains(&signal) || was_out_of_memory && signal == KILL) {
        return signal;
    }
    i32::try_from(code & 0xff).unwrap_or(0) << 8
}

/// Waits for an answer, and for the whole of it: an engine may begin one and say no more.
async fn answered<T>(answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let late = |_| Err(Error::RequestTimeoutError);
    timeout(ANSWER, answer).await.unwrap_or_else(late)
}

async fn remove(found: &Found, name: &str) -> Result<(), Error> {
    let options = RemoveContainerOptionsBuilder::default()
        .force(true)
        .v(true)
        .build();
    match answered(found.docker.remove_container(name, Some(options))).await {
        Err(error) if !matches!(status(&error), Some(404 | 409)) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

async fn signal_to(found: &Found, name: &str, signal: i32) {
    let options = KillContainerOptionsBuilder::default()
        .signal(&signal.to_string())
        .build();
    // One that has ended takes no signal; one that hears none stays, and is told of.
    let killed = found.docker.kill_container(name, Some(options));
    answered(killed).await.ok();
}

/// Waits until the command has ended, or its engine is gone.
async fn wait(found: &Found, name: &str) -> Ended {
    // As long as it takes: the engine answers at the end.
    let docker = found.docker.clone();
    let docker = docker.with_timeout(Duration::from_secs(u64::from(u32::MAX)));
    let mut waiting = Box::pin(docker.wait_container(name, None::<WaitContainerOptions>));
    let why = match waiting.next().await {
        Some(Ok(answer)) => return Ended::Exited(answer.status_code),
        Some(Err(Error::DockerContainerWaitError { code, .. })) => return Ended::Exited(code),
        Some(Err(error)) => words(&error),
        None => "it closed the connection".to_owned(),
    };
    let until = Instant::now() + Duration::from_millis(limits::ENGINE_AWAY_MS);
    let what = format!("the container engine went away in the middle of the run ({why})");
    let mut pause = interval(LOOK_AGAIN);
    while Instant::now() < until {
        let look = found
            .docker
            .inspect_container(name, None::<InspectContainerOptions>);
        let state = answered(look).await.ok().and_then(|seen| seen.state);
        if let Some(state) = state {
            let is_running = state.running == Some(true);
            return Ended::Lost(if is_running {
                format!("{what}; it is back, and what the command wrote meanwhile is lost")
            } else {
                let code = state.exit_code.unwrap_or(-1);
                format!("{what}; it is back, and says that the command ended with {code}")
            });
        }
        pause.tick().await;
    }
    Ended::Lost(format!("{what}; how the command ended is not known"))
}

/// Moves what the command writes into the run's pipe.
async fn forward(mut output: impl StreamExt<Item = Result<LogOutput, Error>> + Unpin) {
    let pipe = io::stdout().as_fd().try_clone_to_owned();
    let Ok(mut pipe) = pipe.and_then(pipe::Sender::from_owned_fd) else {
        return;
    };
    while let Some(Ok(piece)) = output.next().await {
        if pipe.write_all(&piece.into_bytes()).await.is_err() {
            return;
        }
    }
}

/// Moves what is sent to the run into the command, and closes that at its end.
async fn feed(mut input: impl AsyncWriteExt + Unpin, reads_stdin: bool) {
    if !reads_stdin {
        return;
    }
    let pipe = io::stdin().as_fd().try_clone_to_owned();
    let Ok(mut pipe) = pipe.and_then(pipe::Receiver::from_owned_fd) else {
        return;
    };
    tokio::io::copy(&mut pipe, &mut input).await.ok();
    input.shutdown().await.ok();
}

type Asks = tokio::io::Lines<BufReader<tokio::net::UnixStream>>;

/// Listens to the supervisor.
fn listen(status: &UnixStream) -> io::Result<Asks> {
    let status = status.try_clone()?;
    status.set_nonblocking(true)?;
    let status = tokio::net::UnixStream::from_std(status)?;
    Ok(BufReader::new(status).lines())
}

/// Whether the supervisor is gone.
fn is_abandoned(status: &UnixStream) -> bool {
    let mut byte = [0; 1];
    let flags = rustix::net::RecvFlags::PEEK | rustix::net::RecvFlags::DONTWAIT;
    rustix::net::recv(status, &mut byte, flags).is_ok_and(|(read, _)| read == 0)
}

fn is_pipe(stream: &impl AsFd) -> bool {
    rustix::fs::fstat(stream).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Fifo
    })
}

/// Returns the refusal of a container that was made and did not start.
fn not_started(asked: &Asked<'_>, error: &Error) -> Refusal {
    let said = words(error);
    let program = asked.policy.argv.first().map(String::as_str);
    let program = program.unwrap_or_default();
    let failure = |code: &str, message: String| {
        Refusal::Exec(Failure {
            code: code.to_owned(),
            message,
            errno: None,
        })
    };
    if said.contains("docker-init") {
        return Refusal::of("start the container", error);
    }
    if said.contains("executable file not found") || said.contains("no such file or directory") {
        let message = format!("there is no program `{program}` in the image");
        return failure("no_such_program", message);
    }
    Refusal::of("start the container", error)
}

/// Takes away containers whose supervisor died together with what talked to their engine.
async fn sweep(found: &Found) {
    let labels = HashMap::from([("label", vec![owner::RUN_LABEL])]);
    let options = ListContainersOptionsBuilder::default()
        .all(true)
        .filters(&labels)
        .build();
    let Ok(all) = found.docker.list_containers(Some(options)).await else {
        return;
    };
    let dead = all.into_iter().filter_map(|one| {
        let owner = one.labels?.remove(owner::LABEL)?;
        one.id.filter(|_| owner::is_dead(&owner))
    });
    for id in dead.take(limits::ENGINE_SWEEP_MAX) {
        remove(found, &id).await.ok();
    }
}

#[cfg(test)]
mod tests;
