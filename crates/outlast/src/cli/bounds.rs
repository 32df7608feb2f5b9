//! Options that bound what contains a run, of every verb that starts one.

use crate::values::{GitWord, milli, network, size_bytes};
use clap::Args;
use outlast_journal::{Containment, Git, Network, Tier};

pub(super) const CONTAINMENT: &str = "Containment";

/// What a contained run may use.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Bounds {
    /// Hosts that it may talk to: none, full, allow:HOST,HOST
    #[arg(long, value_name = "WHICH", value_parser = network, help_heading = CONTAINMENT)]
    pub(crate) network: Option<Network>,
    /// What it may do with the project's history
    #[arg(long, value_name = "WHAT", help_heading = CONTAINMENT)]
    pub(crate) git: Option<GitWord>,
    /// Memory that it may use
    #[arg(long, value_name = "SIZE", value_parser = size_bytes, help_heading = CONTAINMENT)]
    pub(crate) memory: Option<u64>,
    /// Processes that it may have
    #[arg(long, value_name = "N", help_heading = CONTAINMENT)]
    pub(crate) pids: Option<u32>,
    /// Processors that it may use
    #[arg(long, value_name = "N", help_heading = CONTAINMENT)]
    pub(crate) cpu: Option<f64>,
}

impl Bounds {
    /// Returns a containment of this tier with these bounds.
    pub(crate) fn of(&self, tier: Tier) -> Containment {
        let git = match self.git {
            Some(GitWord::Read) => Git::Read,
            None | Some(GitWord::Commit) => Git::Commit,
            Some(GitWord::Write) => Git::Write,
        };
        Containment {
            network: self.network.clone().unwrap_or_default(),
            git,
            memory_bytes_max: self.memory,
            pids_max: self.pids.map(u64::from),
            cpu_milli_max: self.cpu.map(milli),
            ..Containment::new(tier)
        }
    }

    /// Returns the first option that bounds nothing where nothing contains the run.
    pub(crate) fn of_contained_alone(&self) -> Option<&'static str> {
        let network = self.network.as_ref();
        let network = network.is_some_and(|word| *word != Network::Full);
        let asked = [
            ("--network", network),
            ("--git", self.git.is_some()),
            ("--memory", self.memory.is_some()),
            ("--pids", self.pids.is_some()),
            ("--cpu", self.cpu.is_some()),
        ];
        let first = asked.into_iter().find(|(_, is_asked)| *is_asked);
        first.map(|(option, _)| option)
    }
}
