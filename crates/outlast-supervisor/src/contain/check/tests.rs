//! What is seen from inside is believed only where it is so.

use super::*;
use outlast_journal::Containment;

fn policy(tier: Tier) -> Policy {
    let mut containment = Containment::new(tier);
    containment.workspace = "/w s".to_owned();
    Policy {
        containment,
        argv: Vec::new(),
        cwd: "/w s".to_owned(),
        home: Some("/home/me".to_owned()),
        shown: Vec::new(),
        command_text: None,
        run_dir: None,
        covered: Vec::new(),
        repository: None,
        git_identity: None,
        is_mounted: false,
        alone_in: None,
        waits: false,
        pids_max: None,
        supervisor: 1,
        temporary_bytes_max: 1,
    }
}

const TABLE: &str = "\
1 0 8:1 / / ro,nosuid - ext4 /dev/a rw
2 1 0:5 / /proc rw,nosuid - proc proc rw
3 2 0:5 /sys /proc/sys ro - proc proc rw
4 1 0:9 / /home/me rw - tmpfs tmpfs rw
5 1 8:1 /w /w\\040s rw - ext4 /dev/a rw
6 5 8:1 /w/.git/hooks /w\\040s/.git/hooks ro - ext4 /dev/a rw";

fn mounts(table: &str) -> Vec<Mount<'_>> {
    table.lines().filter_map(mount).collect()
}

#[test]
fn a_mount_that_can_be_written_outside_of_the_workspace_is_seen() {
    let seen = |table: &str, tier| writes_inside_only(&policy(tier), &mounts(table));
    assert!(seen(TABLE, Tier::SandboxEdit));
    assert!(!seen(TABLE, Tier::ReadOnly));
    assert!(!seen(&TABLE.replace("/ / ro", "/ / rw"), Tier::SandboxEdit));
    assert!(!seen(
        &TABLE.replace("/proc/sys ro", "/proc/sys rw"),
        Tier::SandboxEdit
    ));
    let beside = format!("{TABLE}\n7 1 8:1 /x /w\\040sx rw - ext4 /dev/a rw");
    assert!(!seen(&beside, Tier::SandboxEdit));
}

#[test]
fn a_mount_that_nobody_can_come_to_is_not_judged_and_every_other_is() {
    let is_inside = |more: &str| {
        let table = format!("{TABLE}\n{more}");
        writes_inside_only(&policy(Tier::SandboxEdit), &mounts(&table))
    };
    let disk = "7 1 8:1 / /var/lib/disk rw - ext4 /dev/b rw";
    let memory = "8 1 0:9 / /var rw - tmpfs tmpfs rw";
    assert!(!is_inside(disk));
    // Memory lies over the way to it, over the way to what it is mounted on, or over itself.
    assert!(is_inside(&format!("{disk}\n{memory}")));
    assert!(is_inside(&format!("{memory}\n{disk}")));
    let deeper = "9 7 8:1 / /var/lib/disk/deep rw - ext4 /dev/c rw";
    assert!(is_inside(&format!("{disk}\n{deeper}\n{memory}")));
    let on_top = "8 7 0:9 / /var/lib/disk rw - tmpfs tmpfs rw";
    assert!(is_inside(&format!("{disk}\n{on_top}")));
    let root = "8 1 0:9 / / rw - tmpfs tmpfs rw";
    assert!(is_inside(&format!("{disk}\n{root}")));
    // Beside it, beneath it, or only with the beginning of its name, nothing covers it.
    for other in ["/va", "/var/lib/disk/x", "/var/lib/dis", "/opt"] {
        let memory = format!("8 1 0:9 / {other} rw - tmpfs tmpfs rw");
        assert!(!is_inside(&format!("{disk}\n{memory}")), "{other}");
    }
    // One that lies on the memory is seen.
    assert!(!is_inside(&format!(
        "{memory}\n{}",
        disk.replace("7 1", "7 8")
    )));
    // A table that goes round in circles ends.
    assert!(!is_inside("7 7 8:1 / /x rw - ext4 /dev/b rw"));
}

#[test]
fn a_protected_name_needs_a_mount_of_its_own_that_is_read_only() {
    let keeps = |names: &[&str], tier| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        keeps_protected(&policy(tier), &names, &mounts(TABLE))
    };
    assert!(keeps(&[".git/hooks"], Tier::SandboxEdit));
    assert!(!keeps(&[".git/config"], Tier::SandboxEdit));
    assert!(!keeps(&[], Tier::ReadOnly));
}

#[test]
fn a_home_is_hidden_by_memory_and_a_user_is_none_of_the_host() {
    assert!(hides_homes(&policy(Tier::ReadOnly), &mounts(TABLE)));
    let shown = TABLE.replace("/home/me rw - tmpfs", "/home/me rw - ext4");
    assert!(!hides_homes(&policy(Tier::ReadOnly), &mounts(&shown)));
    assert!(is_nobody("         0  600100000      65536\n"));
    assert!(is_nobody("      1000       1000          1\n"));
    // Whoever may read the passwords and is mapped to 0 is the one whom they belong to.
    let can_read = fs::File::open("/etc/shadow").is_ok();
    assert_eq!(is_nobody("         0          0          1\n"), !can_read);
}

#[test]
fn a_process_with_a_capability_is_not_powerless() {
    let status = "CapInh:\t0000\nCapPrm:\t0000\nCapEff:\t0000\nCapBnd:\t0000\nCapAmb:\t0000\n\
                  NoNewPrivs:\t1\nSeccomp:\t2\n";
    assert!(is_powerless(status, &SETS));
    for (from, to) in [
        ("CapBnd:\t0000", "CapBnd:\t0001"),
        ("NoNewPrivs:\t1", "NoNewPrivs:\t0"),
        ("Seccomp:\t2", "Seccomp:\t0"),
        ("CapEff:\t0000\n", ""),
    ] {
        assert!(!is_powerless(&status.replace(from, to), &SETS), "{to}");
    }
}
