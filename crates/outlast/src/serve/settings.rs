//! Where to listen, and by which names and for which pages: flags to values.

use crate::cli::ServeArguments;
use hyper::Uri;
use outlast_lib::Advice;
use std::net::{IpAddr, SocketAddr};

/// Port where nothing says another: a number that no service is registered for.
pub(crate) const PORT: u16 = 27_183;

/// Names by which every server may be called.
const LOOPBACK_NAMES: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// What was settled before anything was opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Settings {
    /// Where to listen.
    pub(super) address: SocketAddr,
    /// Names in `Host` that are ours, in lower case; with `:PORT` that port alone.
    pub(super) hosts: Vec<String>,
    /// Origins of pages that may call: `SCHEME://HOST:PORT`, where `*` is any port.
    pub(super) origins: Vec<String>,
}

impl Settings {
    /// Returns what the flags and the configured port mean.
    ///
    /// # Errors
    ///
    /// Fails on an address that others can reach without `--allow-remote`, and on a name or an
    /// origin that is none.
    pub(super) fn of(
        arguments: &ServeArguments,
        configured: Option<u16>,
    ) -> Result<Self, SettingsError> {
        let port = arguments.port.or(configured).unwrap_or(PORT);
        let address = SocketAddr::new(arguments.bind, port);
        if !arguments.bind.is_loopback() && !arguments.allow_remote {
            return Err(SettingsError::Remote {
                address: arguments.bind,
            });
        }
        let mut hosts: Vec<String> = LOOPBACK_NAMES.map(str::to_owned).to_vec();
        if !arguments.bind.is_unspecified() {
            hosts.push(arguments.bind.to_string());
        }
        for name in &arguments.allow_host {
            hosts.push(host(name)?);
        }
        let mut origins = vec![
            "http://localhost:*".to_owned(),
            "http://127.0.0.1:*".to_owned(),
            "http://[::1]:*".to_owned(),
        ];
        for given in &arguments.allow_origin {
            origins.push(origin(given)?);
        }
        Ok(Self {
            address,
            hosts,
            origins,
        })
    }

    /// Returns what whoever starts the server has to know, if anything.
    pub(super) fn warning(&self) -> Option<String> {
        if self.address.ip().is_loopback() {
            return None;
        }
        let names: Vec<&str> = self.hosts.iter().map(String::as_str).collect();
        Some(format!(
            "whoever has the token can run commands here, and it crosses the network as plain \
             text: put a proxy with TLS before it. Requests are answered for {}",
            names.join(", ")
        ))
    }
}

fn host(name: &str) -> Result<String, SettingsError> {
    let name = name.trim().to_ascii_lowercase();
    let is_name = name.parse::<IpAddr>().is_ok()
        || name
            .parse::<hyper::http::uri::Authority>()
            .is_ok_and(|authority| !authority.as_str().contains('@'));
    if is_name {
        Ok(name)
    } else {
        Err(SettingsError::Host { given: name })
    }
}

/// Returns an origin with its port, the scheme's own where none is given.
fn origin(given: &str) -> Result<String, SettingsError> {
    let parsed = super::gate::Origin::parse(given);
    let is_bare = given
        .parse::<Uri>()
        .is_ok_and(|uri| uri.path_and_query().is_none_or(|rest| rest == "/"));
    match parsed {
        Some(origin) if is_bare => Ok(origin.to_string()),
        Some(_) | None => Err(SettingsError::Origin {
            given: given.to_owned(),
        }),
    }
}

/// Why the flags cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(super) enum SettingsError {
    /// Others can reach the address, and nobody said that they may.
    #[error("`{address}` can be reached from other machines")]
    Remote {
        /// The address.
        address: IpAddr,
    },
    /// A name is none.
    #[error("`{given}` is no name of a host")]
    Host {
        /// What was given.
        given: String,
    },
    /// An origin is none.
    #[error("`{given}` is no origin of a page")]
    Origin {
        /// What was given.
        given: String,
    },
}

impl Advice for SettingsError {
    fn code(&self) -> &'static str {
        match self {
            Self::Remote { .. } => "remote_bind",
            Self::Host { .. } => "bad_host_name",
            Self::Origin { .. } => "bad_origin",
        }
    }

    fn hint(&self) -> String {
        let hint = match self {
            Self::Remote { .. } => {
                "leave `--bind` out, or add `--allow-remote` if other machines are to start commands here"
            }
            Self::Host { .. } => "give a name such as `build.example.org`, or `NAME:PORT`",
            Self::Origin { .. } => "give `SCHEME://HOST` or `SCHEME://HOST:PORT`, without a path",
        };
        hint.to_owned()
    }
}

#[cfg(test)]
mod tests;
