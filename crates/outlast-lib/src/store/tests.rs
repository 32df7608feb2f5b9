//! A store is private, local and understood, or it is refused with the fix.

use super::*;
use crate::testing::{Fixture, put};
use outlast_testkit::Home;
use std::os::unix::fs::chown;

fn open(root: &Path) -> Result<Store, OpenError> {
    Store::open(root, Limits::default())
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn a_store_that_is_not_there_is_made_for_its_owner_alone() {
    let home = Home::new();
    let root = home.path().join("a/b/store");
    let store = open(&root).unwrap();
    assert_eq!((store.access(), store.is_writable()), (Access::Full, true));
    assert_eq!(store.root(), root);
    for path in [
        &root,
        &root.join("runs"),
        &root.join("queue"),
        root.parent().unwrap(),
    ] {
        assert_eq!(mode(path), 0o700, "{}", path.display());
    }
    assert_eq!(mode(&root.join("format.json")), 0o600);
    assert_eq!(
        fs::read_to_string(root.join("format.json")).unwrap(),
        "{\"v\":1}\n"
    );
}

#[test]
fn a_store_with_any_permission_for_others_is_refused_with_the_fix() {
    let fixture = Fixture::new();
    let root = fixture.store.root();
    for bit in [0o001, 0o002, 0o004, 0o010, 0o020, 0o040] {
        set_mode(root, 0o700 | bit);
        let error = open(root).unwrap_err();
        assert_eq!(error.code(), "store_open_to_others");
        let text = format!(
            "the store `{}` is open to others: its mode is {:04o}",
            root.display(),
            0o700 | bit
        );
        assert_eq!(error.to_string(), text);
        assert_eq!(
            error.hint(),
            format!("close it with `chmod 700 {}`", root.display())
        );
    }
    set_mode(root, 0o700);
    open(root).unwrap();
}

#[test]
fn a_file_is_no_store() {
    let home = Home::new();
    put(&home.store(), b"");
    assert_eq!(
        open(&home.store()).unwrap_err().code(),
        "store_not_a_directory"
    );
}

#[test]
fn a_store_that_cannot_be_made_says_why() {
    let home = Home::new();
    put(&home.path().join("file"), b"");
    let error = open(&home.path().join("file/store")).unwrap_err();
    assert_eq!(error.code(), "store_unreadable");
    let error = open(Path::new("/proc/store")).unwrap_err();
    assert_eq!(error.code(), "store_not_made");
    assert!(std::error::Error::source(&error).is_some());
}

#[test]
fn a_store_of_another_user_is_refused() {
    let fixture = Fixture::new();
    if fsio::own_user() != 0 {
        // Only root can give a directory away.
        return;
    }
    chown(fixture.store.root(), Some(12_345), None).unwrap();
    let error = open(fixture.store.root()).unwrap_err();
    assert_eq!(error.code(), "store_of_other_user");
    assert!(
        error.to_string().ends_with("belongs to user 12345"),
        "{error}"
    );
}

#[test]
fn network_file_systems_are_known_by_their_numbers() {
    for (magic, name) in [
        (0x6969, "NFS"),
        (0x517B, "SMB"),
        (0xFF53_4D42, "CIFS"),
        (0xFE53_4D42, "SMB2"),
        (0x5346_414F, "AFS"),
        (0x6B41_4653, "AFS"),
        (0x00C3_6400, "Ceph"),
        (0x0BD0_0BD0, "Lustre"),
        (0x0102_1997, "9p"),
        (0x0116_1970, "GFS2"),
        (0x7461_636F, "OCFS2"),
    ] {
        assert_eq!(network_name(magic), Some(name));
    }
    // ext, tmpfs, btrfs, xfs, overlay, zfs, f2fs, FUSE, ramfs.
    for local in [
        0xEF53,
        0x0102_1994,
        0x9123_683E,
        0x5846_5342,
        0x794C_7630,
        0x2FC1_2FC1,
        0xF2F5_2010,
        0x6573_5546,
        0x8584_58F6,
    ] {
        assert_eq!(network_name(local), None, "{local:#x}");
    }
}

#[test]
fn a_store_of_a_newer_version_is_read_and_never_written() {
    let fixture = Fixture::new();
    fixture.ended(1);
    put(&fixture.path("format.json"), b"{\"v\":2,\"more\":true}");
    let store = open(fixture.store.root()).unwrap();
    assert_eq!(store.access(), Access::Newer { version: 2 });
    assert!(!store.is_writable());
    assert_eq!(store.record(&fixture.id(1)).unwrap().label, "run 1");
    assert!(store.key().is_err());
}

#[test]
fn a_format_that_says_nothing_is_refused_and_kept() {
    let fixture = Fixture::new();
    put(&fixture.path("format.json"), b"{");
    let error = open(fixture.store.root()).unwrap_err();
    assert_eq!(error.code(), "store_format_damaged");
    assert_eq!(fs::read(fixture.path("format.json")).unwrap(), b"{");
}

#[test]
fn every_opening_has_the_same_key_also_when_all_make_it_at_once() {
    let fixture = Fixture::new();
    let root = fixture.store.root();
    let keys: Vec<[u8; 32]> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| open(root).unwrap().key().unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(keys.iter().all(|key| *key == keys[0] && *key != [0; 32]));
    assert_eq!(fs::read(root.join("key")).unwrap(), keys[0]);
    assert_eq!(mode(&root.join("key")), 0o600);
    let left = fs::read_dir(root).unwrap().flatten();
    assert!(
        left.into_iter()
            .all(|entry| entry.path().extension().is_none_or(|it| it != "tmp"))
    );
}

#[test]
fn a_store_that_is_only_read_makes_no_key() {
    let fixture = Fixture::new();
    let error = fixture.read_only().key().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(!fixture.path("key").exists());
}

#[test]
fn a_key_of_a_wrong_length_is_an_error_and_is_not_replaced() {
    let fixture = Fixture::new();
    put(&fixture.path("key"), b"short");
    assert_eq!(
        fixture.store.key().unwrap_err().kind(),
        ErrorKind::InvalidData
    );
    assert_eq!(fs::read(fixture.path("key")).unwrap(), b"short");
}

#[test]
fn a_run_is_found_in_whatever_month_it_was_born() {
    let fixture = Fixture::new();
    let old = fixture
        .run(1)
        .spec(|spec| spec.created = Timestamp::parse("2024-02-29T12:00:00Z").unwrap())
        .make();
    let new = fixture.run(2).make();
    fsio::make_private_dirs(&fixture.path("runs/2024-13")).unwrap();
    fsio::make_private_dirs(&fixture.path("runs/lost+found")).unwrap();
    assert!(old.dir.ends_with(format!("runs/2024-02/{}", fixture.id(1))));
    assert_eq!(fixture.store.run_dir(&fixture.id(1)), Some(old.dir));
    assert_eq!(fixture.store.run_dir(&fixture.id(2)), Some(new.dir));
    assert_eq!(fixture.store.run_dir(&fixture.id(3)), None);
    let months = fixture.store.months().unwrap();
    assert_eq!(months, ["2024-02".to_owned(), clock::now().month()]);
}
