//! What of containment a user configures, and what follows for a start.
//!
//! A caller may ask for less than the configuration allows, never for more, and a
//! project may lower what it allows.

use crate::config::{ConfigError, shown};
use outlast_journal::error::Advice;
use outlast_lib::{Containment, Git, Guarantee, Network, Tier};
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Name of the table.
pub(crate) const TABLE: &str = "sandbox";
/// Its keys, in the order in which they are shown.
pub(crate) const KEYS: [&str; 4] = ["commands", "max_tier", "proxy", "may_miss"];

/// Those of them that a project may use.
pub(crate) const PROJECT_KEYS: [&str; 2] = ["commands", "max_tier"];

const TIERS: &str = "\"host\", \"edit\" or \"read\"";

/// What is configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sandbox {
    /// What contains the commands that a host starts, unless it asks for something else.
    pub(crate) commands: Tier,
    /// Most that a host may ask for.
    pub(crate) tier_max: Tier,
    /// The file that says so; empty where none does.
    tier_max_file: PathBuf,
    /// Socket of the proxy that leads to allowed hosts.
    pub(crate) proxy: Option<String>,
    /// Guarantees without which a contained run may start all the same.
    pub(crate) may_miss: Vec<Guarantee>,
}

/// What a host asks for; what is absent is as configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// How far the run is contained.
    pub(crate) tier: Option<Tier>,
    /// Which hosts it may talk to.
    pub(crate) network: Option<Network>,
    /// What it may do with the project's history.
    pub(crate) git: Option<Git>,
    /// Its memory, in bytes.
    pub(crate) memory_bytes_max: Option<u64>,
    /// Its processes.
    pub(crate) pids_max: Option<u64>,
    /// Its processors, in thousandths.
    pub(crate) cpu_milli_max: Option<u64>,
    /// Image of the container that it is to run in.
    pub(crate) image: Option<String>,
}

impl Asked {
    /// Fails on bounds of a run that nothing contains.
    fn check_uncontained(&self) -> Result<(), SandboxError> {
        let network = self.network.as_ref();
        let bounds = [
            ("image", self.image.is_some()),
            ("network", network.is_some_and(|one| *one != Network::Full)),
            ("git", self.git.is_some()),
            ("memory", self.memory_bytes_max.is_some()),
            ("pids", self.pids_max.is_some()),
            ("cpu", self.cpu_milli_max.is_some()),
        ];
        match bounds.iter().find(|(_, is_asked)| *is_asked) {
            Some((name, _)) => Err(SandboxError::OfHost { name }),
            None => Ok(()),
        }
    }
}

impl Default for Sandbox {
    fn default() -> Self {
        Self {
            commands: Tier::FullAccess,
            tier_max: Tier::FullAccess,
            tier_max_file: PathBuf::new(),
            proxy: None,
            may_miss: Vec::new(),
        }
    }
}

impl Sandbox {
    /// Reads the table of the configuration at `file`.
    ///
    /// # Errors
    ///
    /// Fails on a key that is not known and on a value of another form.
    pub(crate) fn read(file: &Path, table: &Table) -> Result<Self, ConfigError> {
        let mut read = Self {
            tier_max_file: file.to_owned(),
            ..Self::default()
        };
        for (name, value) in table {
            let form = match name.as_str() {
                "commands" | "max_tier" => TIERS,
                "proxy" => "the absolute path of a socket",
                "may_miss" => "a list of guarantees, such as [\"mem_limit\"]",
                _ => {
                    return Err(ConfigError::Key {
                        file: file.to_owned(),
                        key: format!("{TABLE}.{name}"),
                    });
                }
            };
            read.take(name, value).ok_or_else(|| ConfigError::Value {
                file: file.to_owned(),
                key: format!("{TABLE}.{name}"),
                value: shown(value),
                form,
            })?;
        }
        Ok(read)
    }

    fn take(&mut self, name: &str, value: &Value) -> Option<()> {
        match name {
            "commands" => self.commands = Tier::from_word(value.as_str()?)?,
            "max_tier" => self.tier_max = Tier::from_word(value.as_str()?)?,
            "proxy" => {
                let path = value.as_str().filter(|path| path.starts_with('/'))?;
                self.proxy = Some(path.to_owned());
            }
            _ => {
                let names = value.as_array()?.iter();
                let names = names.map(|name| Guarantee::from_name(name.as_str()?));
                self.may_miss = names.collect::<Option<_>>()?;
            }
        }
        Some(())
    }

    /// Returns what is left of it within these bounds of projects, which can raise nothing.
    pub(crate) fn lowered(self, bounds: &[Bound]) -> Self {
        let mut lowered = self;
        for bound in bounds {
            let commands = bound.commands.unwrap_or(lowered.commands);
            lowered.commands = lowered.commands.min(commands);
            if let Some(tier) = bound.tier_max.filter(|tier| *tier < lowered.tier_max) {
                lowered.tier_max = tier;
                lowered.tier_max_file.clone_from(&bound.file);
            }
        }
        lowered
    }

    /// Fills in what the configuration says of a containment that a person asked for.
    pub(crate) fn complete(&self, asked: Containment) -> Containment {
        Containment {
            proxy: self.proxy.clone(),
            may_miss: self.may_miss.clone(),
            ..asked
        }
    }

