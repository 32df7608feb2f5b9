//! Decides from the head of a request whether it may come in.
//!
//! By which name the server is called and which page calls keeps other sites'
//! scripts out (DNS rebinding); the token keeps out everybody else. Nothing of
//! a request that is refused is repeated or written anywhere.

use super::{settings::Settings, token::Token};
use hyper::{
    HeaderMap, Uri,
    header::{AUTHORIZATION, HOST, HeaderName, ORIGIN},
    http::{request::Parts, uri::Authority},
};
use outlast_lib::Advice;
use std::fmt;

/// What stands before the token.
const SCHEME: &str = "bearer ";

/// What a request must show.
pub(super) struct Gate {
    hosts: Vec<String>,
    origins: Vec<Origin>,
    token: Token,
}

impl Gate {
    /// Makes the gate of a server.
    pub(super) fn new(settings: &Settings, token: Token) -> Self {
        let origins = settings.origins.iter();
        Self {
            hosts: settings.hosts.clone(),
            origins: origins.filter_map(|text| Origin::parse(text)).collect(),
            token,
        }
    }

    /// Returns the names of the server that it knows.
    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }

    /// Returns the origins that it lets in.
    pub(super) fn origins(&self) -> Vec<String> {
        self.origins.iter().map(Origin::to_string).collect()
    }

    /// Checks by which name the server is called, and by whose page.
    ///
    /// # Errors
    ///
    /// Fails when one of them is not known here or stands there twice.
    pub(super) fn check_names(&self, head: &Parts) -> Result<(), Refusal> {
        let named = one(&head.headers, &HOST)?.ok_or(Refusal::Host)?;
        let asked = head.uri.authority().map(Authority::as_str);
        if !std::iter::once(named)
            .chain(asked)
            .all(|name| self.is_us(name))
        {
            return Err(Refusal::Host);
        }
        let is_let_in = match one(&head.headers, &ORIGIN)? {
            None => true,
            Some(text) => Origin::parse(text)
                .is_some_and(|origin| self.origins.iter().any(|known| known.has(&origin))),
        };
        if is_let_in {
            Ok(())
        } else {
            Err(Refusal::Origin)
        }
    }

    /// Checks the token.
    ///
    /// # Errors
    ///
    /// Fails when it is absent, stands there twice, or is another.
    pub(super) fn check_token(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let given = one(headers, &AUTHORIZATION)?.ok_or(Refusal::NoToken)?;
        let is_bearer = given
            .get(..SCHEME.len())
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME));
        let token = given.get(SCHEME.len()..).filter(|_| is_bearer);
        let token = token.ok_or(Refusal::NoToken)?;
        if self.token.is(token.trim()) {
            Ok(())
        } else {
            Err(Refusal::Token)
        }
    }

    fn is_us(&self, name: &str) -> bool {
        let Ok(authority) = name.parse::<Authority>() else {
            return false;
        };
        let host = authority.host().to_ascii_lowercase();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let with_port = authority.port_u16().map(|port| format!("{host}:{port}"));
        let is_plain = !authority.as_str().contains('@');
        is_plain
            && self
                .hosts
                .iter()
                .any(|known| known == bare || Some(known) == with_port.as_ref())
    }
}

/// Returns the only value of a header.
fn one<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Refusal> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Refusal::Twice { name: name.clone() });
    }
    // What is no text is none of the names and tokens that we know.
    Ok(first.map(|value| value.to_str().unwrap_or_default()))
}

/// Where a page comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Origin {
    scheme: String,
    host: String,
    /// Any where absent.
    port: Option<u16>,
}

impl Origin {
    /// Returns the origin that `text` says; a port that is not said is the scheme's own, `*` any.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (text, is_any) = match text.strip_suffix(":*") {
            Some(text) => (text, true),
            None => (text, false),
        };
        let uri: Uri = text.parse().ok()?;
        let scheme = uri.scheme_str()?.to_ascii_lowercase();
        let own = match scheme.as_str() {
            "http" => 80,
            "https" => 443,
            _ => return None,
        };
        let authority = uri.authority()?;
        if authority.as_str().contains('@') {
            return None;
        }
        let port = authority.port_u16().unwrap_or(own);
        Some(Self {
            scheme,
            host: authority.host().to_ascii_lowercase(),
            port: (!is_any).then_some(port),
        })
    }

    fn has(&self, other: &Self) -> bool {
        self.scheme == other.scheme
            && self.host == other.host
            && (self.port.is_none() || self.port == other.port)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scheme, host, port } = self;
        match port {
            Some(port) => write!(f, "{scheme}://{host}:{port}"),
            None => write!(f, "{scheme}://{host}:*"),
        }
    }
}

/// Why a request does not come in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(super) enum Refusal {
    /// It calls the server by a name that is not its own.
    #[error("the request names another host than this server")]
    Host,
    /// A page of another site makes it.
    #[error("the request comes from a page of another site")]
    Origin,
    /// A header that is asked for once stands there twice.
    #[error("the header `{name}` stands there twice")]
    Twice {
        /// Its name.
        name: HeaderName,
    },
    /// It shows no token.
    #[error("the request has no token")]
    NoToken,
    /// It shows another token.
    #[error("the token is not that of this server")]
    Token,
}

impl Advice for Refusal {
    fn code(&self) -> &'static str {
        match self {
            Self::Host => "host_refused",
            Self::Origin => "origin_refused",
            Self::Twice { .. } => "header_twice",
            Self::NoToken => "token_missing",
            Self::Token => "token_wrong",
        }
    }

    fn hint(&self) -> String {
        let hint = match self {
            Self::Host => {
                "call it `localhost`, or start it with `--allow-host` and the name that you use"
            }
            Self::Origin => "start the server with `--allow-origin` and the origin of the page",
            Self::Twice { .. } => "send it once",
            Self::NoToken => {
                "send the header `Authorization: Bearer TOKEN`; a token in the URL does not count"
            }
            Self::Token => {
                "read the token again from the file that `outlast serve` names at its start"
            }
        };
        hint.to_owned()
    }
}

#[cfg(test)]
mod tests;
