//! Nothing that we know of gets out: one probe, bait outside, as root and as a user.
//!
//! Each attempt is made bare too, by root or by a user: one that does not
//! succeed there proves nothing here. The table of `docs/reference/containment.md`
//! is what came out; with `OUTLAST_BLESS=1` it is written anew.

use crate::case_ground::write;
use crate::contain_bait::{Bait, add_set_user};
use crate::contain_engine_daemon::{Engine, Kind, PYTHON_IMAGE};
use crate::contain_ground::{LANDLOCK_LACKS, PYTHON, Who, set_mode};
use crate::contain_honest::DENY;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

/// Where the table stands.
const PAGE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/reference/containment.md"
);
/// What stands around it.
const MARKS: [&str; 2] = ["<!-- probes -->", "<!-- end of probes -->"];

/// Attempts for which there is no bait on a bare host, each with the reason.
const NO_BAIT: [(&str, &str); 2] = [
    ("kernel: a writable root", "it is writable there"),
    (
        "use: a server and a client of its own",
        "it must work in both",
    ),
];
/// Attempts whose success is reported rather than held.
pub(crate) const REPORTED: [&str; 1] = ["orders: absent .codex, made (reported)"];
/// Attempts that Landlock alone does not hold, or is not known to: they are those of the
/// guarantees that it lacks.
const NOT_BY_LANDLOCK: [&str; 15] = [
    "kernel: the mounts of the host",
    "orders: a hook of a repository inside",
    "orders: a new git hook",
    "orders: another .git in its place",
    "orders: another directory around a repository",
    "orders: git configuration",
    "orders: other hooks in their place",
    "orders: present .claude/settings.json",
    "orders: present .envrc",
    "orders: present .husky/pre-push",
    "orders: present .mcp.json",
    "orders: present .vscode/tasks.json",
    "write: attributes outside",
    "write: permissions outside",
    "write: times outside",
];
/// What must work inside.
pub(crate) const USE: &str = "use: ";
/// Attempts that a container does not hold: its process 1 is the engine's, with the rights of the
/// command and without a secret.
const NOT_BY_CONTAINER: [&str; 3] = [
    "kernel: a forged end, by the launcher's descriptors",
    "kernel: the memory of the launcher",
    "read: the environment of process 1",
];
/// Attempts that some machines have nothing for, even bare. What they came to bare is not
/// compared.
const NOT_EVERYWHERE: [&str; 14] = [
    "kernel: /proc/irq/default_smp_affinity",
    "kernel: /proc/sys/kernel/modprobe",
    "kernel: /proc/sysrq-trigger",
    "kernel: /sys/kernel/uevent_helper",
    "kernel: a user namespace by clone3",
    "kernel: calls of the old kind (int 0x80)",
    "kernel: input for a terminal",
    "kernel: performance counters",
    "kernel: userfaultfd",
    "network: TCP to the host, version 6",
    "network: a kernel crypto socket",
    "network: a vsock socket",
    "network: a way to other hosts",
    "network: io_uring",
];

/// The outcomes of one column of the table.
struct Column {
    head: String,
    outcomes: BTreeMap<String, String>,
}

fn bare() -> Vec<Column> {
    let columns = Who::all().into_iter().map(|who| Column {
        head: format!("bare, {}", who.name()),
        outcomes: Bait::new(who).probe(&[]),
    });
    columns.collect()
}

fn native(tier: &str) -> Vec<Column> {
    let columns = Who::all().into_iter().map(|who| {
        let bait = Bait::new(who);
        let program = bait.ground.program().to_str().expect("text").to_owned();
        let words = [&program, "run", "--wait", "--sandbox", tier, "--"];
        Column {
            head: format!("native, {}", who.name()),
            outcomes: bait.probe(&words),
        }
    });
    columns.collect()
}

/// Bubblewrap, where our program cannot make a root read-only; for a user alone.
fn bwrap() -> Vec<Column> {
    if !Path::new("/usr/bin/bwrap").exists() {
        eprintln!("did not run: there is no bubblewrap on this machine");
        return Vec::new();
    }
    vec![denied(Who::User, "bwrap", ["442", "38"])]
}

