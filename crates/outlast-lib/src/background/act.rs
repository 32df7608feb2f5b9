//! `background_run`, `background_agent` and `background_cancel`: what changes something.

use super::answer::Answer;
use super::arguments::{ArgumentError, Arguments};
use super::spawner::{Spawned, SubAgent};
use super::{Background, tools};
use crate::{
    Begun, CancelQuery, CommandLine, Delegated, Leftovers, Lifetime, Request, RunId, StartError,
    Status, limits,
};
use outlast_supervisor::{fault, process};
use std::fmt::Write;
use std::path::PathBuf;

/// Holders of places that a refusal names.
const HOLDERS_NAMED_MAX: usize = 8;

impl Background {
    /// Starts a command.
    pub(super) fn run(&self, arguments: &serde_json::Value, key: Option<&str>) -> Answer {
        match self
            .asked_run(arguments)
            .map(|request| with_key(request, key))
        {
            Ok(request) => self.begin(&request, Answer::fine(), |answer, begun| {
                let lifetime = match request.lifetime {
                    Lifetime::Detached => "detached",
                    Lifetime::Session => "session",
                };
                let message = started(begun, "It");
                answer
                    .with("lifetime", lifetime)
                    .with_message(begun, message)
            }),
            Err(error) => Answer::refused(&error),
        }
    }

    pub(super) fn asked_run(
        &self,
        arguments: &serde_json::Value,
    ) -> Result<Request, ArgumentError> {
        let mut from = Arguments::new(arguments, &tools::RUN_ARGUMENTS)?;
        let command = from.needed_text("command")?;
        let label = from.text("label")?;
        let cwd = self.directory(from.text("cwd")?)?;
        let timeout_secs = from.number("timeout_secs")?;
        let pipefail = from.flag("pipefail")?;
        let leftovers = from.word(
            "leftovers",
            &[
                ("report", Leftovers::Report),
                ("wait", Leftovers::Wait),
                ("stop", Leftovers::Stop),
            ],
        )?;
        let lifetime = from.word(
            "lifetime",
            &[
                ("detached", Lifetime::Detached),
                ("session", Lifetime::Session),
            ],
        )?;
        let lifetime = lifetime.unwrap_or_default();
        let command = CommandLine::Shell {
            text: command,
            login: false,
            pipefail,
        };
        let asked_ms = timeout_secs.map(|secs| secs.saturating_mul(1_000));
        Ok(Request {
            label,
            timeout_ms: Some(asked_ms.unwrap_or_else(|| self.timeout_ms())),
            leftovers: leftovers.unwrap_or_default(),
            lifetime,
            holder: (lifetime == Lifetime::Session).then(process::own),
            is_queued: from.flag("queue")?,
            containment: self.options.containment.clone(),
            ..self.request(command, cwd)
        })
    }

    /// Starts a sub-agent.
    pub(super) fn agent(&self, arguments: &serde_json::Value, key: Option<&str>) -> Answer {
        let asked = match self.asked_agent(arguments) {
            Ok(asked) => asked,
            Err(error) => return Answer::refused(&error),
        };
        let spawner = self.options.spawner.as_ref();
        let spawner = spawner.expect("the tool is there with a spawner only");
        let spawned = match spawner(&asked) {
            Ok(spawned) => spawned,
            Err(error) => return Answer::refused(&error),
        };
        let is_ours = matches!(spawned, Spawned::Agent { .. });
        let child_session_id = spawned.child_session_id().map(str::to_owned);
        let request = with_key(self.asked_of(&asked, spawned), key);
        self.begin(&request, Answer::fine(), |answer, begun| {
            let who = match &asked.model {
                Some(model) => format!("The sub-agent, on model `{model}`,"),
                None => "The sub-agent".to_owned(),
            };
            let message = started(begun, &who);
            // An agent run of our own is a session of its own.
            let session = child_session_id.or(is_ours.then(|| begun.id.to_string()));
            answer
                .with_some("model", asked.model.as_deref())
                .with_some("child_session_id", session)
                .with_message(begun, message)
        })
    }

