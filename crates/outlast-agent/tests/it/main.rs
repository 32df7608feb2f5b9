//! A model is asked over real HTTP: what it is sent, what comes back, and what happens when
//! it fails.

#![expect(clippy::tests_outside_test_module, reason = "all of it is tests")]

mod choosing;
mod faults;
mod real;
mod secure;
mod talk;
mod turns;
