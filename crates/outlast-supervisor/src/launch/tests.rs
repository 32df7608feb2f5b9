//! What a supervisor is handed arrives whole, and what is not of this form is refused.

use super::{
    HEADER_BYTES, Handed, Launch, LaunchError, MAGIC, Supervisor, answer, receive, send, variable,
};
use crate::platform::socket;
use crate::{fsio, lock};
use outlast_journal::control::Answer;
use outlast_journal::{RunId, limits};
use outlast_testkit::Home;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::thread;

fn locked(home: &Home, name: &str) -> File {
    let file = fsio::open_private(&home.work().join(name)).unwrap();
    assert!(lock::try_lock(&file).unwrap());
    file
}

fn is_locked(home: &Home, name: &str) -> bool {
    lock::is_locked(&File::open(home.work().join(name)).unwrap()).unwrap()
}

fn inode(descriptor: impl AsFd) -> u64 {
    let copy = descriptor.as_fd().try_clone_to_owned().unwrap();
    File::from(copy).metadata().unwrap().ino()
}

/// Sends all of it from another thread, since a socket holds less than an environment may have.
fn handed(
    environment: &[(OsString, OsString)],
    lock: &File,
    ticket: Option<&File>,
    places: &[&File],
) -> Handed {
    let (ours, theirs) = UnixStream::pair().unwrap();
    let places: Vec<BorrowedFd<'_>> = places.iter().map(AsFd::as_fd).collect();
    let launch = Launch {
        words: &[],
        environment,
        lock: lock.as_fd(),
        ticket: ticket.map(AsFd::as_fd),
        places: &places,
    };
    thread::scope(|scope| {
        scope.spawn(|| send(&ours, &launch).unwrap());
        receive(&theirs).unwrap()
    })
}

fn pairs(entries: &[(&str, &[u8])]) -> Vec<(OsString, OsString)> {
    let entries = entries.iter();
    entries
        .map(|(name, value)| (OsString::from(name), OsString::from_vec(value.to_vec())))
        .collect()
}

#[test]
fn the_environment_arrives_byte_by_byte() {
    let home = Home::new();
    let lock = locked(&home, "lock");
    let environment = pairs(&[
        ("PATH", b"/bin:/usr/bin"),
        ("EMPTY", b""),
        ("EQUALS", b"a=b=c"),
        ("BYTES", b"\xff\xfe\n"),
    ]);
    let handed = handed(&environment, &lock, None, &[]);
    let expected = b"PATH=/bin:/usr/bin\0EMPTY=\0EQUALS=a=b=c\0BYTES=\xff\xfe\n\0";
    assert_eq!(handed.environment, expected);
    assert!(handed.ticket.is_none());
    assert!(handed.places.is_empty());
}

#[test]
fn the_largest_environment_arrives() {
    let home = Home::new();
    let lock = locked(&home, "lock");
    let value = vec![b'x'; limits::ENVIRONMENT_BYTES_MAX];
    let handed = handed(&pairs(&[("A", &value)]), &lock, None, &[]);
    assert_eq!(handed.environment.len(), value.len() + 3);
    assert_eq!(
        variable(&handed.environment, "A").unwrap().len(),
        value.len()
    );
}

#[test]
fn no_environment_is_an_empty_one() {
    let home = Home::new();
    let lock = locked(&home, "lock");
    assert_eq!(handed(&[], &lock, None, &[]).environment, b"");
}

#[test]
fn each_descriptor_arrives_in_its_place() {
    let home = Home::new();
    let [lock, ticket, one, two] = ["lock", "ticket", "one", "two"].map(|name| locked(&home, name));
    for with_ticket in [false, true] {
        for places in [&[][..], &[&one], &[&one, &two], &[&two, &one]] {
            let ticket = with_ticket.then_some(&ticket);
            let handed = handed(&pairs(&[("A", b"b")]), &lock, ticket, places);
            assert_eq!(inode(&handed.lock), inode(&lock));
            assert_eq!(handed.ticket.map(inode), ticket.map(inode));
            let arrived: Vec<u64> = handed.places.iter().map(inode).collect();
            let sent: Vec<u64> = places.iter().map(inode).collect();
            assert_eq!(arrived, sent);
        }
    }
}

#[test]
fn a_lock_that_was_handed_over_is_held_by_the_receiver() {
    let home = Home::new();
    let (lock, place) = (locked(&home, "lock"), locked(&home, "place"));
    let handed = handed(&[], &lock, None, &[&place]);
    drop((lock, place));
    assert!(is_locked(&home, "lock"));
    assert!(is_locked(&home, "place"));
    drop(handed);
    assert!(!is_locked(&home, "lock"));
    assert!(!is_locked(&home, "place"));
}

#[test]
fn what_arrives_is_closed_by_exec() {
    let home = Home::new();
    let (lock, place) = (locked(&home, "lock"), locked(&home, "place"));
    let handed = handed(&[], &lock, None, &[&place]);
    for descriptor in [&handed.lock, &handed.places[0]] {
        let info = format!("/proc/self/fdinfo/{}", descriptor.as_raw_fd());
        let info = fs::read_to_string(info).unwrap();
        let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
        let flags = u32::from_str_radix(flags.unwrap().trim(), 8).unwrap();
        assert_ne!(flags & 0o2_000_000, 0, "{flags:o} has no O_CLOEXEC");
    }
}

