//! The launcher: a process of its own that binds what a policy says, then executes the command.
//!
//! It comes in two. The first leaves the host's namespaces and makes the
//! second, a sibling, which is process 1 of the new ones: it mounts, gives its
//! rights up, looks at what holds, executes the command, reaps what is left and
//! says how the command ended. Whatever cannot be done is said by its step;
//! nothing is executed then.

use super::{alone, check, forward, harden, mounts, trees};
use crate::command::Command;
use crate::platform::{self, confine};
use crate::{fault, process};
use outlast_journal::policy::{Policy, Report};
use outlast_journal::{Failure, Network};
use std::ffi::{CStr, CString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::process::ExitCode;

/// Where the supervisor puts the policy.
const POLICY: i32 = 3;
/// Where it listens.
pub(super) const STATUS: i32 = 4;
/// First of the users on the host that contained runs of root are, and how many there are:
/// above those that systems give to people, to services and to their namespaces.
const FIRST_USER: u32 = 600_100_000;
const USERS: u32 = 65_536;

/// A step that could not be done.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) step: String,
    pub(super) errno: i32,
}

/// Does one step under its name.
pub(super) fn step<T>(name: &str, done: io::Result<T>) -> Result<T, Broken> {
    let denied = fault::is_armed(&format!("contain:{name}"));
    let broken = |errno| Broken {
        step: name.to_owned(),
        errno,
    };
    match done {
        Ok(_) if denied => Err(broken(libc::EPERM)),
        Ok(value) => Ok(value),
        Err(error) => Err(broken(error.raw_os_error().unwrap_or(0))),
    }
}

/// Says something to the supervisor, which may be gone.
pub(super) fn say(status: &OwnedFd, report: &Report) {
    platform::file::write(status, &report.to_bytes()).ok();
}

/// Contains and executes what the policy says; the whole life of a launcher.
pub(crate) fn contain() -> ExitCode {
    let Ok(status) = confine::take_descriptor(STATUS) else {
        return ExitCode::from(125);
    };
    match first(&status) {
        Ok(()) => ExitCode::SUCCESS,
        Err(broken) => {
            let report = Report::SetupFailed {
                step: broken.step,
                errno: broken.errno,
            };
            say(&status, &report);
            ExitCode::from(125)
        }
    }
}

/// The policy and the environment of the command, each entry ended by a NUL.
pub(super) fn read_policy() -> io::Result<(Policy, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut file = File::from(confine::take_descriptor(POLICY)?);
    file.read_to_end(&mut bytes)?;
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
    let policy = serde_json::from_slice(&bytes[..end]).map_err(io::Error::other)?;
    Ok((policy, bytes.split_off(end + 1)))
}

/// Leaves the host's namespaces and makes process 1 of the new ones.
fn first(status: &OwnedFd) -> Result<(), Broken> {
    step("parent", confine::die_with_parent())?;
    let (policy, environment) = step("policy", read_policy())?;
    if policy.is_mounted {
        let held = Held {
            bound: None,
            proxy: None,
        };
        return init(&policy, &environment, held, status);
    }
    if confine::parent() != policy.supervisor {
        return step("parent", Err(io::ErrorKind::NotFound.into()));
    }
    step("core", confine::leave_no_core())?;
    if policy.waits {
        // Until it is counted, nothing that it starts would be.
        step("limits", platform::file::read(status, &mut [0]))?;
    }
    if policy.alone_in.is_some() {
        return alone::contain(&policy, &environment, status);
    }
    let (user, group) = confine::own_ids();
    let proxy = match &policy.containment.proxy {
        Some(path) if matches!(policy.containment.network, Network::Allow(_)) => {
            Some(step("proxy", forward::open(Path::new(path)))?)
        }
        Some(_) | None => None,
    };
    let network = match policy.containment.network {
        Network::None | Network::Allow(_) => confine::OWN_NETWORK,
        Network::Full => 0,
    };
    // Root of a user namespace has no more of the host than the user that it is there.
    let is_root = user == 0 && step("users", is_among_all_users())?;
    let bound = if is_root {
        let bound = trees::collect(&policy)?;
        let userns = map_users()?;
        for tree in &bound {
            let name = format!("idmap: {}", tree.at.display());
            step(&name, platform::mount::map_tree(&tree.mount, &userns))?;
        }
        step("users", confine::enter_users(&userns))?;
        step("users", confine::become_first_user())?;
        step("users", confine::set_dumpable(true))?;
        step("namespaces", confine::unshare(confine::OWN_ALL | network))?;
        bound
    } else {
        let all = confine::OWN_USERS | confine::OWN_ALL | network;
        step("namespaces", confine::unshare(all))?;
        step("users", write_to("/proc/self/setgroups", "deny"))?;
        step(
            "users",
            write_to("/proc/self/uid_map", &format!("{user} {user} 1")),
        )?;
        step(
            "users",
            write_to("/proc/self/gid_map", &format!("{group} {group} 1")),
        )?;
        // Only in a namespace of its own may a user clone mounts.
        trees::collect(&policy)?
    };
    if let Some(pid) = step("init", confine::fork(true))? {
        say(status, &Report::Init { pid });
        return Ok(());
    }
    let bound = Some(bound);
    init(&policy, &environment, Held { bound, proxy }, status)
}

