//! What a run may touch: as asked for, and as bound.
//!
//! Words only. Whether they hold is for the launcher to test, which claims no
//! guarantee that it has not looked at from inside.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Write};

/// How far a run is contained, least rights first.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub enum Tier {
    /// It reads the workspace and writes nowhere that lasts.
    ReadOnly,
    /// It writes the workspace, but for protected names, and nothing else that lasts.
    SandboxEdit,
    /// The host as it is.
    #[default]
    FullAccess,
}

impl Tier {
    /// Returns the name in records.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "ReadOnly",
            Self::SandboxEdit => "SandboxEdit",
            Self::FullAccess => "FullAccess",
        }
    }

    /// Returns the tier that a word of `--sandbox` means.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "read" => Some(Self::ReadOnly),
            "edit" => Some(Self::SandboxEdit),
            "host" => Some(Self::FullAccess),
            _ => None,
        }
    }

    /// Returns the word of `--sandbox` for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReadOnly => "read",
            Self::SandboxEdit => "edit",
            Self::FullAccess => "host",
        }
    }

    /// Returns the tier with this name in records; of a later version's name nothing is known.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::ReadOnly, Self::SandboxEdit, Self::FullAccess]
            .into_iter()
            .find(|tier| tier.as_str() == name)
    }
}

impl fmt::Display for Tier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Which hosts a run may talk to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// None but itself.
    #[default]
    None,
    /// Those named, through a proxy.
    Allow(Vec<String>),
    /// All that its user can.
    Full,
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.pad("none"),
            Self::Full => f.pad("full"),
            Self::Allow(hosts) => f.pad(&format!("allow:{}", hosts.join(","))),
        }
    }
}

/// What a run may do with the history of its workspace.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Git {
    /// It reads.
    Read,
    /// It commits; configuration and hooks stay as they are.
    #[default]
    Commit,
    /// It does anything.
    Write,
}

/// Something that holds for a run, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guarantee {
    /// It writes nothing that lasts outside of its workspace.
    WriteBoundary,
    /// It changes no protected name that was there at its start.
    MetadataRo,
    /// It reads no home but its toolchains.
    ReadBoundary,
    /// It reaches no host, its own included.
    NetNone,
    /// It reaches no unix socket outside of its workspace.
    UnixSockets,
    /// It sees and signals no process but its own.
    PidIsolated,
    /// It ends when its supervisor does, however that ends.
    KilledWithSupervisor,
    /// Its memory is bounded.
    MemLimit,
    /// The number of its processes is bounded.
    PidsLimit,
}

impl Guarantee {
    /// Every guarantee there is.
    pub const ALL: [Self; 9] = [
        Self::WriteBoundary,
        Self::MetadataRo,
        Self::ReadBoundary,
        Self::NetNone,
        Self::UnixSockets,
        Self::PidIsolated,
        Self::KilledWithSupervisor,
        Self::MemLimit,
        Self::PidsLimit,
    ];

    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WriteBoundary => "write_boundary",
            Self::MetadataRo => "metadata_ro",
            Self::ReadBoundary => "read_boundary",
            Self::NetNone => "net_none",
            Self::UnixSockets => "unix_sockets",
            Self::PidIsolated => "pid_isolated",
            Self::KilledWithSupervisor => "killed_with_supervisor",
            Self::MemLimit => "mem_limit",
            Self::PidsLimit => "pids_limit",
        }
    }

    /// Returns the guarantee with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.as_str() == name)
    }
}

impl fmt::Display for Guarantee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// What is to contain a run, as asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Containment {
    /// `ReadOnly` or `SandboxEdit`; `FullAccess` binds nothing.
    pub tier: Tier,
    /// Which hosts it may talk to.
    #[serde(default)]
    pub network: Network,
    /// What it may do with the history of its workspace.
    #[serde(default)]
    pub git: Git,
    /// Its memory, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes_max: Option<u64>,
    /// Its processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pids_max: Option<u64>,
    /// Its processors, in thousandths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_milli_max: Option<u64>,
    /// Guarantees without which it may run all the same.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_miss: Vec<Guarantee>,
    /// Unix socket of the proxy through which allowed hosts are reached: an absolute path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<String>,
    /// Image of the container that it is to run in; none for namespaces of this machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Directory that it may touch: canonical. Filled in at the start, from the run's own.
    #[serde(default)]
    pub workspace: String,
    /// What of its caller's home it sees. Filled in at the start.
    #[serde(default)]
    pub surroundings: Surroundings,
}

/// Where the home and the toolchains of a caller are.
///
/// From its own environment, never from variables that a request sets: who asks for a run must
/// not choose what is shown to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Surroundings {
    /// The home, which is hidden: canonical.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub home: Option<String>,
    /// Folders in which programs are looked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub path: Vec<String>,
    /// Toolchains that variables name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub toolchains: Vec<String>,
    /// Where a container engine may listen, best first: a path, or what `DOCKER_HOST` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub engines: Vec<String>,
}

