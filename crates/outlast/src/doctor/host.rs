//! Checks of what would end the runs together with whoever started them.
//!
//! A supervisor leaves its terminal and its parent behind. What it cannot leave
//! is its cgroup, its container and its PID namespace.

mod logind;

use super::{Check, Group};
use outlast_supervisor::fsio;
use std::fs;
use std::path::Path;

const HOST: Group = Group("what would end the runs");

/// What is known of the host, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Host {
    /// `/proc/self/cgroup`.
    cgroup: String,
    /// Name of process 1.
    init: String,
    /// Whether a file says that this is a container.
    is_container: bool,
    /// Whether logind kills what a session leaves; absent where there is no logind.
    kills_user_processes: Option<bool>,
    /// Whether the user's manager stays without a session.
    lingers: bool,
    /// `/proc/self/status`.
    status: String,
}

/// Checks this host; `inside` is the run that this process belongs to.
pub(super) fn checks(inside: Option<&str>) -> Vec<Check> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let there = |path: &str| Path::new(path).exists();
    let user = user_name(&read("/etc/passwd"), fsio::own_user());
    let lingers = user
        .as_ref()
        .is_some_and(|user| Path::new("/var/lib/systemd/linger").join(user).exists());
    let host = Host {
        cgroup: read("/proc/self/cgroup"),
        init: read("/proc/1/comm").trim().to_owned(),
        is_container: there("/.dockerenv") || there("/run/.containerenv"),
        kills_user_processes: there("/run/systemd/system")
            .then(|| logind::kills_user_processes(&logind::read(), user.as_deref())),
        lingers,
        status: read("/proc/self/status"),
    };
    decide(&host, inside)
}

/// Returns what follows from what was seen.
fn decide(host: &Host, inside: Option<&str>) -> Vec<Check> {
    let mut checks = vec![namespace(host), unit(host)];
    if let Some(id) = inside {
        checks.push(HOST.warning(
            "run",
            format!("this is inside run {id}: runs started here end when that run is cancelled"),
            "start them from outside of any run",
        ));
    }
    checks
}

/// Whether process 1 is there for as long as the machine.
fn namespace(host: &Host) -> Check {
    const FIX: &str = "start them where the machine's own processes are, or keep this one up";
    if host.is_container {
        return HOST.warning(
            "namespace",
            "this is a container: the runs end with it",
            FIX,
        );
    }
    let is_nested = host
        .status
        .lines()
        .filter_map(|line| line.strip_prefix("NSpid:"))
        .any(|pids| pids.split_ascii_whitespace().count() > 1);
    let is_init = matches!(
        host.init.as_str(),
        "systemd"
            | "init"
            | "runit"
            | "s6-svscan"
            | "openrc-init"
            | "dinit"
            | "launchd"
            | "shepherd"
    );
    if is_nested || !is_init {
        let init = if host.init.is_empty() {
            "unknown"
        } else {
            &host.init
        };
        let message =
            format!("process 1 is `{init}` and no init: when it ends, so does every run here");
        return HOST.warning("namespace", message, FIX);
    }
    HOST.fine("namespace", format!("process 1 is `{}`", host.init))
}

/// What systemd does to the cgroup that this process is in.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A login session.
    Session(String),
    /// A unit of the user's own manager.
    UserUnit(String),
    /// A scope, which nothing restarts.
    Scope(String),
    /// A unit of the system.
    SystemUnit(String),
    /// Nothing that systemd would end.
    Free,
}

/// Reads where `/proc/self/cgroup` says that this process is.
fn place(cgroup: &str) -> Place {
    let path = cgroup
        .lines()
        .filter_map(|line| {
            let mut fields = line.splitn(3, ':');
            let number = fields.next()?;
            let controllers = fields.next()?;
            let path = fields.next()?;
            let is_systemd = number == "0" || controllers == "name=systemd";
            is_systemd.then_some(path)
        })
        .find(|path| *path != "/");
    let Some(path) = path else {
        return Place::Free;
    };
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let is_user = parts.iter().any(|part| part.starts_with("user@"));
    let unit = parts.iter().rev().find(|part| is_unit(part));
    match unit.map(|unit| (*unit).to_owned()) {
        Some(unit) if unit.starts_with("session-") => Place::Session(unit),
        Some(unit) if is_user => Place::UserUnit(unit),
        Some(unit) if has_end(&unit, "scope") => Place::Scope(unit),
        Some(unit) => Place::SystemUnit(unit),
        None => Place::Free,
    }
}

/// Returns the unit whose restart ends the process that has this `/proc/PID/cgroup`, if there is one.
pub(crate) fn restarted_unit(cgroup: &str) -> Option<String> {
    match place(cgroup) {
        Place::SystemUnit(unit) => Some(unit),
        Place::UserUnit(unit) if has_end(&unit, "service") => Some(unit),
        Place::UserUnit(_) | Place::Session(_) | Place::Scope(_) | Place::Free => None,
    }
}

fn is_unit(part: &str) -> bool {
    has_end(part, "service") || has_end(part, "scope")
}

fn has_end(part: &str, kind: &str) -> bool {
    Path::new(part).extension().is_some_and(|end| end == kind)
}

fn unit(host: &Host) -> Check {
    const SCOPE: &str = "start them with `systemd-run --user --scope outlast run …`";
    match place(&host.cgroup) {
        Place::Free => HOST.fine("unit", "no unit of systemd holds this process"),
        Place::Scope(unit) => HOST.fine("unit", format!("{unit}: nothing restarts it")),
        Place::Session(unit) if host.kills_user_processes == Some(true) => HOST.warning(
            "unit",
            format!("{unit}: logind kills what is left at logout (KillUserProcesses=yes)"),
            &format!("loginctl enable-linger, and {SCOPE}"),
        ),
        Place::Session(unit) => {
            HOST.fine("unit", format!("{unit}: what it leaves stays at logout"))
        }
        Place::UserUnit(unit) if !host.lingers => HOST.warning(
            "unit",
            format!("{unit} of your systemd manager, which ends with your last session"),
            "loginctl enable-linger",
        ),
        Place::UserUnit(unit) if has_end(&unit, "service") && !unit.starts_with("user@") => HOST
            .warning(
                "unit",
                format!("{unit}: a restart of it ends what was started in it"),
                SCOPE,
            ),
        Place::UserUnit(unit) => HOST.fine("unit", format!("{unit}, and your manager lingers")),
        Place::SystemUnit(unit) => HOST.warning(
            "unit",
            format!("{unit}: a restart of it ends what was started in it"),
            "give it KillMode=process, or start the runs from another place",
        ),
    }
}

/// Returns the name of a user from the table of users.
fn user_name(passwd: &str, user: u32) -> Option<String> {
    let id = user.to_string();
    let line = passwd
        .lines()
        .find(|line| line.split(':').nth(2) == Some(&id))?;
    line.split(':').next().map(str::to_owned)
}

#[cfg(test)]
mod tests;
