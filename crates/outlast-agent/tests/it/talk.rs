//! A conversation with a scripted model, by any provider's wire.

use std::time::Duration;

use outlast_agent::message::{Message, ToolSpec, Turn};
use outlast_agent::models::{
    Choice, Model, ModelError, Patience, Progress, Provider, Secret, TurnRequest,
};
use outlast_testkit::model::ScriptedModel;
use serde_json::json;

/// One provider of each wire.
pub(crate) const WIRES: [Provider; 4] = [
    Provider::Anthropic,
    Provider::OpenAi,
    Provider::Compatible,
    Provider::Gemini,
];

pub(crate) const KEY: &str = "key-of-the-test-0123456789";
pub(crate) const SYSTEM: &str = "You work.";

/// A model that answers by a script, and what is asked of it.
pub(crate) struct Talk {
    pub(crate) server: ScriptedModel,
    pub(crate) model: Model,
    pub(crate) messages: Vec<Message>,
    /// Each attempt that failed: its code and what was said.
    pub(crate) retries: Vec<(String, String)>,
    /// All text since the last attempt began.
    pub(crate) text: String,
    pub(crate) reasoned: usize,
}

pub(crate) fn choice(provider: Provider, server: &ScriptedModel) -> Choice {
    let (name, version) = match provider {
        Provider::Anthropic => ("claude-opus-5-5", "v1"),
        // A name from which the client library would read an effort.
        Provider::OpenAi => ("gpt-5.1-codex-max", "v1"),
        Provider::Gemini => ("gemini-3.5-flash", "v1beta"),
        Provider::Ollama | Provider::LlamaCpp | Provider::Compatible => ("org::mini-high", "v1"),
    };
    Choice {
        provider,
        name: name.to_owned(),
        base_url: Some(format!("{}/{version}/", server.url())),
        context_tokens: None,
        why: "the test".to_owned(),
    }
}

pub(crate) fn impatient() -> Patience {
    Patience {
        pause: Duration::from_millis(2),
        attempts_max: 3,
        ..Patience::default()
    }
}

pub(crate) fn tools() -> Vec<ToolSpec> {
    let tool = |name: &str| ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name}."),
        schema: json!({
            "type": "object",
            "properties": {"text": {"type": "string"}, "count": {"type": "integer"}},
            "required": ["text"],
        }),
    };
    vec![tool("shell"), tool("look")]
}

impl Talk {
    pub(crate) fn new(provider: Provider) -> Self {
        let server = ScriptedModel::new();
        let model = Model::new(&choice(provider, &server), Some(Secret::new(KEY)));
        Self {
            model: model.expect("a client").with_patience(impatient()),
            server,
            messages: vec![Message::User {
                text: "Make a file.".to_owned(),
            }],
            retries: Vec::new(),
            text: String::new(),
            reasoned: 0,
        }
    }

    /// Asks for a turn with the conversation so far, and adds nothing to it.
    pub(crate) async fn ask(&mut self) -> Result<Turn, ModelError> {
        let tools = tools();
        let request = TurnRequest {
            system: SYSTEM,
            messages: &self.messages,
            tools: &tools,
            output_tokens_max: Some(1_000),
        };
        let (retries, text, reasoned) = (&mut self.retries, &mut self.text, &mut self.reasoned);
        let mut sink = |progress: Progress<'_>| match progress {
            Progress::Text(piece) => text.push_str(piece),
            Progress::Reasoning => *reasoned += 1,
            Progress::Retry { code, why, .. } => {
                text.clear();
                retries.push((code.to_owned(), why.to_owned()));
            }
        };
        self.model.turn(&request, &mut sink).await
    }

    /// Asks for a turn, and answers each of its calls.
    pub(crate) async fn go_on(&mut self) -> Turn {
        self.text.clear();
        let turn = self.ask().await.expect("a turn");
        self.messages.push(turn.message());
        for call in &turn.calls {
            self.messages.push(Message::Result {
                call_id: call.id.clone(),
                name: call.name.clone(),
                text: format!("did {}", call.id),
                ok: true,
            });
        }
        turn
    }

    /// Writes the conversation down and reads it back.
    pub(crate) fn through_the_journal(&mut self) {
        let lines = self.messages.iter().map(|message| {
            let line = serde_json::to_string(message).expect("it can be written");
            serde_json::from_str(&line).expect("it can be read back")
        });
        self.messages = lines.collect();
    }
}