/// A run under a filter that lets the call with this number fail.
fn denied(who: Who, name: &str, [number, errno]: [&str; 2]) -> Column {
    let bait = Bait::new(who);
    bait.ground.accept(&LANDLOCK_LACKS);
    bait.ground.file("deny.py", DENY);
    // The project is handed over with it, and the program in it loses its bit.
    add_set_user(&bait.ground);
    let program = bait.ground.program().to_str().expect("text").to_owned();
    let deny = bait.ground.work().join("deny.py");
    let deny = deny.to_str().expect("text").to_owned();
    let filter = [PYTHON, &deny, number, errno, "-1", &program];
    let words = ["run", "--wait", "--sandbox", "edit", "--"];
    let column = Column {
        head: format!("{name}, {}", who.name()),
        outcomes: bait.probe(&[&filter[..], &words].concat()),
    };
    let runs = bait.ground.json(&["ps", "-a", "--json"]);
    assert_eq!(runs["runs"][0]["posture"]["backend"], name);
    column
}

/// Landlock alone, where no namespace can be made.
fn landlock() -> Vec<Column> {
    // Without mounts bubblewrap is of no use either.
    let columns = Who::all().into_iter();
    columns
        .map(|who| denied(who, "landlock", ["165", "1"]))
        .collect()
}

/// A container of an engine of root, for root and for a user who may open its socket.
fn container() -> Vec<Column> {
    let Some(engine) = Engine::new(Kind::Docker) else {
        return Vec::new();
    };
    engine.load_python();
    set_mode(engine.dir(), 0o711);
    set_mode(&engine.socket(), 0o666);
    let host = format!("DOCKER_HOST={}", engine.address());
    let columns = Who::all().into_iter().map(|who| {
        let bait = Bait::new(who);
        let program = bait.ground.program().to_str().expect("text").to_owned();
        let words = ["/usr/bin/env", &host, &program];
        let run = ["run", "--wait", "--image", PYTHON_IMAGE, "--"];
        let column = Column {
            head: format!("container, {}", who.name()),
            outcomes: bait.probe(&[&words[..], &run].concat()),
        };
        let runs = bait.ground.json(&["ps", "-a", "--json"]);
        assert_eq!(runs["runs"][0]["posture"]["backend"], "container");
        column
    });
    columns.collect()
}

fn is_out(column: &Column, name: &str) -> bool {
    column.outcomes.get(name).is_some_and(|told| told == "out")
}

/// Returns what is wrong with the outcomes of contained runs.
fn faults(bare: &[Column], contained: &[Column]) -> Vec<String> {
    let mut faults = Vec::new();
    let names: BTreeSet<&String> = bare
        .iter()
        .flat_map(|column| column.outcomes.keys())
        .collect();
    for name in names {
        let has_bait = bare.iter().any(|column| is_out(column, name));
        let is_known = NO_BAIT.iter().any(|(known, _)| known == name)
            || NOT_EVERYWHERE.contains(&name.as_str());
        if !has_bait && !is_known {
            faults.push(format!(
                "{name}: does not succeed bare, so it proves nothing"
            ));
        }
        for column in contained {
            let must_work = name.starts_with(USE);
            let is_reported = REPORTED.contains(&name.as_str());
            if is_out(column, name) != must_work && !is_reported {
                let told = column.outcomes.get(name);
                faults.push(format!("{name}: {told:?} ({})", column.head));
            }
            if !column.outcomes.contains_key(name) {
                faults.push(format!("{name}: was not tried ({})", column.head));
            }
        }
    }
    faults
}

