//! What is sent to a run arrives whole and in order, and who sends learns how much was taken.

use crate::home::{LIMIT, Place};
use libtest_mimic::{Failed, Trial};
use outlast_lib::{Advice, Request, RunId, SendError, Status, Stdin};
use outlast_testkit::eventually;

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials:
        what_is_sent_arrives_and_the_end_closes_it,
        a_megabyte_arrives_whole,
        a_run_without_a_pipe_takes_nothing,
        a_run_that_does_not_read_takes_what_the_pipe_holds,
        a_closed_stdin_and_an_ended_run_are_told_apart,
        an_open_pipe_does_not_hold_up_the_end,
    );
}

fn piped(place: &Place, text: &str) -> RunId {
    let request = Request {
        stdin: Stdin::Pipe,
        ..place.shell(text)
    };
    place.begin(&request)
}

fn what_is_sent_arrives_and_the_end_closes_it() -> Result<(), Failed> {
    let place = Place::new();
    let id = piped(
        &place,
        "while read -r line; do echo \"got $line\"; done; echo end",
    );
    assert_eq!(place.store.send(&id, b"one\n", false)?, 4);
    eventually("it is read", LIMIT, || place.output(&id) == "got one\n");
    assert_eq!(place.store.send(&id, b"two\nthree\n", true)?, 10);
    assert_eq!(place.ended(&id).status, Status::Completed);
    assert_eq!(place.output(&id), "got one\ngot two\ngot three\nend\n");
    place.is_sound();
    Ok(())
}

fn a_megabyte_arrives_whole() -> Result<(), Failed> {
    let place = Place::new();
    let id = piped(&place, "exec cksum");
    let text: Vec<u8> = (0..1_u32 << 20)
        .map(|at| at.wrapping_mul(2_654_435_761).to_be_bytes()[0])
        .collect();
    assert_eq!(place.store.send(&id, &text, true)?, text.len());
    place.ended(&id);
    let direct = piped(&place, "cat > sent; cksum < sent");
    place.store.send(&direct, &text, true)?;
    place.ended(&direct);
    assert_eq!(place.output(&id), place.output(&direct));
    assert_eq!(std::fs::read(place.home.path().join("sent"))?, text);
    Ok(())
}

fn a_run_without_a_pipe_takes_nothing() {
    let place = Place::new();
    let id = place.start("exec sleep 600");
    let error = place.store.send(&id, b"x", false).expect_err("it has none");
    assert_eq!(error.code(), "no_stdin");
    let read = place.ended(&place.start("cat; readlink /proc/self/fd/0"));
    assert_eq!(place.output(&read.id), "/dev/null\n");
}

fn a_run_that_does_not_read_takes_what_the_pipe_holds() -> Result<(), Failed> {
    let place = Place::new();
    let id = piped(&place, "exec sleep 600");
    let error = place
        .store
        .send(&id, vec![b'x'; 100_000].as_slice(), false)
        .expect_err("nobody reads");
    let SendError::NotRead { accepted, .. } = error else {
        return Err(format!("{error:?}").into());
    };
    assert_eq!(accepted, 65_536, "a pipe's worth");
    // The supervisor was held up by none of this.
    place.cancel_now(&id);
    assert_eq!(place.record(&id).status, Status::Cancelled);
    Ok(())
}

fn a_closed_stdin_and_an_ended_run_are_told_apart() {
    let place = Place::new();
    let id = piped(&place, "exec 0</dev/null; echo closed; exec sleep 600");
    eventually("it has closed it", LIMIT, || {
        place.output(&id) == "closed\n"
    });
    let error = place
        .store
        .send(&id, b"x", false)
        .expect_err("it is closed");
    assert_eq!(error.code(), "stdin_closed");
    place.cancel_now(&id);
    let error = place
        .store
        .send(&id, b"x", false)
        .expect_err("it has ended");
    assert_eq!(error.code(), "run_ended");
}

fn an_open_pipe_does_not_hold_up_the_end() -> Result<(), Failed> {
    let place = Place::new();
    let id = piped(&place, "read -r line; exit 4");
    place
        .store
        .send(&id, b"go\nand more that nobody reads\n", false)?;
    assert_eq!(place.ended(&id).exit_code, Some(4));
    place.is_deserted();
    place.is_sound();
    Ok(())
}
