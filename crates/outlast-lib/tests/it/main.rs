//! Promises of the library over real processes: this program is its own supervisor.
//!
//! One file per promise. Each registers its trials here, since a program that
//! supervises itself must own its `main`.

mod home;
mod life;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = outlast_lib::init_supervisor() {
        return code;
    }
    let mut trials: Vec<Trial> = Vec::new();
    life::register(&mut trials);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}
