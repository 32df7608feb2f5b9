//! A file comes to its place whole or not at all, and nothing else is left in its directory.

use super::*;
use outlast_testkit::Home;
use std::fs;

type Put = fn(&Dir, &OsStr, bool, &dyn Fn(&mut File) -> io::Result<()>) -> io::Result<()>;

/// The way of most file systems, and of the others.
const WAYS: [Put; 2] = [put, put_named];

fn ground() -> (Home, Dir) {
    let home = Home::new();
    let dir = fs::File::open(home.work()).expect("it is there");
    (home, Dir::from_std_file(dir))
}

fn names(home: &Home) -> Vec<String> {
    let entries = fs::read_dir(home.work()).expect("it is there").flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn a_new_file_takes_no_place_that_another_has_and_an_old_one_is_replaced() {
    for way in WAYS {
        let (home, dir) = ground();
        let fill = |text: &'static str| move |file: &mut File| file.write_all(text.as_bytes());
        let name = OsStr::new("a");
        way(&dir, name, true, &fill("one")).expect("it is new");
        let error = way(&dir, name, true, &fill("two")).expect_err("it is there");
        assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        assert_eq!(
            fs::read(home.work().join("a")).expect("it is there"),
            b"one"
        );
        way(&dir, name, false, &fill("three")).expect("it may be replaced");
        assert_eq!(
            fs::read(home.work().join("a")).expect("it is there"),
            b"three"
        );
        assert_eq!(names(&home), ["a"]);
    }
}

#[test]
fn a_file_that_cannot_be_filled_leaves_nothing_and_the_old_one_as_it_was() {
    for way in WAYS {
        let (home, dir) = ground();
        let mut old = fs::File::create(home.work().join("a")).expect("it can be made");
        old.write_all(b"old").expect("there is room");
        let fill = |file: &mut File| {
            file.write_all(b"half")?;
            Err(ErrorKind::StorageFull.into())
        };
        for (name, is_new) in [("a", false), ("b", true)] {
            let error = way(&dir, OsStr::new(name), is_new, &fill).expect_err("there is no room");
            assert_eq!(error.kind(), ErrorKind::StorageFull);
        }
        assert_eq!(
            fs::read(home.work().join("a")).expect("it is there"),
            b"old"
        );
        assert_eq!(names(&home), ["a"]);
    }
}

/// Whoever is killed while it writes leaves what is seen here.
#[test]
fn nothing_is_seen_of_a_file_that_is_being_written() {
    let (home, dir) = ground();
    let mut old = fs::File::create(home.work().join("a")).expect("it can be made");
    old.write_all(b"old").expect("there is room");
    let flags = OFlags::TMPFILE | OFlags::WRONLY;
    if openat(&dir, ".", flags, Mode::from_raw_mode(MODE)).is_err() {
        eprintln!("did not run: this file system makes no files without a name");
        return;
    }
    for (name, is_new) in [("a", false), ("b", true)] {
        let before = names(&home);
        let fill = |file: &mut File| {
            file.write_all(b"half")?;
            assert_eq!(names(&home), before);
            Ok(())
        };
        put(&dir, OsStr::new(name), is_new, &fill).expect("there is room");
        assert_eq!(
            fs::read(home.work().join(name)).expect("it is there"),
            b"half"
        );
    }
}
