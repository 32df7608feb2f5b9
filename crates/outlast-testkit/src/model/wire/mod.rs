//! The forms in which models are asked, each with its own way to offer tools,
//! to pass on their results, and to stream an answer.

mod chat;
mod gemini;
mod messages;
mod responses;

use serde_json::Value;

use super::{
    Asked, Turn,
    http::{Answer, Event, Http},
    script::{End, Reasoning, Stop, Tokens},
};

/// Characters of a piece in which texts and arguments are streamed: several for most.
const PIECE_CHARS: usize = 24;

/// A form in which a model is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// OpenAI's `/responses`.
    Responses,
    /// OpenAI's `/chat/completions`.
    Chat,
    /// Anthropic's `/messages`.
    Messages,
    /// Gemini's `:generateContent` and `:streamGenerateContent`.
    Gemini,
}

/// A tool as it was offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Tool {
    /// The group that it was offered in, where the wire has groups.
    pub(super) group: Option<String>,
    pub(super) name: String,
}

impl Tool {
    /// Returns a tool outside any group.
    fn named(name: &Value) -> Option<Self> {
        Some(Self {
            group: None,
            name: name.as_str()?.to_owned(),
        })
    }

    /// Returns the name with its group.
    pub(super) fn shown(&self) -> String {
        match &self.group {
            Some(group) => format!("{group}.{}", self.name),
            None => self.name.clone(),
        }
    }
}

/// What a model says, with every call bound to a tool that was offered.
pub(super) struct Said<'a> {
    /// Tells this answer's ids from those of other turns.
    number: usize,
    /// The name of the model that was asked for.
    model: &'a Value,
    reasoning: Option<&'a Reasoning>,
    text: Option<&'a str>,
    calls: Vec<SaidCall<'a>>,
    stop: Stop,
    tokens: Tokens,
}

struct SaidCall<'a> {
    /// Unique within the conversation.
    id: String,
    tool: &'a Tool,
    arguments: &'a Value,
    /// What is said in place of the arguments.
    raw: Option<&'a str>,
}

impl SaidCall<'_> {
    /// Returns the arguments as the text that is said.
    fn text(&self) -> String {
        match self.raw {
            Some(raw) => raw.to_owned(),
            None => self.arguments.to_string(),
        }
    }
}

impl Wire {
    /// Returns the form of a request, `None` when it is no question to a model.
    pub(super) fn of(request: &Http) -> Option<Self> {
        let path = request.path.as_str();
        if request.method != "POST" {
            None
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with(":generateContent") || path.ends_with(":streamGenerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Returns the tools that a request offers.
    pub(super) fn tools(self, body: &Value) -> Vec<Tool> {
        match self {
            Self::Responses => responses::tools(body),
            Self::Chat => chat::tools(body),
            Self::Messages => messages::tools(body),
            Self::Gemini => gemini::tools(body),
        }
    }

    /// Returns the text of each tool result of the conversation, oldest first.
    pub(super) fn results(self, body: &Value) -> Vec<String> {
        match self {
            Self::Responses => responses::results(body),
            Self::Chat => chat::results(body),
            Self::Messages => messages::results(body),
            Self::Gemini => gemini::results(body),
        }
    }

    /// Returns whether the answer is to be a JSON document.
    pub(super) fn wants_json(self, body: &Value) -> bool {
        match self {
            Self::Responses => body["text"]["format"]["type"] == "json_schema",
            Self::Chat => !body["response_format"].is_null(),
            Self::Messages => !body["output_config"]["format"].is_null(),
            Self::Gemini => gemini::wants_json(body),
        }
    }

    /// Returns a turn as an answer to what was asked.
    ///
    /// # Errors
    /// Says in words which tool was to be called and not offered.
    pub(super) fn answer(self, asked: &Asked, turn: &Turn) -> Result<Answer, String> {
        if let Some(refusal) = &turn.refusal {
            let answer = Answer::refusal(refusal.status, "refused by the script");
            return Ok(answer.retry_after(refusal.retry_after_secs));
        }
        if let Some(raw) = &turn.raw {
            return Ok(Answer::raw(raw.status, &raw.kind, &raw.body));
        }
        let number = asked.turn.map_or(0, |turn| turn + 1);
        let calls = turn.calls.iter().zip(0_usize..).map(|(call, at)| {
            let own = || format!("call_{number}_{at}");
            Ok(SaidCall {
                id: call.id.clone().unwrap_or_else(own),
                tool: asked.tool(&call.tool)?,
                arguments: &call.arguments,
                raw: call.text.as_deref(),
            })
        });
        let said = Said {
            number,
            model: &asked.body["model"],
            reasoning: turn.reasoning.as_ref(),
            text: turn.text.as_deref(),
            calls: calls.collect::<Result<_, String>>()?,
            stop: turn.stop,
            tokens: turn.tokens,
        };
        let is_streamed = match self {
            Self::Gemini => asked.path.contains(":stream"),
            Self::Responses | Self::Chat | Self::Messages => asked.body["stream"] == true,
        };
        let answer = if is_streamed {
            let mut events = self.events(&said);
            let mut end = turn.end;
            if let (End::Short(after), Some(event)) = (end, &turn.last_event) {
                events.truncate(after);
                events.push(Event::typed(event));
                end = End::Whole;
            }
            Answer::stream(events).ending(end)
        } else {
            Answer::document(self.document(&said)).ending(turn.end)
        };
        let answer = answer.of_kind(turn.kind.as_deref());
        Ok(answer.held_after(turn.held_after.clone()))
    }

    fn events(self, said: &Said<'_>) -> Vec<Event> {
        match self {
            Self::Responses => responses::events(said),
            Self::Chat => chat::events(said),
            Self::Messages => messages::events(said),
            Self::Gemini => gemini::events(said),
        }
    }

    fn document(self, said: &Said<'_>) -> Value {
        match self {
            Self::Responses => responses::document(said),
            Self::Chat => chat::document(said),
            Self::Messages => messages::document(said),
            Self::Gemini => gemini::document(said),
        }
    }
}

/// The members of a list, none where there is no list.
pub(super) fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// All text of a content: a text, or a list of blocks that hold some.
fn text_of(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => content.to_string(),
    }
}

/// A text in pieces, as a model would stream it.
fn pieces(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(PIECE_CHARS).map(String::from_iter).collect()
}
