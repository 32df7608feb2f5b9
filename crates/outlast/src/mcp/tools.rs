//! The tools: their definitions, and which function answers for each.

use super::{
    act,
    answer::Answer,
    arguments::{ArgumentError, Arguments},
    assistant::{self, Refused},
    desk::{self, Desk},
    hints, read, run, wait,
    wire::{Caller, RequestError},
};
use crate::{
    config::Config,
    failure::{Failure, exit},
};
use outlast_lib::{FindError, RunId, Store, limits};
use serde_json::{Map, Value};
use std::{os::fd::BorrowedFd, sync::LazyLock};

/// The definitions as hosts are given them: names, texts, schemas.
pub(super) const DEFINITIONS: &str = include_str!("tools.json");

/// A tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Run,
    List,
    Output,
    Wait,
    Send,
    Cancel,
    AssistantStart,
    AssistantPoll,
    AssistantCancel,
}

/// Every tool by its name.
pub(super) const TOOLS: [(&str, Tool); 9] = [
    ("background_run", Tool::Run),
    ("background_list", Tool::List),
    ("background_output", Tool::Output),
    ("background_wait", Tool::Wait),
    ("background_send", Tool::Send),
    ("background_cancel", Tool::Cancel),
    ("assistant_start", Tool::AssistantStart),
    ("assistant_poll", Tool::AssistantPoll),
    ("assistant_cancel", Tool::AssistantCancel),
];

/// Names of the arguments of each tool, out of its schema.
static ARGUMENTS: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
    let definitions: Value = serde_json::from_str(DEFINITIONS).expect("the definitions are JSON");
    let of = |name: &str| {
        let tools = definitions["tools"].as_array().expect("a list of tools");
        let tool = tools.iter().find(|tool| tool["name"] == name);
        let tool = tool.expect("each tool is defined");
        let properties = tool["inputSchema"]["properties"].as_object();
        properties.map_or_else(Vec::new, |names| names.keys().cloned().collect())
    };
    TOOLS.iter().map(|(name, _)| of(name)).collect()
});

impl Tool {
    /// Returns the tool of this name.
    pub(super) fn named(name: &str) -> Option<Self> {
        let found = TOOLS.iter().find(|(known, _)| *known == name);
        found.map(|(_, tool)| *tool)
    }

    /// Returns whether a call may take long because it waits.
    pub(super) fn may_wait(self, arguments: &Map<String, Value>) -> bool {
        match self {
            Self::Wait => true,
            Self::Run => arguments.contains_key("wait_secs"),
            Self::List
            | Self::Output
            | Self::Send
            | Self::Cancel
            | Self::AssistantStart
            | Self::AssistantPoll
            | Self::AssistantCancel => false,
        }
    }

    fn arguments(self, given: Map<String, Value>) -> Result<Arguments, ArgumentError> {
        let at = TOOLS.iter().position(|(_, tool)| *tool == self);
        let names = at.and_then(|at| ARGUMENTS.get(at));
        let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
        Arguments::new(given, &names)
    }
}

/// What a call works with.
pub(super) struct Call<'a> {
    pub(super) desk: &'a Desk,
    pub(super) caller: &'a Caller,
    pub(super) store: Store,
    /// The user's configuration, as it was read for this call.
    pub(super) config: Config,
    /// Readable once nobody waits for the answer any more.
    pub(super) interrupt: BorrowedFd<'a>,
}

impl Call<'_> {
    /// Returns the run that `typed` means, `None` when it means none.
    ///
    /// # Errors
    ///
    /// Fails when it means several, and when the runs cannot be looked through.
    pub(super) fn find(&self, typed: &str) -> Result<Option<RunId>, Failure> {
        match self
            .store
            .find(typed, Some(&self.desk.project(self.caller)))
        {
            Ok(id) => Ok(Some(id)),
            Err(FindError::NotFound { .. }) => Ok(None),
            Err(error) => Err(Failure::new(&error, exit::ERROR)),
        }
    }
}

/// What a call asks for. Arguments of the assistant tools are read whole.
enum Work {
    Background(Tool, Arguments),
    Start(Box<assistant::Start>),
    Poll(assistant::Poll),
    Cancel(String),
}

impl Work {
    fn read(tool: Tool, arguments: Arguments) -> Result<Self, ArgumentError> {
        let mut arguments = arguments;
        Ok(match tool {
            Tool::AssistantStart => Self::Start(Box::new(assistant::Start::read(&mut arguments)?)),
            Tool::AssistantPoll => Self::Poll(assistant::Poll::read(&mut arguments)?),
            Tool::AssistantCancel => Self::Cancel(arguments.needed_text("run_id")?),
            Tool::Run | Tool::List | Tool::Output | Tool::Wait | Tool::Send | Tool::Cancel => {
                Self::Background(tool, arguments)
            }
        })
    }
}

