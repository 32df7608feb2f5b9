//! A wait ends with the condition, or says what was waited for.

use std::{panic::catch_unwind, time::Duration};

use super::{eventually, eventually_some};

#[test]
fn a_wait_looks_until_the_value_is_there() {
    let mut looks = 0;
    let found = eventually_some("three looks", Duration::from_secs(10), || {
        looks += 1;
        (looks == 3).then_some(looks)
    });
    assert_eq!(found, 3);
}

#[test]
fn a_wait_without_time_still_looks_once() {
    eventually("true at once", Duration::ZERO, || true);
}

#[test]
fn a_wait_that_ends_in_vain_says_what_for() {
    let caught = catch_unwind(|| eventually("the moon", Duration::from_millis(5), || false));
    let words = caught.unwrap_err();
    let words = words.downcast_ref::<String>().unwrap();
    assert_eq!(words, "not within 5ms: the moon");
}
