//! What a provider's answer is made of, kept so that it can be given back to it.
//!
//! `{"form": 1, "provider": …, "parts": […]}`, with the parts as the client library
//! writes them. Parts of another provider or form are of no use, and the neutral
//! message takes their place.

use super::Provider;
use crate::message::{Arguments, ModelCall};
use genai::chat::{ContentPart, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The form of the parts that this version writes and reads.
const FORM: u32 = 1;

#[derive(Deserialize, Serialize)]
struct Opaque {
    form: u32,
    provider: Provider,
    parts: Vec<ContentPart>,
}

/// Returns the parts as they are kept.
pub(super) fn keep(provider: Provider, parts: Vec<ContentPart>) -> Value {
    let opaque = Opaque {
        form: FORM,
        provider,
        parts,
    };
    serde_json::to_value(opaque).unwrap_or_default()
}

/// Returns the parts that were kept, `None` where `provider` could not understand them.
pub(super) fn parts(provider: Provider, opaque: &Value) -> Option<Vec<ContentPart>> {
    if opaque["form"] != FORM {
        return None;
    }
    let opaque = Opaque::deserialize(opaque).ok()?;
    (opaque.provider == provider).then_some(opaque.parts)
}

/// Returns the parts of a message of which only the neutral form is known.
pub(super) fn neutral_parts(text: &str, calls: &[ModelCall]) -> Vec<ContentPart> {
    let text = (!text.is_empty()).then(|| ContentPart::from_text(text));
    let calls = calls.iter().map(|call| {
        ContentPart::ToolCall(ToolCall {
            call_id: call.id.clone(),
            fn_name: call.name.clone(),
            fn_arguments: sent(&call.arguments),
            thought_signatures: None,
        })
    });
    text.into_iter().chain(calls).collect()
}

/// Returns the arguments as providers take them back: an object, also where what the
/// model wrote was none.
pub(super) fn sent(arguments: &Arguments) -> Value {
    match arguments {
        Arguments::Json(object) => object.clone(),
        Arguments::Malformed { text, why: _ } => json!({"malformed": text}),
    }
}

#[cfg(test)]
mod tests;