impl Containment {
    /// Returns a containment of this tier without a network and with every default.
    pub fn new(tier: Tier) -> Self {
        Self {
            tier,
            network: Network::None,
            git: Git::Commit,
            memory_bytes_max: None,
            pids_max: None,
            cpu_milli_max: None,
            may_miss: Vec::new(),
            proxy: None,
            image: None,
            workspace: String::new(),
            surroundings: Surroundings::default(),
        }
    }

    /// Returns the guarantees that it stands for: those that a backend must hold, or say it lacks.
    pub fn wanted(&self) -> Vec<Guarantee> {
        let is_wanted = |one: &Guarantee| match one {
            Guarantee::WriteBoundary
            | Guarantee::MetadataRo
            | Guarantee::ReadBoundary
            | Guarantee::UnixSockets
            | Guarantee::PidIsolated
            | Guarantee::KilledWithSupervisor => true,
            Guarantee::NetNone => self.network != Network::Full,
            Guarantee::MemLimit => self.memory_bytes_max.is_some(),
            Guarantee::PidsLimit => self.pids_max.is_some(),
        };
        Guarantee::ALL.into_iter().filter(is_wanted).collect()
    }
}

/// A limit as it was bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LimitBound {
    /// Bytes, processes, or thousandths of a processor.
    pub value: u64,
    /// What enforces it: `cgroup2`, `cgroup1`, `rlimit`, `watchdog`, `engine`.
    pub enforced_by: String,
}

/// What the run may touch, as bound.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Posture {
    /// `host` when nothing contains the run, else `contained`.
    pub mode: String,
    /// What contains it: `native`, `bwrap`, `landlock`, `container`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// `ReadOnly`, `SandboxEdit` or `FullAccess`.
    pub tier: String,
    /// `none`, `allow:HOST,…` or `full`.
    pub network: String,
    /// The workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// How the workspace is mounted: `rw` or `ro`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount: Option<String>,
    /// Image of its container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<String>,
    /// Names below the workspace that are read-only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub protected: Vec<String>,
    /// Names that would be protected, were absent at the start, and are there at the end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub appeared: Vec<String>,
    /// Its limits, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub limits: BTreeMap<String, LimitBound>,
    /// What was seen to hold, from inside.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub guarantees: Vec<String>,
    /// What was asked for and does not hold.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
    /// Why less was bound than is best, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fallback_notice: Option<String>,
}

impl Posture {
    /// Returns the posture of a run that nothing contains.
    pub fn host() -> Self {
        Self {
            mode: "host".to_owned(),
            backend: None,
            tier: Tier::FullAccess.to_string(),
            network: Network::Full.to_string(),
            root: None,
            mount: None,
            image: None,
            protected: Vec::new(),
            appeared: Vec::new(),
            limits: BTreeMap::new(),
            guarantees: Vec::new(),
            missing: Vec::new(),
            fallback_notice: None,
        }
    }

    /// Returns the posture that `asked` stands for before anything is bound: no guarantee.
    pub fn asked(asked: &Containment) -> Self {
        let is_writable = asked.tier != Tier::ReadOnly;
        Self {
            mode: "contained".to_owned(),
            tier: asked.tier.to_string(),
            network: asked.network.to_string(),
            root: Some(asked.workspace.clone()),
            mount: Some(if is_writable { "rw" } else { "ro" }.to_owned()),
            ..Self::host()
        }
    }

    /// Returns whether something contains the run.
    pub fn is_contained(&self) -> bool {
        self.mode != "host"
    }

    /// Returns the posture in one line: what holds.
    pub fn line(&self) -> String {
        let (tier, network) = (&self.tier, &self.network);
        if !self.is_contained() {
            return format!("uncontained, tier {tier}, network {network}");
        }
        let by = match &self.backend {
            Some(backend) => format!("contained by {backend}"),
            None => "to be contained".to_owned(),
        };
        let mut line = format!("{by}, tier {tier}, network {network}");
        for (name, limit) in &self.limits {
            let (value, by) = (limit.value, &limit.enforced_by);
            write!(line, ", {name} {value} by {by}").ok();
        }
        if !self.guarantees.is_empty() {
            line.push_str("; holds ");
            line.push_str(&self.guarantees.join(", "));
        }
        if !self.missing.is_empty() {
            line.push_str("; does not hold ");
            line.push_str(&self.missing.join(", "));
        }
        if let Some(notice) = &self.fallback_notice {
            line.push_str("; ");
            line.push_str(notice);
        }
        line
    }
}

impl Default for Posture {
    fn default() -> Self {
        Self::host()
    }
}

#[cfg(test)]
mod tests;