/// Answers a call. What cannot be done is an answer too.
///
/// # Errors
///
/// Fails when arguments of an assistant tool are wrong, which its callers take for an error of
/// the protocol.
pub(super) fn answer(
    desk: &Desk,
    caller: &Caller,
    tool: Tool,
    given: Map<String, Value>,
    interrupt: BorrowedFd<'_>,
) -> Result<Answer, RequestError> {
    let is_assistant = matches!(
        tool,
        Tool::AssistantStart | Tool::AssistantPoll | Tool::AssistantCancel
    );
    let read = tool.arguments(given);
    let answered = match read.and_then(|arguments| Work::read(tool, arguments)) {
        Ok(work) => try_answer(desk, caller, work, interrupt),
        Err(error) if is_assistant => Err(Refused::Argument(wrong(&error))),
        Err(error) => Err(bad(&error).into()),
    };
    match answered {
        Ok(answer) => Ok(answer),
        Err(Refused::Failure(failure)) => Ok(Answer::refused(&hints::in_tools(failure))),
        Err(Refused::Argument(message)) => Err(RequestError::params(message)),
    }
}

/// Returns what is wrong with an argument and what fits, on one line.
fn wrong(error: &ArgumentError) -> String {
    let failure = bad(error);
    format!("{}; {}", failure.sentence(), failure.hint())
}

fn try_answer(
    desk: &Desk,
    caller: &Caller,
    work: Work,
    interrupt: BorrowedFd<'_>,
) -> Result<Answer, Refused> {
    let (store, config) = match (desk.open_with_config(), &work) {
        (Ok(opened), _) => opened,
        // A cancel is never refused: where nothing can be looked up, nothing is known.
        (Err(_), Work::Cancel(typed)) => return Ok(assistant::unknown(typed)),
        (Err(failure), _) => return Err(failure.into()),
    };
    let call = Call {
        desk,
        caller,
        store,
        config,
        interrupt,
    };
    let mut answer = match work {
        Work::Background(tool, mut arguments) => background(&call, tool, &mut arguments)?,
        Work::Start(asked) => assistant::start(&call, *asked)?,
        Work::Poll(asked) => assistant::poll(&call, &asked)?,
        Work::Cancel(typed) => assistant::cancel(&call, &typed),
    };
    // What an answer is about it tells itself, also where that ended a moment later.
    let about = answer.object.get("id").or(answer.object.get("run_id"));
    let about = about.and_then(Value::as_str);
    let about = about.and_then(|id| RunId::parse(id).ok());
    let named: Vec<RunId> = answer.told.iter().copied().chain(about).collect();
    let unseen = desk.unseen(&call.store, caller, &named);
    answer.told.extend(unseen.iter().map(|run| run.id));
    let notices = unseen.iter().map(desk::notice).collect();
    Ok(answer.with_list_before_message("ended_unseen", notices))
}

fn background(call: &Call<'_>, tool: Tool, arguments: &mut Arguments) -> Result<Answer, Failure> {
    match tool {
        Tool::Run => run::run(call, arguments),
        Tool::List => read::list(call, arguments),
        Tool::Output => read::output(call, arguments),
        Tool::Wait => wait::wait(call, arguments),
        Tool::Send => act::send(call, arguments),
        Tool::Cancel => act::cancel(call, arguments),
        Tool::AssistantStart | Tool::AssistantPoll | Tool::AssistantCancel => {
            Err(bad(&ArgumentError::Missing { name: "run_id" }))
        }
    }
}

/// Returns the failure of arguments that cannot be understood.
pub(super) fn bad(error: &ArgumentError) -> Failure {
    Failure::new(error, exit::USAGE)
}

/// Returns the longest wait of one call in seconds, by the name of the host.
///
/// Hosts end a call after a time of their own and lose its answer then.
pub(super) fn wait_secs_max(host: Option<&str>) -> u64 {
    const PATIENT: [&str; 5] = ["claude", "gemini", "cursor", "visual studio code", "zed"];
    let host = host.unwrap_or_default().to_lowercase();
    if host.contains("codex") {
        limits::TOOL_WAIT_SECS_CODEX
    } else if host.contains("opencode") {
        limits::TOOL_WAIT_SECS_OPENCODE
    } else if PATIENT.iter().any(|name| host.contains(name)) {
        limits::TOOL_WAIT_SECS_PATIENT
    } else {
        limits::TOOL_WAIT_SECS
    }
}

#[cfg(test)]
mod tests;
