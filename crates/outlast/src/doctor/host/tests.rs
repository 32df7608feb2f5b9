//! What would end the runs, from cgroup paths and configurations as they stand there.

use super::*;
use crate::doctor::Level;

fn host(cgroup: &str) -> Host {
    Host {
        cgroup: cgroup.to_owned(),
        init: "systemd".to_owned(),
        kills_user_processes: Some(false),
        ..Host::default()
    }
}

fn level(host: &Host) -> Level {
    unit(host).level
}

const SESSION: &str = "0::/user.slice/user-1000.slice/session-3.scope\n";
const APP: &str = "0::/user.slice/user-1000.slice/user@1000.service/app.slice/vte-1.scope\n";
const USER_SERVICE: &str =
    "0::/user.slice/user-1000.slice/user@1000.service/app.slice/agent.service\n";
const SERVICE: &str = "0::/system.slice/agent.service\n";

#[test]
fn a_cgroup_says_which_unit_holds_a_process() {
    for (cgroup, expected) in [
        (SESSION, Place::Session("session-3.scope".to_owned())),
        (APP, Place::UserUnit("vte-1.scope".to_owned())),
        (USER_SERVICE, Place::UserUnit("agent.service".to_owned())),
        (SERVICE, Place::SystemUnit("agent.service".to_owned())),
        (
            "0::/system.slice/run-1.scope\n",
            Place::Scope("run-1.scope".to_owned()),
        ),
        ("0::/init.scope\n", Place::Scope("init.scope".to_owned())),
        ("0::/\n", Place::Free),
        ("", Place::Free),
        ("0::/docker/0123\n", Place::Free),
        (
            "12:cpu:/x\n1:name=systemd:/system.slice/agent.service\n0::/\n",
            Place::SystemUnit("agent.service".to_owned()),
        ),
    ] {
        assert_eq!(place(cgroup), expected, "{cgroup}");
    }
}

#[test]
fn a_session_is_harmless_unless_logind_kills() {
    assert_eq!(level(&host(SESSION)), Level::Fine);
    let killing = Host {
        kills_user_processes: Some(true),
        ..host(SESSION)
    };
    assert_eq!(level(&killing), Level::Warning);
}

#[test]
fn a_unit_of_the_user_needs_a_manager_that_stays() {
    assert_eq!(level(&host(APP)), Level::Warning);
    let lingering = |cgroup| Host {
        lingers: true,
        ..host(cgroup)
    };
    assert_eq!(level(&lingering(APP)), Level::Fine);
    assert_eq!(level(&lingering(USER_SERVICE)), Level::Warning);
}

#[test]
fn a_service_ends_what_was_started_in_it() {
    assert_eq!(level(&host(SERVICE)), Level::Warning);
    assert_eq!(level(&host("0::/\n")), Level::Fine);
}

#[test]
fn the_unit_that_a_restart_ends_is_named() {
    let unit = |cgroup| restarted_unit(cgroup);
    assert_eq!(unit(SERVICE).as_deref(), Some("agent.service"));
    assert_eq!(unit(USER_SERVICE).as_deref(), Some("agent.service"));
    for cgroup in [SESSION, APP, "0::/\n", "0::/system.slice/run-1.scope\n"] {
        assert_eq!(unit(cgroup), None, "{cgroup}");
    }
}

#[test]
fn a_container_and_a_namespace_end_their_runs() {
    assert_eq!(namespace(&host(SESSION)).level, Level::Fine);
    let container = Host {
        is_container: true,
        ..host("")
    };
    assert_eq!(namespace(&container).level, Level::Warning);
    let own_namespace = Host {
        init: "bash".to_owned(),
        ..host("")
    };
    assert_eq!(namespace(&own_namespace).level, Level::Warning);
    let nested = Host {
        status: "Name:\tx\nNSpid:\t4711\t12\n".to_owned(),
        ..host("")
    };
    assert_eq!(namespace(&nested).level, Level::Warning);
    let plain = Host {
        status: "Name:\tx\nNSpid:\t4711\n".to_owned(),
        ..host("")
    };
    assert_eq!(namespace(&plain).level, Level::Fine);
}

#[test]
fn a_run_started_inside_a_run_is_told_of() {
    let checks = decide(&host(SESSION), Some("m3qd000000000000"));
    let inside = checks.iter().find(|check| check.name == "run");
    assert_eq!(inside.map(|check| check.level), Some(Level::Warning));
    assert!(inside.is_some_and(|check| check.message.ends_with("when that run is cancelled")));
    assert!(
        decide(&host(SESSION), None)
            .iter()
            .all(|check| check.name != "run")
    );
}

#[test]
fn the_last_word_of_logind_counts() {
    let kills = |texts: &[&str], user| {
        let texts: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        logind::kills_user_processes(&texts, Some(user))
    };
    let yes = "[Login]\n#KillUserProcesses=no\nKillUserProcesses = yes\n";
    assert!(!kills(&[], "ann"));
    assert!(!kills(&["[Login]\n#KillUserProcesses=yes\n"], "ann"));
    assert!(kills(&[yes], "ann"));
    assert!(!kills(&[yes, "KillUserProcesses=no"], "ann"));
    assert!(!kills(&[yes], "root"));
    assert!(!kills(&[yes, "KillExcludeUsers=root ann"], "ann"));
    assert!(kills(&["KillOnlyUsers=ann"], "ann"));
    assert!(!kills(&[yes, "KillOnlyUsers=bob"], "ann"));
}

#[test]
fn a_user_has_the_name_that_the_table_gives() {
    let passwd = "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/bash\n";
    assert_eq!(user_name(passwd, 1_000).as_deref(), Some("ann"));
    assert_eq!(user_name(passwd, 7), None);
}
