//! The container that a policy means, and what of it an engine says that it bound.
//!
//! Plain data in, plain data out.

use super::connect::Found;
use super::filter::Filter;
use super::refusal::Refusal;
use bollard::models::{
    ContainerCreateBody, ContainerInspectResponse, HostConfig, HostConfigLogConfig, Mount,
    MountBindOptions, MountPoint, MountType,
};
use outlast_journal::{Containment, Guarantee, Network, Tier, names, policy::Policy};
use outlast_supervisor::owner;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

/// Option that keeps a program from getting more rights than its parent.
const NO_NEW_PRIVILEGES: &str = "no-new-privileges";
/// Capabilities that every engine gives to a container which drops none.
const DEFAULT_CAPABILITIES: [&str; 11] = [
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];
/// What is private and gone with the container, beside the root, which is read-only.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/run"];

/// What is asked of an engine.
pub(super) struct Asked<'a> {
    pub(super) policy: &'a Policy,
    /// `NAME=VALUE` entries, each ended by a NUL.
    pub(super) environment: &'a [u8],
    /// Names below the workspace that are mounts of their own, and whether each is read-only.
    pub(super) pinned: &'a [(String, bool)],
    /// User and group of the caller.
    pub(super) ids: (u32, u32),
    /// The system calls that the command does without, in the OCI's form.
    pub(super) filter: &'a Filter,
}