/// What was opened of the host before it was left.
struct Held {
    /// What is to be seen, where it is not mounted yet.
    bound: Option<Vec<trees::Tree>>,
    proxy: Option<OwnedFd>,
}

/// Whether this process is in the namespace of all users.
fn is_among_all_users() -> io::Result<bool> {
    let map = std::fs::read_to_string("/proc/self/uid_map")?;
    let fields: Vec<&str> = map.split_ascii_whitespace().collect();
    Ok(fields == ["0", "0", "4294967295"])
}

/// Makes a user namespace whose users are none of the host's, and returns it.
///
/// Root alone may: a process that waits in it holds it until it is opened here.
fn map_users() -> Result<OwnedFd, Broken> {
    let made = (|| {
        let (ready, ready_end) = platform::file::pipe()?;
        let (gate, gate_end) = platform::file::pipe()?;
        let Some(holder) = confine::fork(false)? else {
            drop((ready, gate_end));
            let is_made = confine::unshare(confine::OWN_USERS);
            let errno = is_made.err().and_then(|error| error.raw_os_error());
            let told = u8::try_from(errno.unwrap_or(0)).unwrap_or(u8::MAX);
            platform::file::write(&ready_end, &[told]).ok();
            platform::file::read(&gate, &mut [0]).ok();
            confine::leave(0);
        };
        drop((ready_end, gate));
        let mut told = [0];
        let opened = (|| {
            if platform::file::read(&ready, &mut told)? != 1 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if told[0] != 0 {
                return Err(io::Error::from_raw_os_error(i32::from(told[0])));
            }
            let map = format!("0 {FIRST_USER} {USERS}");
            write_to(&format!("/proc/{holder}/uid_map"), &map)?;
            write_to(&format!("/proc/{holder}/gid_map"), &map)?;
            File::open(format!("/proc/{holder}/ns/user"))
        })();
        drop(gate_end);
        platform::process::wait_for(holder);
        opened.map(OwnedFd::from)
    })();
    step("namespaces", made)
}