    /// Returns the request for what carries a sub-agent out.
    fn asked_of(&self, asked: &SubAgent, spawned: Spawned) -> Request {
        let cwd = asked.cwd.clone();
        let request = match spawned {
            Spawned::Command {
                words,
                env,
                child_session_id,
            } => Request {
                env_set: env,
                delegated: Some(Delegated {
                    task: asked.task.clone(),
                    model: asked.model.clone(),
                    child_session_id,
                }),
                ..self.request(CommandLine::Direct(words), cwd)
            },
            Spawned::Agent {
                request,
                environment,
                containment,
            } => Request {
                environment,
                containment: containment.map(|containment| *containment),
                // Who asks for a sub-agent is an agent, also where it is no run.
                delegated: Some(Delegated {
                    task: asked.task.clone(),
                    model: asked.model.clone(),
                    child_session_id: None,
                }),
                ..self.request(CommandLine::Agent(request), cwd)
            },
        };
        Request {
            label: asked.label.clone(),
            timeout_ms: Some(self.timeout_ms()),
            ..request
        }
    }

    fn asked_agent(&self, arguments: &serde_json::Value) -> Result<SubAgent, ArgumentError> {
        let mut from = Arguments::new(arguments, &tools::AGENT_ARGUMENTS)?;
        Ok(SubAgent {
            task: from.needed_text("task")?,
            label: from.text("label")?,
            model: from.text("model")?.map(|model| model.trim().to_owned()),
            session: self.session.clone(),
            cwd: self.directory(None)?,
        })
    }

    /// Returns what every run of the session has in common.
    fn request(&self, command: CommandLine, cwd: PathBuf) -> Request {
        Request {
            environment: self.options.environment.clone(),
            is_for_tool: true,
            session: Some(self.session.clone()),
            origin: self.options.origin.clone(),
            ..Request::new(command, cwd)
        }
    }

    fn timeout_ms(&self) -> u64 {
        let usual_ms = self.store.limits().tool_timeout_ms;
        self.options.timeout_ms.unwrap_or(usual_ms)
    }

    fn directory(&self, asked: Option<String>) -> Result<PathBuf, ArgumentError> {
        let cwd = match asked {
            // An absolute path replaces what it is joined to.
            Some(asked) => self.project.join(asked),
            None => self.project.clone(),
        };
        if cwd.is_dir() {
            return Ok(cwd);
        }
        let path = cwd.to_string_lossy().into_owned();
        Err(ArgumentError::NoDirectory { path })
    }

    /// Starts what was asked for; `tell` adds what there is to say of its beginning.
    fn begin(
        &self,
        request: &Request,
        answer: Answer,
        tell: impl FnOnce(Answer, &Begun) -> Answer,
    ) -> Answer {
        let begun = self.store.start(request);
        self.note_change();
        match begun {
            Ok(begun) => {
                if !begun.is_replayed {
                    fault::point("background_begun");
                }
                self.ends().note_live(begun.id);
                // As it was clamped, which a notice says.
                let timeout_ms = request.timeout_ms.unwrap_or(0);
                let secs = timeout_ms.min(limits::TIMEOUT_MS_MAX) / 1_000;
                let answer = answer
                    .with("id", begun.id.as_str())
                    .with("status", begun.status.as_str())
                    .with("label", begun.label.as_str())
                    .with("timeout_secs", secs)
                    .with_some("queue_position", begun.queue_position);
                tell(answer, &begun)
            }
            Err(error) => self.not_begun(request, &error),
        }
    }

    fn not_begun(&self, request: &Request, error: &StartError) -> Answer {
        if let StartError::AtCapacity { holders, .. } = error {
            return Answer::refused_with_hint(error, &capacity_hint(request, holders));
        }
        let answer = Answer::refused(error);
        let (StartError::CouldNotStart { id, .. } | StartError::Supervisor { id, .. }) = error
        else {
            return answer;
        };
        // This answer tells the end of the run that records it.
        self.told(&[*id]);
        answer.of_run(id)
    }

