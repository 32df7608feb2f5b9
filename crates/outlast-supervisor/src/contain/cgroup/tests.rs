//! Where a cgroup can be made is found in what the kernel says of mounts and of ourselves.

use super::*;
use outlast_testkit::Home;

fn places(mounts: &str, own: &str) -> Places {
    Places {
        mounts: mounts.to_owned(),
        own: own.to_owned(),
    }
}

#[test]
fn version_1_is_found_by_its_controller() {
    let places = places(
        "30 23 0:28 / /cg/memory rw - cgroup cgroup rw,memory\n\
         31 23 0:29 / /cg/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n",
        "4:memory:/a/b\n1:cpu,cpuacct:/\n",
    );
    let found = |counted| places.parents(counted);
    assert_eq!(
        found(Counted::Memory),
        [(PathBuf::from("/cg/memory/a/b"), 1)]
    );
    assert_eq!(
        found(Counted::Cpu),
        [(PathBuf::from("/cg/cpu,cpuacct/"), 1)]
    );
    assert_eq!(found(Counted::Pids), []);
}

#[test]
fn version_2_counts_only_where_the_folder_beside_us_was_given_the_controller() {
    let home = Home::new();
    let root = home.path().join("cg");
    fs::create_dir_all(root.join("user/own.scope")).expect("the home can be filled");
    let given = root.join("user/cgroup.subtree_control");
    crate::fsio::write_new(&given, b"memory pids\n").expect("the home can be filled");
    let mounts = format!("40 23 0:38 / {} rw - cgroup2 cgroup2 rw\n", root.display());
    let places = places(&mounts, "0::/user/own.scope\n");
    assert_eq!(places.parents(Counted::Memory), [(root.join("user"), 2)]);
    assert_eq!(places.parents(Counted::Cpu), []);
}

#[test]
fn a_bound_that_cannot_be_set_is_an_error_and_leaves_no_folder() {
    let home = Home::new();
    let run = RunId::from_bits([7; 10]);
    // No kernel is behind this folder: the files of a cgroup are not there.
    let parent = (home.work(), 2);
    let made = Group::bind(&parent, &run, Counted::Memory, 1 << 20);
    assert_eq!(made.expect_err("no file").kind(), io::ErrorKind::NotFound);
    assert_eq!(fs::read_dir(home.work()).expect("a folder").count(), 0);
}

#[test]
fn processors_are_bounded_by_their_share_of_a_tenth_of_a_second() {
    let settings = Counted::Cpu.settings_v2(1_500);
    assert_eq!(settings, [("cpu.max", "150000 100000".to_owned(), true)]);
}

#[test]
fn what_a_killed_supervisor_left_is_swept_and_what_is_young_or_of_others_stays() {
    let home = Home::new();
    let long_ago = std::time::UNIX_EPOCH;
    let make = |name: &str, is_old: bool| {
        let path = home.work().join(name);
        fs::create_dir(&path).expect("the home can be filled");
        if is_old {
            let dir = fs::File::open(&path).expect("it is there");
            dir.set_modified(long_ago).expect("it is ours");
        }
        path
    };
    let stale = make("outlast-a", true);
    let kept = [
        make("outlast-b", false),
        make("other", true),
        make("outlast-c", true),
    ];
    fs::create_dir(kept[2].join("process")).expect("it is ours");
    fs::File::open(&kept[2])
        .and_then(|dir| dir.set_modified(long_ago))
        .expect("it is ours");
    sweep(&home.work());
    assert!(!stale.exists());
    assert!(kept.iter().all(|path| path.exists()));
}
