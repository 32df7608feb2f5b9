//! What is asked of an engine, and what is believed of its answer.

use super::*;
use bollard::{API_DEFAULT_VERSION, Docker};
use outlast_journal::Surroundings;

fn policy() -> Policy {
    Policy {
        containment: Containment {
            image: Some("an-image".to_owned()),
            workspace: "/w".to_owned(),
            memory_bytes_max: Some(64 << 20),
            surroundings: Surroundings {
                path: vec!["/a".to_owned(), "/b".to_owned()],
                toolchains: vec!["/t".to_owned()],
                ..Surroundings::default()
            },
            ..Containment::new(Tier::SandboxEdit)
        },
        argv: vec!["true".to_owned()],
        cwd: "/w".to_owned(),
        home: None,
        shown: Vec::new(),
        command_text: None,
        run_dir: None,
        covered: Vec::new(),
        repository: None,
        git_identity: None,
        supervisor: 1,
        is_mounted: false,
        alone_in: None,
        waits: false,
        pids_max: None,
        temporary_bytes_max: 1 << 20,
    }
}

/// An engine that is never asked anything.
fn found() -> Found {
    Found {
        docker: Docker::connect_with_unix("/dev/null", 1, API_DEFAULT_VERSION)
            .expect("nothing is opened yet"),
        socket: String::new(),
        program: "docker",
        version: String::new(),
        is_rootless: false,
    }
}

/// What an engine says that does as it is told.
fn made(asked: &Asked<'_>) -> ContainerInspectResponse {
    let mounts = asked.mounts().into_iter().map(|mount| MountPoint {
        typ: Some("bind".to_owned()),
        source: mount.source,
        destination: mount.target,
        rw: mount.read_only.map(|is_read_only| !is_read_only),
        ..MountPoint::default()
    });
    ContainerInspectResponse {
        host_config: Some(asked.host(&found())),
        mounts: Some(mounts.collect()),
        ..ContainerInspectResponse::default()
    }
}

fn filter() -> Filter {
    Filter::new("{}".to_owned(), Some("/run-dir"))
}

/// Something that an engine does not do as it was told.
type Change = fn(&mut HostConfig);

#[test]
fn a_container_that_is_bound_by_less_than_was_asked_for_is_refused() {
    let policy = policy();
    let pinned = [("/w/.envrc".to_owned(), true)];
    let asked = Asked {
        policy: &policy,
        environment: b"",
        pinned: &pinned,
        ids: (1, 1),
        filter: &filter(),
    };
    let fine = made(&asked);
    let holds = asked.check(&fine).expect("all is as it was asked for");
    assert!(holds.contains(&Guarantee::NetNone), "{holds:?}");
    let changes: [Change; 10] = [
        |host| host.readonly_rootfs = None,
        |host| host.cap_drop = None,
        |host| host.cap_add = Some(vec!["SYS_ADMIN".to_owned()]),
        |host| host.privileged = Some(true),
        |host| host.security_opt = None,
        |host| host.security_opt = Some(vec![NO_NEW_PRIVILEGES.to_owned()]),
        |host| host.network_mode = Some("bridge".to_owned()),
        |host| host.pid_mode = Some("host".to_owned()),
        |host| host.ipc_mode = Some("host".to_owned()),
        |host| host.memory = Some(0),
    ];
    for (at, change) in changes.into_iter().enumerate() {
        let mut less = fine.clone();
        change(less.host_config.as_mut().expect("it has one"));
        assert!(asked.check(&less).is_err(), "change {at}");
    }
    let mut podman = fine.clone();
    let host = podman.host_config.as_mut().expect("it has one");
    host.cap_drop = Some(DEFAULT_CAPABILITIES.map(|one| format!("CAP_{one}")).into());
    host.ipc_mode = Some("shareable".to_owned());
    assert!(asked.check(&podman).is_ok());
    let host = podman.host_config.as_mut().expect("it has one");
    host.cap_drop.as_mut().expect("it has some").pop();
    assert!(asked.check(&podman).is_err());
    let mut more = fine.clone();
    let mounts = more.mounts.as_mut().expect("it has some");
    mounts.push(MountPoint {
        typ: Some("bind".to_owned()),
        source: Some("/".to_owned()),
        destination: Some("/host".to_owned()),
        rw: Some(false),
        ..MountPoint::default()
    });
    assert!(asked.check(&more).is_err());
    let mut writable = fine;
    writable.mounts.as_mut().expect("it has some")[1].rw = Some(true);
    assert!(asked.check(&writable).is_err());
}

#[test]
fn what_names_folders_of_this_machine_stays_outside() {
    let policy = policy();
    let asked = Asked {
        policy: &policy,
        environment: b"PATH=/a:/b\0SHELL=/bin/zsh\0CARGO_HOME=/t\0LANG=C\0OUTLAST_RUN=abc\0",
        pinned: &[],
        ids: (1, 1),
        filter: &filter(),
    };
    assert_eq!(asked.environment(), ["LANG=C", "OUTLAST_RUN=abc"]);
    assert_eq!(asked.name(), "outlast-abc");
    let asked = Asked {
        environment: b"PATH=/mine\0",
        ..asked
    };
    assert_eq!(asked.environment(), ["PATH=/mine"]);
}