/// Writes a text to a file of the kernel.
fn write_to(path: &str, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// The whole life of process 1.
fn init(policy: &Policy, environment: &[u8], held: Held, status: &OwnedFd) -> Result<(), Broken> {
    let mut helper = None;
    let begun = bind(policy, held.bound, status).and_then(|(holds, notice, protected)| {
        let running = Report::Running {
            holds,
            protected,
            notice,
        };
        if policy.argv.is_empty() {
            say(status, &running);
            confine::leave(0);
        }
        if let Some(proxy) = held.proxy {
            helper = Some(begin_forwarding(policy, proxy)?);
        }
        let main = execute(policy, environment)?;
        Ok(main.map(|pid| (pid, running)))
    });
    match begun {
        Ok(Ok((main, running))) => {
            say(status, &running);
            reap(main, helper, status);
            confine::leave(0)
        }
        Ok(Err(failure)) => {
            say(status, &Report::ExecFailed { failure });
            confine::leave(125)
        }
        Err(broken) => Err(broken),
    }
}

/// Binds everything; returns what was seen to hold, what of the kernel was not there, and the
/// names that are protected.
fn bind(
    policy: &Policy,
    bound: Option<Vec<trees::Tree>>,
    status: &OwnedFd,
) -> Result<check::Seen, Broken> {
    step("parent", confine::die_with_parent())?;
    let protected = trees::protected(bound.as_deref(), policy);
    if let Some(bound) = bound {
        mounts::mount(policy, bound)?;
        if policy.containment.network != Network::Full {
            step("loopback", confine::raise_loopback())?;
        }
    }
    mounts::fill_home(policy)?;
    let cwd = Path::new(&policy.cwd);
    step("directory", std::env::set_current_dir(cwd))?;
    if let Some(most) = policy.pids_max {
        step("limits", confine::bound_processes(most))?;
    }
    let notice = harden::harden(policy)?;
    step("descriptors", confine::close_at_exec_from(3))?;
    // A change of users has cleared it.
    step("parent", confine::die_with_parent())?;
    if !confine::has_peer(status) {
        confine::leave(125);
    }
    let holds = check::check(policy, &protected, notice.as_ref())?;
    let follows = if policy.is_mounted {
        check::follows()?
    } else {
        // Its mounts were made private first.
        None
    };
    // Nobody in here is to reach into this process, which alone says how the command ended.
    step("dumpable", confine::set_dumpable(false))?;
    let notice = notice.map(|notice| notice.text);
    let notices: Vec<String> = notice.into_iter().chain(follows).collect();
    let told = (!notices.is_empty()).then(|| notices.join("; "));
    Ok((holds, told, protected))
}

/// Makes the process that leads to allowed hosts, and returns its number.
fn begin_forwarding(policy: &Policy, proxy: OwnedFd) -> Result<i32, Broken> {
    let forward = step("proxy", forward::Forward::new(proxy))?;
    let Some(pid) = step("proxy", confine::fork(false))? else {
        if let Network::Allow(hosts) = &policy.containment.network {
            forward.serve(hosts);
        }
        confine::leave(1);
    };
    Ok(pid)
}

/// Executes the command in a session of its own; returns its number once it executes.
fn execute(policy: &Policy, environment: &[u8]) -> Result<Result<i32, Failure>, Broken> {
    let command = Command {
        argv: &policy.argv,
        environment,
        cwd: &policy.cwd,
    };
    let paths = match command.paths() {
        Ok(paths) => paths,
        Err(failure) => return Ok(Err(failure)),
    };
    let words: Vec<CString> = policy
        .argv
        .iter()
        .filter_map(|word| CString::new(word.as_bytes()).ok())
        .collect();
    let argv: Vec<&CStr> = words.iter().map(CString::as_c_str).collect();
    let environment: Vec<&CStr> = environment
        .split_inclusive(|byte| *byte == 0)
        .filter_map(|entry| CStr::from_bytes_with_nul(entry).ok())
        .collect();
    let (told, told_end) = step("exec", platform::file::pipe())?;
    let Some(pid) = step("exec", confine::fork(false))? else {
        confine::begin_session();
        let (index, error) = confine::exec(&paths, &argv, &environment);
        let index = i32::try_from(index).unwrap_or(i32::MAX);
        let mut message = [0; 8];
        message[..4].copy_from_slice(&index.to_ne_bytes());
        message[4..].copy_from_slice(&error.raw_os_error().unwrap_or(0).to_ne_bytes());
        platform::file::write(&told_end, &message).ok();
        confine::leave(127);
    };
    drop(told_end);
    let mut message = [0; 8];
    let read = step("exec", platform::file::read(told.as_fd(), &mut message))?;
    if read == 0 {
        return Ok(Ok(pid));
    }
    let number = |at: usize| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&message[at..at + 4]);
        i32::from_ne_bytes(bytes)
    };
    let index = usize::try_from(number(0)).unwrap_or(usize::MAX);
    let error = io::Error::from_raw_os_error(number(4));
    Ok(Err(command.failure_of(&paths, index, &error)))
}

/// Reaps until nothing but our own is left in here; says how the command ended when it did.
fn reap(main: i32, helper: Option<i32>, status: &OwnedFd) {
    // The supervisor first finds out what number the command has outside, which a command that
    // was reaped would have no more.
    platform::file::read(status, &mut [0]).ok();
    while let Some(reaped) = confine::wait_any() {
        if reaped.pid == main {
            let report = Report::Exited {
                status: reaped.status,
                cpu_ms: reaped.cpu_ms,
                rss_bytes: reaped.rss_bytes,
            };
            say(status, &report);
        }
        if helper.is_some() {
            // Every orphan in here is a child of this process: none is elsewhere.
            let own = platform::process::own_pid();
            let mut left = process::children(own).into_iter();
            if left.all(|pid| Some(pid) == helper) {
                return;
            }
        }
    }
}