    /// Stops a run with everything it started.
    pub(super) fn cancel(&self, arguments: &serde_json::Value) -> Answer {
        let read = || -> Result<(String, bool), ArgumentError> {
            let mut from = Arguments::new(arguments, &tools::CANCEL_ARGUMENTS)?;
            Ok((from.needed_text("id")?, from.flag("now")?))
        };
        let (typed, now) = match read() {
            Ok(read) => read,
            Err(error) => return Answer::refused(&error),
        };
        let id = match self.find(&typed) {
            Ok(Ok(id)) => id,
            Ok(Err(message)) => {
                return Answer::fine()
                    .with("id", typed)
                    .with("cancelled", false)
                    .with("status", serde_json::Value::Null)
                    .with("message", message);
            }
            Err(answer) => return answer,
        };
        let query = CancelQuery {
            grace_ms: now.then_some(0),
            by: Some(self.session.clone()),
            no_wait: false,
        };
        // Before the end: whoever waits for one must not be woken by this.
        let was_silent = self.ends().silence(id);
        let cancelled = self.store.cancel(&id, &query);
        self.note_change();
        let is_ended = cancelled.as_ref().is_ok_and(|done| done.status.is_ended());
        if is_ended {
            self.told(&[id]);
        } else if !was_silent {
            self.ends().unsilence(&id);
        }
        let cancelled = match cancelled {
            Ok(cancelled) => cancelled,
            Err(error) => return Answer::refused(&error),
        };
        let message = match (cancelled.was.is_ended(), cancelled.leftovers_stopped) {
            (true, 0) => "It had ended before; nothing was left to stop.",
            (true, _) => "It had ended before; what it had left behind is stopped.",
            (false, _) if cancelled.cancelled => "Stopped, with everything it had started.",
            (false, _) => "It ended by itself while it was asked to stop.",
        };
        Answer::fine()
            .with("id", id.as_str())
            .with("cancelled", cancelled.cancelled)
            .with("status", cancelled.status.as_str())
            .with("leftovers_stopped", cancelled.leftovers_stopped)
            .with("message", message)
    }
}

fn with_key(request: Request, key: Option<&str>) -> Request {
    Request {
        idempotency_key: key.map(str::to_owned),
        ..request
    }
}

impl Answer {
    fn with_message(self, begun: &Begun, message: String) -> Self {
        self.with_notices(begun.notices.clone())
            .with("message", message)
    }
}

fn started(begun: &Begun, who: &str) -> String {
    let id = begun.id;
    if begun.status.is_ended() {
        // A call that was made again after its run had ended.
        return format!(
            "{who} was started before as {id}, and has ended: {}. background_output shows what \
             it has printed.",
            begun.status
        );
    }
    let state = if begun.status == Status::Queued {
        "waits for a place, then runs in the background"
    } else {
        "runs in the background"
    };
    format!(
        "{who} {state} as {id}. You will be told when it ends: go on with other work, or end \
         your turn. background_output shows what it has printed so far."
    )
}

fn capacity_hint(request: &Request, holders: &[(RunId, String)]) -> String {
    let mut hint = "go on when you are told that one has ended, or cancel one with \
                    background_cancel"
        .to_owned();
    if request.delegated.is_none() {
        hint.push_str(", or pass `queue`");
    }
    for (at, (id, label)) in holders.iter().take(HOLDERS_NAMED_MAX).enumerate() {
        let before = if at == 0 { "; active: " } else { ", " };
        write!(hint, "{before}{id} ({label})").ok();
    }
    if holders.len() > HOLDERS_NAMED_MAX {
        write!(hint, " and {} more", holders.len() - HOLDERS_NAMED_MAX).ok();
    }
    hint
}