impl Asked<'_> {
    fn containment(&self) -> &Containment {
        &self.policy.containment
    }

    /// Returns the image.
    pub(super) fn image(&self) -> &str {
        self.containment().image.as_deref().unwrap_or_default()
    }

    /// Returns the name of the container, known before there is one.
    pub(super) fn name(&self) -> String {
        format!("outlast-{}", self.run())
    }

    /// Returns the run's id, which every run has in its environment.
    fn run(&self) -> String {
        let run = format!("{}=", names::RUN_VARIABLE);
        let mut entries = self.entries().into_iter();
        entries
            .find_map(|entry| entry.strip_prefix(&run).map(str::to_owned))
            .unwrap_or_default()
    }

    fn entries(&self) -> Vec<String> {
        let entries = self.environment.split(|byte| *byte == 0);
        entries
            .filter(|entry| !entry.is_empty())
            .map(|entry| String::from_utf8_lossy(entry).into_owned())
            .collect()
    }

    /// Returns the environment: as every contained run has it, without what names folders of
    /// this machine, for which the image has its own.
    fn environment(&self) -> Vec<String> {
        let around = &self.containment().surroundings;
        let path = around.path.join(":");
        let is_home = |value: &str| {
            let known = around.home.as_deref();
            known
                .is_some_and(|home| fs::canonicalize(value).is_ok_and(|one| one == Path::new(home)))
        };
        let mut kept: Vec<String> = Vec::new();
        for entry in self.entries() {
            match entry.split_once('=') {
                Some(("PATH", value)) if value == path => {}
                Some(("SHELL", _)) => {}
                Some(("HOME", value)) if is_home(value) => kept.push("HOME=/tmp".to_owned()),
                Some((_, value)) if around.toolchains.iter().any(|one| one == value) => {}
                Some(_) | None => kept.push(entry),
            }
        }
        kept
    }

    /// Returns the body of the request that makes the container.
    pub(super) fn body(
        &self,
        found: &Found,
        reads_stdin: bool,
        supervisor: String,
    ) -> ContainerCreateBody {
        let (user, group) = self.ids;
        // Without root's rights, user 0 in there is who started the engine.
        let user = if found.is_rootless {
            "0:0".to_owned()
        } else {
            format!("{user}:{group}")
        };
        ContainerCreateBody {
            image: Some(self.image().to_owned()),
            entrypoint: Some(self.policy.argv.clone()),
            cmd: Some(Vec::new()),
            env: Some(self.environment()),
            working_dir: Some(self.policy.cwd.clone()),
            user: Some(user),
            tty: Some(false),
            open_stdin: Some(reads_stdin),
            stdin_once: Some(reads_stdin),
            attach_stdin: Some(reads_stdin),
            attach_stdout: Some(true),
            attach_stderr: Some(true),
            labels: Some(HashMap::from([
                (owner::RUN_LABEL.to_owned(), self.run()),
                (owner::LABEL.to_owned(), supervisor),
            ])),
            host_config: Some(self.host(found)),
            ..ContainerCreateBody::default()
        }
    }

    fn host(&self, found: &Found) -> HostConfig {
        let asked = self.containment();
        let bytes = self.policy.temporary_bytes_max;
        let options = format!("rw,exec,nosuid,nodev,mode=1777,size={bytes}");
        let number = |most: Option<u64>| most.map(|most| i64::try_from(most).unwrap_or(i64::MAX));
        HostConfig {
            network_mode: Some(network(&asked.network).to_owned()),
            readonly_rootfs: Some(true),
            cap_drop: Some(vec!["ALL".to_owned()]),
            security_opt: Some(vec![
                NO_NEW_PRIVILEGES.to_owned(),
                self.filter.option(found.program),
            ]),
            ipc_mode: Some("private".to_owned()),
            // The command is to end by a signal as anywhere; process 1 does not.
            init: Some(true),
            tmpfs: Some(
                TEMPORARY
                    .map(|path| (path.to_owned(), options.clone()))
                    .into(),
            ),
            mounts: Some(self.mounts()),
            memory: number(asked.memory_bytes_max),
            memory_swap: number(asked.memory_bytes_max),
            pids_limit: number(asked.pids_max),
            nano_cpus: number(
                asked
                    .cpu_milli_max
                    .map(|milli| milli.saturating_mul(1_000_000)),
            ),
            // What it writes comes over the connection and is kept once.
            log_config: Some(HostConfigLogConfig {
                typ: Some("none".to_owned()),
                config: None,
            }),
            ..HostConfig::default()
        }
    }

    fn mounts(&self) -> Vec<Mount> {
        let asked = self.containment();
        let bind = |path: &str, is_read_only: bool| Mount {
            target: Some(path.to_owned()),
            source: Some(path.to_owned()),
            typ: Some(MountType::BIND),
            read_only: Some(is_read_only),
            // Older engines would leave what is mounted below it writable.
            bind_options: is_read_only.then(|| MountBindOptions {
                non_recursive: Some(true),
                ..MountBindOptions::default()
            }),
            ..Mount::default()
        };
        let workspace = bind(&asked.workspace, asked.tier == Tier::ReadOnly);
        let pinned = self.pinned.iter();
        let pinned = pinned.map(|(path, is_read_only)| bind(path, *is_read_only));
        let text = self.policy.command_text.iter();
        let text = text.map(|path| bind(path, true));
        std::iter::once(workspace)
            .chain(pinned)
            .chain(text)
            .collect()
    }

    /// Returns what the engine says that it bound, as guarantees.
    ///
    /// # Errors
    ///
    /// Fails when it bound less than it was asked for.
    pub(super) fn check(&self, made: &ContainerInspectResponse) -> Result<Vec<Guarantee>, Refusal> {
        let Some(host) = &made.host_config else {
            return Err(less("nothing about the container"));
        };
        let asked = self.containment();
        let has = |list: &Option<Vec<String>>, wanted: &str| {
            let mut list = list.iter().flatten();
            list.any(|one| one.starts_with(wanted))
        };
        // Podman says which of its default ones are gone.
        let is_gone = |one: &str| {
            let mut gone = host.cap_drop.iter().flatten();
            gone.any(|gone| gone.trim_start_matches("CAP_") == one)
        };
        let is_dropped =
            has(&host.cap_drop, "ALL") || DEFAULT_CAPABILITIES.iter().all(|one| is_gone(one));
        let mut options = host.security_opt.iter().flatten();
        let is_filtered = options.any(|option| self.filter.is_in(option));
        let is_bare = host.privileged != Some(true)
            && host.cap_add.as_ref().is_none_or(Vec::is_empty)
            && host.devices.as_ref().is_none_or(Vec::is_empty);
        let own = |mode: &Option<String>| {
            let mode = mode.as_deref().unwrap_or_default();
            mode != "host" && !mode.starts_with("container:")
        };
        let number = |most: Option<u64>| most.and_then(|most| i64::try_from(most).ok());
        let is_bound = |asked: Option<u64>, seen: Option<i64>| {
            number(asked).is_none_or(|most| seen == Some(most))
        };
        let mounts = made.mounts.as_deref().unwrap_or_default();
        let cpu = asked
            .cpu_milli_max
            .map(|milli| milli.saturating_mul(1_000_000));
        let facts = [
            ("no read-only root", host.readonly_rootfs == Some(true)),
            ("no dropped capabilities", is_dropped && is_bare),
            (
                "no bound on new privileges",
                has(&host.security_opt, NO_NEW_PRIVILEGES),
            ),
            ("another filter of system calls", is_filtered),
            ("no processes of its own", own(&host.pid_mode)),
            ("no memory of its own to share", own(&host.ipc_mode)),
            (
                "another network",
                host.network_mode.as_deref() == Some(network(&asked.network)),
            ),
            ("other mounts", self.are_as_asked(mounts)),
            (
                "no limit of memory",
                is_bound(asked.memory_bytes_max, host.memory),
            ),
            (
                "no limit of processes",
                is_bound(asked.pids_max, host.pids_limit),
            ),
            ("no limit of processors", is_bound(cpu, host.nano_cpus)),
        ];
        if let Some((what, _)) = facts.iter().find(|(_, is_true)| !is_true) {
            return Err(less(what));
        }
        let is_apart = asked.network == Network::None;
        let all = [
            (Guarantee::WriteBoundary, true),
            (Guarantee::MetadataRo, true),
            (Guarantee::ReadBoundary, true),
            (Guarantee::NetNone, is_apart),
            // Abstract sockets belong to the network.
            (Guarantee::UnixSockets, is_apart),
            (Guarantee::PidIsolated, true),
        ];
        let holds = all.into_iter().filter(|(_, holds)| *holds);
        Ok(holds.map(|(one, _)| one).collect())
    }

    /// Whether what is mounted is what was asked for, and nothing else that lasts.
    fn are_as_asked(&self, mounts: &[MountPoint]) -> bool {
        let wanted = self.mounts();
        // Volumes that an image has are new, and go with the container.
        let is_bind = |mount: &&MountPoint| {
            let typ = mount.typ.as_deref();
            !matches!(typ, Some("tmpfs" | "volume"))
        };
        let seen: Vec<_> = mounts.iter().filter(is_bind).collect();
        let is_seen = |one: &Mount| {
            seen.iter().any(|mount| {
                mount.destination == one.target
                    && mount.source == one.source
                    && mount.rw == one.read_only.map(|is_read_only| !is_read_only)
            })
        };
        seen.len() == wanted.len() && wanted.iter().all(is_seen)
    }
}

/// Returns the name of an engine's network.
fn network(asked: &Network) -> &'static str {
    match asked {
        Network::None | Network::Allow(_) => "none",
        Network::Full => "host",
    }
}

fn less(what: &str) -> Refusal {
    Refusal::engine(
        format!("the engine bound less than it was asked for: {what}"),
        "use a newer engine, or leave --image away",
    )
}

#[cfg(test)]
mod tests;
