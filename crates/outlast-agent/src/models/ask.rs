//! From our forms to the request of the client library.
//!
//! A request is made of nothing but the choice and the conversation, so that a
//! conversation which was read back asks in the same bytes.

use super::{Choice, Patience, Provider, Secret, Tap, TurnRequest, opaque};
use crate::message::{Message, ToolSpec};
use genai::adapter::AdapterKind;
use genai::chat::{
    CacheControl, ChatMessage, ChatOptions, ChatRequest, MessageContent, Tool, ToolResponse,
};
use genai::resolver::{AuthData, Endpoint};
use genai::{ModelIden, ServiceTarget};
use serde_json::{Map, Value};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem;
use std::sync::Arc;

/// What stands for the model where its name goes into the body beside the library: from
/// names it would read more than a name, `-max` as an effort and `::` as a namespace.
const NAMELESS: &str = "model";
/// What is sent where a form wants a key and the server wants none.
const NO_KEY: &str = "none";

/// Returns whom to ask.
pub(super) fn target(choice: &Choice, key: Option<&Secret>) -> ServiceTarget {
    let (adapter, name) = match choice.provider {
        Provider::Anthropic => (AdapterKind::Anthropic, choice.name.as_str()),
        Provider::Gemini => (AdapterKind::Gemini, choice.name.as_str()),
        Provider::OpenAi => (AdapterKind::OpenAIResp, NAMELESS),
        Provider::Ollama | Provider::LlamaCpp | Provider::Compatible => {
            (AdapterKind::OpenAI, NAMELESS)
        }
    };
    ServiceTarget {
        endpoint: Endpoint::from_owned(choice.place()),
        auth: AuthData::from_single(key.map_or(NO_KEY, Secret::expose)),
        model: ModelIden::new(adapter, name.to_owned()),
    }
}

/// Returns how to ask.
pub(super) fn options(
    choice: &Choice,
    request: &TurnRequest<'_>,
    patience: &Patience,
    tap: Arc<Tap>,
) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_content(true)
        .with_capture_tool_calls(true)
        .with_stream_header_timeout(patience.headers)
        .with_stream_read_timeout(patience.stall)
        .with_raw_frame_sink_arc(tap);
    let mut body = Map::new();
    let mut set = |name: &str, value: Value| drop(body.insert(name.to_owned(), value));
    match choice.provider {
        Provider::Anthropic => {
            set("model", choice.name.as_str().into());
            options = options.with_capture_reasoning_content(true);
            options.max_tokens = request.output_tokens_max;
        }
        Provider::OpenAi => {
            set("model", choice.name.as_str().into());
            if choice.carries_reasoning() {
                // Encrypted reasoning is asked for, but no summary: accounts that are not
                // verified are refused one.
                options = options.with_capture_reasoning_content(true);
                set("reasoning", Value::Object(Map::new()));
            }
            options = options.with_prompt_cache_key(cache_key(request));
            options.max_tokens = request.output_tokens_max;
        }
        // Gemini gives signatures unasked, and refuses to be asked for thoughts where a
        // model has none.
        Provider::Gemini => options.max_tokens = request.output_tokens_max,
        Provider::Ollama | Provider::LlamaCpp | Provider::Compatible => {
            set("model", choice.name.as_str().into());
            options = options.with_capture_reasoning_content(true);
            if let Some(tokens) = request.output_tokens_max {
                set(choice.output_limit_name(), tokens.into());
            }
        }
    }
    if !body.is_empty() {
        options = options.with_extra_body(Value::Object(body));
    }
    options
}

impl Choice {
    /// Returns the name of the output limit in the chat form: OpenAI's newer models know
    /// only one, most servers only the other.
    fn output_limit_name(&self) -> &'static str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        let is_newer = ["gpt-5", "gpt-6", "o1", "o3", "o4"]
            .iter()
            .any(|family| name.starts_with(family));
        if is_newer {
            "max_completion_tokens"
        } else {
            "max_tokens"
        }
    }
}

/// Returns what leads requests of one conversation to the same cache: it lasts over a
/// restart, and says nothing of the text.
fn cache_key(request: &TurnRequest<'_>) -> String {
    let mut hasher = DefaultHasher::new();
    request.system.hash(&mut hasher);
    if let Some(Message::User { text }) = request.messages.first() {
        text.hash(&mut hasher);
    }
    format!("outlast-{:016x}", hasher.finish())
}

/// Returns the request.
pub(super) fn request(choice: &Choice, request: &TurnRequest<'_>) -> ChatRequest {
    let mut messages = messages(choice.provider, request.messages);
    let mut chat = ChatRequest::default();
    if choice.provider == Provider::Anthropic {
        mark_for_cache(&mut messages);
        let system = ChatMessage::system(request.system).with_options(CacheControl::Ephemeral);
        messages.insert(0, system);
    } else {
        chat = chat.with_system(request.system);
    }
    chat.messages = messages;
    if request.tools.is_empty() {
        return chat;
    }
    chat.with_tools(request.tools.iter().map(tool))
}

fn tool(spec: &ToolSpec) -> Tool {
    Tool::new(spec.name.as_str())
        .with_description(spec.description.as_str())
        .with_schema(spec.schema.clone())
}

/// Marks where the provider is to cache: the end, and the end of the turn before, which
/// is then found again also after a turn of many calls.
fn mark_for_cache(messages: &mut [ChatMessage]) {
    let is_ours = |message: &ChatMessage| message.role != genai::chat::ChatRole::Assistant;
    let last_answer = messages.iter().rposition(|message| !is_ours(message));
    let before = messages.get_mut(..last_answer.unwrap_or_default());
    let before = before.and_then(|part| part.iter_mut().rfind(|message| is_ours(message)));
    if let Some(message) = before {
        message.options = Some(CacheControl::Ephemeral.into());
    }
    if let Some(message) = messages.last_mut() {
        message.options = Some(CacheControl::Ephemeral.into());
    }
}

fn messages(provider: Provider, messages: &[Message]) -> Vec<ChatMessage> {
    let mut made = Vec::with_capacity(messages.len());
    let mut results = Vec::new();
    for message in messages {
        if let Message::Result {
            call_id,
            name,
            text,
            ok: _,
        } = message
        {
            results.push(ToolResponse::new(call_id, text).with_fn_name(name));
            continue;
        }
        flush(&mut results, &mut made);
        match message {
            Message::User { text } => made.push(ChatMessage::user(text.as_str())),
            Message::Assistant {
                text,
                calls,
                opaque,
            } => {
                let parts = opaque::parts(provider, opaque)
                    .unwrap_or_else(|| opaque::neutral_parts(text, calls));
                // A message without content, or of reasoning alone, is refused by most
                // providers.
                if parts
                    .iter()
                    .any(|part| part.is_text() || part.is_tool_call())
                {
                    made.push(ChatMessage::assistant(MessageContent::from_parts(parts)));
                }
            }
            Message::Result { .. } => {}
        }
    }
    flush(&mut results, &mut made);
    made
}

/// Puts results that follow each other into one message, as Anthropic wants them.
fn flush(results: &mut Vec<ToolResponse>, made: &mut Vec<ChatMessage>) {
    if !results.is_empty() {
        made.push(ChatMessage::from(mem::take(results)));
    }
}
