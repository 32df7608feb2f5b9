//! What the tables of the kernel say, from texts as they stand there.

use super::*;
use crate::doctor::Level;

#[test]
fn a_kernel_before_5_10_is_a_failure() {
    for (release, level) in [
        ("6.18.44-fc-v782", Level::Fine),
        ("5.10.0", Level::Fine),
        ("5.9.16-arch1", Level::Failure),
        ("4.18.0-553.el8", Level::Failure),
        ("", Level::Warning),
        ("unknown", Level::Warning),
    ] {
        assert_eq!(kernel(release).level, level, "{release}");
    }
}

const MOUNTS: &str = "\
22 27 0:20 / /sys rw,nosuid - sysfs sysfs rw
23 27 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw
24 23 0:22 / /proc/sys/fs/binfmt_misc rw - binfmt_misc binfmt_misc rw
";

#[test]
fn a_process_table_that_hides_is_a_warning() {
    assert_eq!(processes(MOUNTS).level, Level::Fine);
    for option in ["hidepid=2", "hidepid=invisible,gid=4"] {
        let hidden = MOUNTS.replace("proc proc rw", &format!("proc proc rw,{option}"));
        assert_eq!(processes(&hidden).level, Level::Warning, "{option}");
    }
    let off = MOUNTS.replace("proc proc rw", "proc proc rw,hidepid=off");
    assert_eq!(processes(&off).level, Level::Fine);
    assert_eq!(processes("").level, Level::Failure);
}

#[test]
fn the_last_mount_on_proc_is_the_one_that_is_seen() {
    let twice = format!("{MOUNTS}90 23 0:80 / /proc rw - proc proc rw,hidepid=2\n");
    assert_eq!(processes(&twice).level, Level::Warning);
}

#[test]
fn without_a_shell_only_programs_run() {
    assert_eq!(shell(true, true).level, Level::Fine);
    assert_eq!(shell(false, true).level, Level::Warning);
    assert_eq!(shell(false, false).level, Level::Warning);
}
