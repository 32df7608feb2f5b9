//! The desk as a server's offer: tools by their names, runs as tasks.

use super::{
    answer::Answer,
    desk::Desk,
    resources, task,
    tools::{self, DEFINITIONS, Tool},
    wire::{
        self, Call, Caller, Content, Listener, Mark, Offer, Reply, RequestError, Resource, Task,
    },
};
use serde_json::{Map, Value};

/// Characters of an unknown name that an error repeats.
const SHOWN_CHARS: usize = 80;

impl Offer for Desk {
    fn definitions(&self) -> &'static str {
        DEFINITIONS
    }

    fn instructions(&self) -> String {
        Self::instructions(self)
    }

    fn wants_roots(&self) -> bool {
        Self::wants_roots(self)
    }

    fn may_wait(&self, call: &Call) -> bool {
        Tool::named(&call.tool).is_some_and(|tool| tool.may_wait(&call.arguments))
    }

    fn call(&self, call: Call, listener: &Listener<'_>) -> Result<Reply, RequestError> {
        let Some(tool) = Tool::named(&call.tool) else {
            let name: String = call.tool.chars().take(SHOWN_CHARS).collect();
            return Err(RequestError::params(format!("unknown tool `{name}`")));
        };
        let begins = match tool {
            Tool::Run => task::fits(&call.arguments),
            Tool::AssistantStart => true,
            Tool::List
            | Tool::Output
            | Tool::Wait
            | Tool::Send
            | Tool::Cancel
            | Tool::AssistantPoll
            | Tool::AssistantCancel => false,
        };
        let as_task = call.takes_task && begins;
        let caller = call.caller;
        let answer = tools::answer(self, &caller, tool, call.arguments, listener.interrupt)?;
        // A task says nothing of other runs, so what the answer would have told is not told.
        if as_task && let Some(task) = task::begun(self, &answer) {
            return Ok(Reply::Task(task));
        }
        // What is never written is told again.
        if !answer.told.is_empty() {
            let teller = self.teller(&caller, answer.told.clone());
            listener.after.set(Box::new(teller));
        }
        Ok(Reply::Result(result(answer)))
    }

    fn task(&self, caller: &Caller, id: &str) -> Result<Task, RequestError> {
        task::now(self, caller, id)
    }

    fn update_task(
        &self,
        caller: &Caller,
        id: &str,
        answers: Map<String, Value>,
    ) -> Result<(), RequestError> {
        task::answered(self, caller, id, &answers)
    }

    fn cancel_task(&self, caller: &Caller, id: &str) -> Result<(), RequestError> {
        task::cancel(self, caller, id)
    }

    fn resources(&self, caller: &Caller) -> Result<Vec<Resource>, RequestError> {
        resources::list(self, caller)
    }

    fn templates(&self) -> Vec<Resource> {
        resources::templates()
    }

    fn read_resource(&self, caller: &Caller, uri: &str) -> Result<Content, RequestError> {
        resources::read(self, caller, uri)
    }

    fn mark(&self, uri: &str) -> Option<Mark> {
        resources::mark(self, uri)
    }

    fn watch(
        &self,
        uri: &str,
        mark: Mark,
        listener: &Listener<'_>,
        changed: &dyn Fn(),
    ) -> Result<(), RequestError> {
        resources::watch(self, (uri, mark), listener, changed)
    }
}

/// Returns an answer as the protocol writes it.
fn result(answer: Answer) -> Map<String, Value> {
    wire::result(answer.object, answer.is_refusal)
}
