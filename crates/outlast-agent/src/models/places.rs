//! What the environment says of providers: keys, addresses, and a model.

use super::{ChooseError, Provider, Secret};
use reqwest::Url;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What was found in the environment.
#[derive(Debug)]
pub(super) struct Places {
    /// `OUTLAST_MODEL`.
    pub(super) model: Option<String>,
    /// The vendors' own, where it is another than the usual one.
    anthropic: Option<String>,
    open_ai: Option<String>,
    gemini: Option<String>,
    /// A server with the chat form at an address that is not the vendor's.
    pub(super) compatible: Option<String>,
    /// `HOST`, `HOST:PORT` or a URL, as it was given: only who asks for it is told that it is
    /// none.
    ollama: String,
    llama_cpp: String,
    /// What `OLLAMA_CONTEXT_LENGTH` says.
    pub(super) ollama_context_tokens: Option<u64>,
    keys: Vec<(&'static str, Secret)>,
}

impl Places {
    /// Reads the environment. Empty variables count as absent.
    ///
    /// # Errors
    /// Fails with an address that is none, or that has a password in it.
    pub(super) fn read(environment: &dyn Fn(&str) -> Option<String>) -> Result<Self, ChooseError> {
        let get = |name: &str| {
            let value = environment(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let url = |name: &'static str| get(name).map(|value| address(name, &value)).transpose();
        let open_ai = url("OPENAI_BASE_URL")?;
        let (open_ai, compatible) = match open_ai {
            Some(url) if is_open_ai(&url) => (Some(url), None),
            other => (None, other),
        };
        let gemini = match url("GEMINI_BASE_URL")? {
            Some(url) => Some(url),
            None => url("GOOGLE_GEMINI_BASE_URL")?,
        };
        let unusual = |url: Url, provider: Provider| {
            let url = url.to_string();
            (url != usual(provider)).then_some(url)
        };
        let or = |name: &str, usual: &str| get(name).unwrap_or_else(|| usual.to_owned());
        let llama_host = bracketed(&or("LLAMA_ARG_HOST", "127.0.0.1"));
        let llama_port = or("LLAMA_ARG_PORT", "8080");
        let keys = Provider::ALL.into_iter().filter_map(|provider| {
            let variable = provider.key_variable();
            Some((variable, Secret::new(get(variable)?)))
        });
        Ok(Self {
            model: get("OUTLAST_MODEL"),
            anthropic: url("ANTHROPIC_BASE_URL")?
                .and_then(|url| unusual(beneath(url, "v1"), Provider::Anthropic)),
            open_ai: open_ai.and_then(|url| unusual(url, Provider::OpenAi)),
            gemini: gemini.and_then(|url| unusual(beneath(url, "v1beta"), Provider::Gemini)),
            compatible: compatible.map(String::from),
            ollama: bracketed(&or("OLLAMA_HOST", "127.0.0.1")),
            llama_cpp: format!("{llama_host}:{llama_port}"),
            ollama_context_tokens: get("OLLAMA_CONTEXT_LENGTH")
                .and_then(|tokens| tokens.parse().ok()),
            keys: keys.collect(),
        })
    }

    /// Returns the address of a provider, where it is not the vendor's usual one.
    ///
    /// # Errors
    /// Fails when the address of a local server is none.
    pub(super) fn of(&self, provider: Provider) -> Result<Option<String>, ChooseError> {
        Ok(match provider {
            Provider::Anthropic => self.anthropic.clone(),
            Provider::OpenAi => self.open_ai.clone(),
            Provider::Gemini => self.gemini.clone(),
            Provider::Compatible => self.compatible.clone(),
            Provider::Ollama => Some(local("OLLAMA_HOST", &self.ollama, 11_434)?),
            Provider::LlamaCpp => Some(local("LLAMA_ARG_HOST", &self.llama_cpp, 8_080)?),
        })
    }

    /// Returns the key for a provider.
    pub(super) fn key(&self, provider: Provider) -> Option<&Secret> {
        let variable = provider.key_variable();
        let mut keys = self.keys.iter();
        keys.find_map(|(name, key)| (*name == variable).then_some(key))
    }
}

fn usual(provider: Provider) -> String {
    super::Choice {
        provider,
        name: String::new(),
        base_url: None,
        context_tokens: None,
        why: String::new(),
    }
    .place()
}

/// Returns an address that ends with `/`.
fn address(variable: &'static str, value: &str) -> Result<Url, ChooseError> {
    let wrong = |what: &'static str| ChooseError::Address { variable, what };
    let mut url = Url::parse(value).map_err(|_| wrong("is no URL"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(wrong("is no address for HTTP"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong("has a password in it"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(wrong("has more than a path"));
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// Returns the address with the version's part of the path, which vendors' own programs
/// add themselves.
fn beneath(mut url: Url, version: &str) -> Url {
    let is_version = |part: &str| part == version || (part.starts_with('v') && part.len() == 2);
    let path = url.path().trim_end_matches('/').to_owned();
    if !path.rsplit('/').next().is_some_and(is_version) {
        url.set_path(&format!("{path}/{version}/"));
    }
    url
}

/// Returns the address of a server that is given as `HOST`, `HOST:PORT` or a URL.
fn local(variable: &'static str, given: &str, port: u16) -> Result<String, ChooseError> {
    let has_scheme = given.contains("://");
    let given = if has_scheme {
        given.to_owned()
    } else {
        format!("http://{given}")
    };
    let mut url = address(variable, &given)?;
    if url.port().is_none() && !has_scheme {
        // It cannot fail: the URL has a host.
        url.set_port(Some(port)).ok();
    }
    // Where a server listens on every address, it is asked on this machine's own.
    if url
        .host_str()
        .is_some_and(|host| matches!(host, "0.0.0.0" | "[::]"))
    {
        url.set_ip_host(IpAddr::V4(Ipv4Addr::LOCALHOST)).ok();
    }
    Ok(beneath(url, "v1").to_string())
}

/// Returns a host as it stands in a URL.
fn bracketed(host: &str) -> String {
    if host.parse::<Ipv6Addr>().is_ok() {
        format!("[{host}]")
    } else {
        host.to_owned()
    }
}

fn is_open_ai(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    host == "api.openai.com" || host.ends_with(".api.openai.com")
}

#[cfg(test)]
mod tests;