fn header(magic: [u8; 8], size: u64, descriptors: u32, has_ticket: u32) -> Vec<u8> {
    let mut header = magic.to_vec();
    header.extend(size.to_le_bytes());
    header.extend(descriptors.to_le_bytes());
    header.extend(has_ticket.to_le_bytes());
    header.extend(0_u64.to_le_bytes());
    assert_eq!(header.len(), HEADER_BYTES);
    header
}

/// Sends `bytes` with `count` descriptors and closes; returns what the receiver says.
fn receive_raw(home: &Home, bytes: &[u8], count: usize) -> io::Result<Handed> {
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let file = locked(home, "lock");
    let copies: Vec<BorrowedFd<'_>> = vec![file.as_fd(); count];
    let sent = socket::send(&ours, bytes, &copies).unwrap();
    ours.write_all(&bytes[sent..]).unwrap();
    ours.shutdown(Shutdown::Write).unwrap();
    let received = receive(&theirs);
    drop(file);
    // A message that is refused must not keep what came with it.
    assert_eq!(is_locked(home, "lock"), received.is_ok());
    received
}

fn refusal(home: &Home, bytes: &[u8], count: usize) -> io::ErrorKind {
    receive_raw(home, bytes, count)
        .err()
        .expect("it is refused")
        .kind()
}

#[test]
fn a_message_of_another_form_is_refused() {
    let home = Home::new();
    let most = 2 * limits::ENVIRONMENT_BYTES_MAX as u64;
    for (what, header, count) in [
        ("another magic", header(*b"outlast2", 0, 1, 0), 1),
        ("no magic", header([0; 8], 0, 1, 0), 1),
        ("a size over the limit", header(MAGIC, most + 1, 1, 0), 1),
        ("a size of all ones", header(MAGIC, u64::MAX, 1, 0), 1),
        ("no descriptor", header(MAGIC, 0, 0, 0), 0),
        ("fewer descriptors than said", header(MAGIC, 0, 3, 0), 2),
        ("more descriptors than said", header(MAGIC, 0, 1, 0), 2),
        ("many more than said", header(MAGIC, 0, u32::MAX, 0), 8),
        ("a ticket that is not there", header(MAGIC, 0, 1, 1), 1),
    ] {
        let kind = refusal(&home, &header, count);
        assert_eq!(kind, io::ErrorKind::InvalidData, "{what}");
    }
}

#[test]
fn a_message_that_is_cut_is_refused() {
    let home = Home::new();
    let whole = [header(MAGIC, 4, 1, 0), b"A=b\0".to_vec()].concat();
    for cut in 1..whole.len() {
        let kind = refusal(&home, &whole[..cut], 1);
        assert_eq!(kind, io::ErrorKind::UnexpectedEof, "cut at {cut}");
    }
    assert_eq!(receive_raw(&home, &whole, 1).unwrap().environment, b"A=b\0");
}

#[test]
fn a_sender_that_says_nothing_is_refused() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(ours);
    let kind = receive(&theirs).err().unwrap().kind();
    assert_eq!(kind, io::ErrorKind::UnexpectedEof);
}

#[test]
fn a_header_may_come_in_pieces() {
    let home = Home::new();
    let lock = locked(&home, "lock");
    let whole = [header(MAGIC, 4, 1, 0), b"A=b\0".to_vec()].concat();
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    // The receiver reads the first piece before the second is sent: it is all there is.
    let first = socket::send(&ours, &whole[..5], &[lock.as_fd()]).unwrap();
    let handed = thread::scope(|scope| {
        let receiver = scope.spawn(|| receive(&theirs).unwrap());
        for byte in &whole[first..] {
            ours.write_all(&[*byte]).unwrap();
        }
        receiver.join().unwrap()
    });
    assert_eq!(handed.environment, b"A=b\0");
}

#[test]
fn as_many_descriptors_as_one_message_carries_arrive() {
    let home = Home::new();
    let handed = receive_raw(&home, &header(MAGIC, 0, 8, 1), 8).unwrap();
    assert!(handed.ticket.is_some());
    assert_eq!(handed.places.len(), 6);
    let numbers: Vec<OwnedFd> = handed.places;
    assert!(
        numbers
            .iter()
            .all(|place| inode(place) == inode(&handed.lock))
    );
}

#[test]
fn a_variable_is_found_by_its_whole_name() {
    let environment = b"PATHS=no\0PATH=/bin\0PATH=/late\0EMPTY=\0BYTES=\xff\0=\0";
    for (name, value) in [
        ("PATH", Some(&b"/bin"[..])),
        ("PATHS", Some(b"no")),
        ("EMPTY", Some(b"")),
        ("BYTES", Some(b"\xff")),
        ("PAT", None),
        ("/bin", None),
    ] {
        let found = variable(environment, name).map(OsStr::as_bytes);
        assert_eq!(found, value, "{name}");
    }
    assert_eq!(variable(b"", "PATH"), None);
}

#[test]
fn an_answer_to_a_launcher_that_is_gone_does_no_harm() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    drop(theirs);
    answer(&ours, &Answer::ok());
}

#[test]
fn a_program_that_does_not_let_supervisors_pass_cannot_launch_one() {
    let home = Home::new();
    let refused = Supervisor::start(&RunId::from_bits([0; 10]), &home.work(), &[]);
    assert!(matches!(refused, Err(LaunchError::NotInitialised)));
}
