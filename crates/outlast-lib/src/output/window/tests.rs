//! What is shown stands for raw bytes, and each place finds its way back.

use super::super::log::Log;
use super::super::tests::{ended, masker, no_secrets};
use super::Window;
use outlast_journal::Gap;
use std::cell::Cell;

const SECRET: &str = "hunter2redfoxy";
const MASK_BYTES: usize = "[outlast: API_KEY masked]".len();

#[test]
fn places_and_offsets_lead_to_each_other() {
    let text = format!("ab{SECRET}cd");
    let log = ended(text.as_bytes(), None);
    let masker = masker(&[SECRET]);
    let window = Window::load(&log, &masker, 0..18).unwrap();
    assert_eq!(window.len(), 4 + MASK_BYTES);
    let places = [
        (0, 0),
        (1, 1),
        (2, 2),
        (2 + MASK_BYTES, 16),
        (3 + MASK_BYTES, 17),
        (4 + MASK_BYTES, 18),
    ];
    for (place, raw) in places {
        assert_eq!((window.raw_at(place), window.position(raw)), (raw, place));
        assert_eq!((window.floor(place), window.ceil(place)), (place, place));
    }
    for inside in 3..2 + MASK_BYTES {
        assert_eq!(
            (window.floor(inside), window.ceil(inside)),
            (2, 2 + MASK_BYTES)
        );
    }
    assert_eq!(window.position(9), 2 + MASK_BYTES);
}

#[test]
fn a_window_takes_in_the_secret_at_its_end() {
    let text = format!("ab{SECRET}cd");
    let log = ended(text.as_bytes(), None);
    let masker = masker(&[SECRET]);
    for end in 3..=16 {
        let window = Window::load(&log, &masker, 0..end).unwrap();
        assert_eq!(window.text(0..window.len()), "ab[outlast: API_KEY masked]");
        assert_eq!(window.raw_at(window.len()), 16);
    }
    let window = Window::load(&log, &masker, 0..2).unwrap();
    assert_eq!(window.text(0..window.len()), "ab");
}

#[test]
fn the_gap_has_a_line_and_breaks_the_one_before_it() {
    let log = ended(b"abxxxxcd\n", Some(Gap { from: 2, to: 6 }));
    let masker = no_secrets();
    let window = Window::load(&log, &masker, 0..9).unwrap();
    let line = "[outlast: bytes 2–5 not kept]\n".len();
    assert_eq!(window.line_end(0), Some(3));
    assert_eq!(window.line_end(3), Some(3 + line));
    assert_eq!(window.line_start(3 + line), 3);
    assert!(window.is_gap_line(3) && !window.is_gap_line(0) && !window.is_gap_line(3 + line));
    assert_eq!(
        [window.raw_at(2), window.raw_at(3), window.raw_at(3 + line)],
        [2, 2, 6]
    );
    for raw in 2..6 {
        assert_eq!(window.position(raw), 3);
    }
    assert!(window.has_gap_line(&(0..4)) && !window.has_gap_line(&(0..3)));
}

#[test]
fn a_gap_that_grows_during_the_read_is_not_shown() {
    let looks = Cell::new(0);
    let file = super::super::tests::file(b"0123\0\0\0\0\0\0ab");
    let log = Log::with_gap(file, true, || {
        looks.set(looks.get() + 1);
        let to = if looks.get() == 1 { 6 } else { 10 };
        Some(Gap { from: 4, to })
    });
    let masker = no_secrets();
    let window = Window::load(&log, &masker, 0..12).unwrap();
    let text = window.bytes.as_slice();
    assert_eq!(text, "0123\n[outlast: bytes 4–9 not kept]\nab".as_bytes());
}

#[test]
fn a_redraw_is_the_last_that_shows_something() {
    let masker = no_secrets();
    let redraw = |bytes: &[u8]| {
        let log = ended(bytes, None);
        let window = Window::load(&log, &masker, 0..bytes.len() as u64).unwrap();
        window.redraw(0..window.len())
    };
    assert_eq!(redraw(b"10%\r20%\r30%"), Some(7));
    assert_eq!(redraw(b"10%\r20%\r"), Some(3));
    assert_eq!(redraw(b"10%\r\r\n"), None);
    assert_eq!(redraw(b""), None);
}
