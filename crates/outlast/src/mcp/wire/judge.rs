//! What a frame is: a message, or something that is answered with what is wrong with it.

use super::skim::Skim;
use outlast_lib::limits;
use rmcp::{
    ErrorData,
    model::{ClientJsonRpcMessage, ErrorCode, RequestId},
};
use serde_json::Value;

/// What is done with a frame.
#[derive(Debug)]
pub(super) enum Verdict {
    /// It is a message.
    Message(Box<ClientJsonRpcMessage>),
    /// It is answered with an error, to the request whose id could be read.
    Wrong(Option<RequestId>, ErrorData),
    /// It is passed over: nobody waits for an answer.
    Nothing,
}

/// Judges a frame that was kept as a whole.
pub(super) fn judge(frame: &[u8], skim: &Skim) -> Verdict {
    let frame = frame.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(frame);
    if frame.iter().all(u8::is_ascii_whitespace) {
        return Verdict::Nothing;
    }
    if skim.depth_max > limits::FRAME_DEPTH_MAX {
        let most = limits::FRAME_DEPTH_MAX;
        return wrong(
            skim,
            format!("lists and objects stand more than {most} deep"),
        );
    }
    if skim.values > limits::FRAME_VALUES_MAX {
        let most = limits::FRAME_VALUES_MAX;
        return wrong(skim, format!("the message has more than {most} values"));
    }
    match serde_json::from_slice(frame) {
        Ok(message) => Verdict::Message(Box::new(message)),
        Err(error) => match serde_json::from_slice::<Value>(frame) {
            Ok(value) => no_message(skim, &value),
            // Not the reader's words for a message, which are of no use for what is no JSON.
            Err(_) if error.is_data() => wrong(skim, "the line is no JSON".to_owned()),
            Err(error) => Verdict::Wrong(
                id(skim),
                ErrorData::parse_error(format!("the line is no JSON: {error}"), None),
            ),
        },
    }
}

/// Judges a frame that is too long to be kept.
pub(super) fn too_long(skim: &Skim) -> Verdict {
    let most = limits::FRAME_BYTES_MAX;
    wrong(
        skim,
        format!("the message is longer than {most} bytes; hand long text over in a file"),
    )
}

/// Returns the error for a request that finds no place.
pub(super) fn too_many() -> ErrorData {
    ErrorData::new(
        ErrorCode(SERVER_BUSY),
        "too many requests at once; this one was not begun: send it again when others are answered",
        None,
    )
}

/// Returns the error for a request whose id is that of one which is not answered yet.
pub(super) fn id_in_use(id: &RequestId) -> ErrorData {
    let id: String = id.to_string().chars().take(ID_CHARS).collect();
    let fact = format!("the id `{id}` is that of a request that is not answered yet");
    ErrorData::invalid_request(fact, None)
}

/// Characters of an id that an error repeats.
const ID_CHARS: usize = 80;

/// Code of a request that was not begun since there are too many: one of the server's own.
const SERVER_BUSY: i32 = -32000;

/// Says what JSON lacks to be a message.
fn no_message(skim: &Skim, value: &Value) -> Verdict {
    let Some(fields) = value.as_object() else {
        let fact = "the line is no object; send one message a line, and no batch";
        return wrong(skim, fact.to_owned());
    };
    let has = |name: &str| fields.contains_key(name);
    if has("method") && !has("id") {
        // A notification that means nothing here has no answer.
        return Verdict::Nothing;
    }
    let fact = if value["jsonrpc"] != "2.0" {
        "`jsonrpc` must be \"2.0\""
    } else if has("id") && skim.id().is_none() {
        "`id` must be a text or a whole number"
    } else if has("method") && !value["method"].is_string() {
        "`method` must be a text"
    } else if value
        .get("params")
        .is_some_and(|params| !params.is_object())
    {
        "`params` must be an object"
    } else if has("result") || has("error") {
        // An answer that fits no question of ours.
        return Verdict::Nothing;
    } else {
        "the line is no JSON-RPC request"
    };
    wrong(skim, fact.to_owned())
}

fn wrong(skim: &Skim, fact: String) -> Verdict {
    Verdict::Wrong(id(skim), ErrorData::invalid_request(fact, None))
}

fn id(skim: &Skim) -> Option<RequestId> {
    serde_json::from_value(skim.id()?).ok()
}

#[cfg(test)]
mod tests;
