//! Which model a run talks to, and why that one.

use super::{ChooseError, Secret, named, table};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Who serves a model, and with that the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 6] = [
        Self::Anthropic,
        Self::OpenAi,
        Self::Gemini,
        Self::Ollama,
        Self::LlamaCpp,
        Self::Compatible,
    ];

    /// Returns the word that stands before the `/` in the name of a model.
    pub fn word(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
            Self::LlamaCpp => "llama.cpp",
            Self::Compatible => "compatible",
        }
    }

    /// Returns the variable that holds the key.
    pub fn key_variable(self) -> &'static str {
        match self {
            Self::Anthropic => "ANTHROPIC_API_KEY",
            Self::OpenAi | Self::Compatible => "OPENAI_API_KEY",
            Self::Gemini => "GEMINI_API_KEY",
            Self::Ollama => "OLLAMA_API_KEY",
            Self::LlamaCpp => "LLAMA_API_KEY",
        }
    }

    /// Returns whether it is a vendor, whose own address takes nobody without a key.
    pub(super) fn is_vendor(self) -> bool {
        match self {
            Self::Anthropic | Self::OpenAi | Self::Gemini => true,
            Self::Ollama | Self::LlamaCpp | Self::Compatible => false,
        }
    }

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

impl fmt::Display for Provider {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.word())
    }
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

    /// Returns the model for an agent below this one: what was asked for, if this run's key
    /// and address serve it, or the same model.
    ///
    /// # Errors
    /// Fails when the name is that of another provider's model.
    pub fn below(&self, asked: Option<&str>) -> Result<Self, ChooseError> {
        let Some(asked) = asked.map(str::trim).filter(|asked| !asked.is_empty()) else {
            return Ok(self.clone());
        };
        let (provider, name) = named::split(asked);
        // Other servers than the vendors have models of any name.
        let is_ours = provider == Some(self.provider)
            || provider.is_none()
            || (!self.provider.is_vendor() && provider.is_some_and(Provider::is_vendor));
        if !is_ours {
            return Err(ChooseError::OtherProvider {
                asked: asked.to_owned(),
                provider: self.provider,
            });
        }
        let name = match provider {
            Some(provider) if provider == self.provider => name,
            Some(_) | None => asked,
        };
        if name.is_empty() {
            return Ok(self.clone());
        }
        Ok(Self {
            name: name.to_owned(),
            context_tokens: self.context_tokens.filter(|_| name == self.name),
            why: "the run above asked for it".to_owned(),
            ..self.clone()
        })
    }
}

/// Returns the key for a model, from the environment; empty ones count as absent.
pub fn key_of(choice: &Choice, environment: &dyn Fn(&str) -> Option<String>) -> Option<Secret> {
    let key = environment(choice.provider.key_variable())?;
    let key = key.trim();
    (!key.is_empty()).then(|| Secret::new(key))
}

/// Returns the first of the usual models of a provider that its list has, the first of all
/// where there is no list.
pub(super) fn usual(provider: Provider, listed: Option<&[String]>) -> Option<String> {
    let usual = table::preferred(provider);
    let Some(listed) = listed else {
        return usual.first().cloned();
    };
    let is_listed = |name: &&String| listed.iter().any(|listed| named::is_same(name, listed));
    usual.iter().find(is_listed).cloned()
}

#[cfg(test)]
mod tests;