/// The table: an attempt a row, with what came of it.
fn table(bare: &[Column], contained: &[Column]) -> String {
    let names: BTreeSet<&String> = bare
        .iter()
        .flat_map(|column| column.outcomes.keys())
        .collect();
    let columns: Vec<&Column> = contained.iter().collect();
    let heads: Vec<&str> = columns.iter().map(|column| column.head.as_str()).collect();
    let mut lines = vec![
        format!("| attempt | bare | {} |", heads.join(" | ")),
        format!("| --- | --- |{}", " --- |".repeat(heads.len())),
    ];
    for name in names {
        let who: Vec<&str> = bare
            .iter()
            .filter(|column| is_out(column, name))
            .filter_map(|column| column.head.strip_prefix("bare, "))
            .collect();
        let bare = if who.is_empty() {
            let reason = NO_BAIT.iter().find(|(known, _)| known == name);
            reason.map_or_else(
                || "not on this machine".to_owned(),
                |(_, why)| format!("– ({why})"),
            )
        } else {
            format!("succeeds ({})", who.join(", "))
        };
        let cells = columns
            .iter()
            .map(|column| match (is_out(column, name), name) {
                (true, name) if name.starts_with(USE) => "works",
                (true, name) if REPORTED.contains(&name.as_str()) => "reported",
                (true, _) => "**not held**",
                (false, name) if name.starts_with(USE) => "does not work",
                (false, _) => "held",
            });
        let cells: Vec<&str> = cells.collect();
        lines.push(format!("| {name} | {bare} | {} |", cells.join(" | ")));
    }
    lines.join("\n")
}

/// Compares the table with the page, or writes it there.
fn assert_page(table: &str) {
    let page = fs::read_to_string(PAGE).expect("the page is there");
    let [begin, end] = MARKS;
    let (before, rest) = page.split_once(begin).expect("its first mark");
    let (written, after) = rest.split_once(end).expect("its second mark");
    if std::env::var_os("OUTLAST_BLESS").is_some() {
        let page = format!("{before}{begin}\n{table}\n{end}{after}");
        write(Path::new(PAGE), &page);
        return;
    }
    assert_eq!(
        comparable(written.trim()),
        comparable(table),
        "docs/reference/containment.md is not what came out; write it with OUTLAST_BLESS=1"
    );
}

/// The table without what differs from machine to machine.
fn comparable(table: &str) -> Vec<String> {
    let lines = table.lines().map(|line| {
        let mut cells: Vec<&str> = line.split(" | ").collect();
        let name = cells.first().map(|cell| cell.trim_start_matches("| "));
        if name.is_some_and(|name| NOT_EVERYWHERE.contains(&name)) {
            cells.remove(1);
        }
        cells.join(" | ")
    });
    lines.collect()
}

#[test]
fn nothing_that_we_know_gets_out_of_an_editing_sandbox() {
    let (bare, mut contained) = (bare(), native("edit"));
    contained.extend(bwrap());
    let faults = faults(&bare, &contained);
    assert!(faults.is_empty(), "{faults:#?}");
    let alone = landlock();
    let containers = container();
    let mut unknown = unexpected(&alone, &NOT_BY_LANDLOCK);
    unknown.extend(unexpected(&containers, &NOT_BY_CONTAINER));
    assert!(unknown.is_empty(), "{unknown:#?}");
    contained.extend(containers);
    contained.extend(alone);
    // The page has the columns of all, which only root can be, where they can be had.
    if contained.len() == 7 {
        assert_page(&table(&bare, &contained));
    } else {
        eprintln!("the page was not compared: it takes root, bubblewrap and docker");
    }
}

/// Returns what got out of these, but for what they are known not to hold.
fn unexpected(columns: &[Column], known: &[&str]) -> Vec<String> {
    let is_known =
        |name: &str| known.contains(&name) || REPORTED.contains(&name) || name.starts_with(USE);
    let out = columns.iter().flat_map(|column| {
        let out = column.outcomes.iter();
        let out = out.filter(|(name, told)| *told == "out" && !is_known(name));
        out.map(|(name, _)| format!("{name} ({})", column.head))
    });
    out.collect()
}

/// A reading sandbox is tighter: what is reported there is held here, and so are files of the
/// workspace itself.
#[test]
fn a_reading_sandbox_changes_nothing_of_its_workspace() {
    for column in native("read") {
        let out = column.outcomes.iter();
        let out = out.filter(|(name, told)| *told == "out" && !name.starts_with(USE));
        let out: Vec<_> = out.collect();
        assert!(out.is_empty(), "{}: {out:#?}", column.head);
    }
}