    /// Returns what is to contain a command that a host starts; `None` for the host as it is.
    ///
    /// # Errors
    ///
    /// Fails when it asks for more than it may, and for bounds of a run that nothing contains.
    pub(crate) fn of_host(&self, asked: Asked) -> Result<Option<Containment>, SandboxError> {
        let unless_asked = self.commands.min(self.tier_max);
        let tier = asked.tier.unwrap_or(match asked.image {
            // An image contains, so what contains nothing was not meant.
            Some(_) => unless_asked.min(Tier::SandboxEdit),
            None => unless_asked,
        });
        let file = || self.tier_max_file.clone();
        if tier > self.tier_max {
            return Err(SandboxError::AboveMax {
                asked: tier,
                max: self.tier_max,
                file: file(),
            });
        }
        if tier == Tier::FullAccess {
            return asked.check_uncontained().map(|()| None);
        }
        // Programs outside obey what a run writes there, so it is as good as no containment.
        if asked.git == Some(Git::Write) && self.tier_max < Tier::FullAccess {
            return Err(SandboxError::GitAboveMax {
                max: self.tier_max,
                file: file(),
            });
        }
        if asked.image.is_some() && matches!(asked.network, Some(Network::Allow(_))) {
            return Err(SandboxError::HostsInImage);
        }
        Ok(Some(self.complete(Containment {
            network: asked.network.unwrap_or_default(),
            git: asked.git.unwrap_or(Git::Commit),
            memory_bytes_max: asked.memory_bytes_max,
            pids_max: asked.pids_max,
            cpu_milli_max: asked.cpu_milli_max,
            image: asked.image,
            ..Containment::new(tier)
        })))
    }

    /// Returns what is to contain the calls of an agent: the workspace to edit and no network,
    /// unless it asks for something else.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::of_host`] does.
    pub(crate) fn of_agent(&self, asked: Asked) -> Result<Option<Containment>, SandboxError> {
        let tier = asked.tier.unwrap_or(Tier::SandboxEdit.min(self.tier_max));
        self.of_host(Asked {
            tier: Some(tier),
            ..asked
        })
    }

    /// Returns the value of a key as it is shown.
    pub(crate) fn value(&self, key: &str) -> String {
        match key {
            "commands" => self.commands.word().to_owned(),
            "max_tier" => self.tier_max.word().to_owned(),
            "proxy" => self.proxy.clone().unwrap_or_default(),
            _ => {
                let names: Vec<&str> = self.may_miss.iter().map(|one| one.as_str()).collect();
                names.join(", ")
            }
        }
    }
}

/// What the file of a project says of containment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bound {
    /// Where it stands.
    file: PathBuf,
    /// What contains commands at least.
    commands: Option<Tier>,
    /// Most that a host may ask for.
    tier_max: Option<Tier>,
}

impl Bound {
    /// Reads the table of the project's file `file`.
    ///
    /// # Errors
    ///
    /// Fails on a key that a project may not use and on a value of another form.
    pub(crate) fn read(file: &Path, table: &Table) -> Result<Self, ConfigError> {
        let mut bound = Self {
            file: file.to_owned(),
            commands: None,
            tier_max: None,
        };
        for (name, value) in table {
            let key = || format!("{TABLE}.{name}");
            let place = match name.as_str() {
                "commands" => &mut bound.commands,
                "max_tier" => &mut bound.tier_max,
                _ => {
                    return Err(ConfigError::Key {
                        file: file.to_owned(),
                        key: key(),
                    });
                }
            };
            let tier = value.as_str().and_then(Tier::from_word);
            *place = Some(tier.ok_or_else(|| ConfigError::Value {
                file: file.to_owned(),
                key: key(),
                value: shown(value),
                form: TIERS,
            })?);
        }
        Ok(bound)
    }
}

/// Why a host may not start a run as it asks.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum SandboxError {
    /// It asks for more than the user or a project allows.
    #[error(
        "`sandbox` of `{}` is above `{}`, which is `{TABLE}.max_tier` in `{}`",
        asked.word(),
        max.word(),
        file.display()
    )]
    AboveMax {
        /// What it asks for.
        asked: Tier,
        /// What it may have.
        max: Tier,
        /// Where that stands.
        file: PathBuf,
    },
    /// It asks for all of git where the user or a project allows less than the host.
    #[error(
        "`git: write` has programs outside obey the run, which is above `{}`, `{TABLE}.max_tier` in `{}`",
        max.word(),
        file.display()
    )]
    GitAboveMax {
        /// What it may have.
        max: Tier,
        /// Where that stands.
        file: PathBuf,
    },
    /// Only a contained run is bound.
    #[error("`{name}` bounds nothing on the host, where nothing contains the run")]
    OfHost {
        /// The argument.
        name: &'static str,
    },
    /// No way leads from a container to allowed hosts.
    #[error("a container has no way to the hosts of `network: allow`")]
    HostsInImage,
}

impl Advice for SandboxError {
    fn code(&self) -> &'static str {
        match self {
            Self::AboveMax { .. } | Self::GitAboveMax { .. } => "tier_above_max",
            Self::OfHost { .. } | Self::HostsInImage => "containment_unavailable",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::AboveMax { max, .. } => {
                format!("ask for `sandbox: {}`, or leave it out", max.word())
            }
            Self::GitAboveMax { .. } => "ask for `git: commit`, or leave `git` out".to_owned(),
            Self::OfHost { name } => {
                format!("add `sandbox: edit` or `sandbox: read`, or leave `{name}` out")
            }
            Self::HostsInImage => {
                "leave `image` out, or ask for `network: none` or `network: full`".to_owned()
            }
        }
    }
}

#[cfg(test)]
mod tests;
