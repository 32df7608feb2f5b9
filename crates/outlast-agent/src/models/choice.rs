//! Which model a run talks to, and why that one.

use serde::{Deserialize, Serialize};

/// Who serves a model, and with that the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Provider {
    /// Anthropic's messages.
    Anthropic,
    /// OpenAI's responses.
    OpenAi,
    /// Google's Gemini.
    Gemini,
    /// An Ollama server: chat.
    Ollama,
    /// A llama.cpp server: chat.
    LlamaCpp,
    /// Any other server with OpenAI's chat form.
    Compatible,
}

/// A model that was chosen. It stands in the run's spec, and there is no key in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice {
    /// Who serves it.
    pub provider: Provider,
    /// Its name there.
    pub name: String,
    /// Where, if not at the vendor's own address. It ends with `/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_url: Option<String>,
    /// How many tokens its window holds, where its server said so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_tokens: Option<u64>,
    /// Why this one, in words for people.
    pub why: String,
}

impl Provider {
    /// Returns where the vendor serves its models, or where a local server usually does.
    fn usual_place(self) -> &'static str {
        match self {
            Self::Anthropic => "https://api.anthropic.com/v1/",
            Self::OpenAi | Self::Compatible => "https://api.openai.com/v1/",
            Self::Gemini => "https://generativelanguage.googleapis.com/v1beta/",
            Self::Ollama => "http://127.0.0.1:11434/v1/",
            Self::LlamaCpp => "http://127.0.0.1:8080/v1/",
        }
    }
}

impl Choice {
    /// Returns the address below which it is served. It ends with `/`.
    pub fn place(&self) -> String {
        let place = self.base_url.as_deref();
        let mut place = place.unwrap_or(self.provider.usual_place()).to_owned();
        if !place.ends_with('/') {
            place.push('/');
        }
        place
    }
}
