//! The command line of Outlast.
//!
//! A supervisor is this same program: `init_supervisor` is asked before
//! anything else, so that one allocates next to nothing. Then words become a
//! verb, the verb does its work, and what went wrong is told once, here.

mod agents;
mod cli;
mod completions;
mod config;
mod doctor;
mod document;
mod engine;
mod failure;
mod interrupt;
mod look;
mod mcp;
mod page;
mod policy;
#[cfg(test)]
mod sample;
mod sandbox;
mod screen;
mod serve;
mod surface;
mod surroundings;
mod usage;
mod values;
mod verbs;
mod verdict;
mod words;

use clap::error::ErrorKind;
use cli::Cli;
use failure::{Failure, Stop, exit};
use outlast_lib::Limits;
use screen::talk;
use std::{env, ffi::OsString, process::ExitCode};
use surface::Surface;
use surroundings::Surroundings;

fn main() -> ExitCode {
    if let Some(code) = engine::answer() {
        return code;
    }
    if let Some(code) = outlast_lib::init_supervisor() {
        return code;
    }
    if let Some(code) = outlast_agent::answer(worker_limits) {
        return code;
    }
    if completions::answer() {
        return ExitCode::from(exit::FINE);
    }
    let words: Vec<OsString> = env::args_os().collect();
    let mut surface = Surface::new(Surroundings::read());
    let code = match Cli::read(&words) {
        Ok(cli) => {
            let wants_json = cli.verb.wants_json();
            let outcome = verbs::act(&mut surface, cli.verb);
            outcome.unwrap_or_else(|stop| end(&mut surface, &stop, wants_json))
        }
        Err(error) => refuse(&mut surface, &error, &words),
    };
    ExitCode::from(code)
}

/// Returns the limits of what a worker starts. One whose file has become wrong has the usual ones.
fn worker_limits() -> Limits {
    let surface = Surface::new(Surroundings::read());
    let config = surface.config();
    config.map_or_else(|_| Limits::default(), |config| config.limits)
}

/// Prints help where it was asked for, and tells what is wrong with the words where not.
fn refuse(surface: &mut Surface, error: &clap::Error, words: &[OsString]) -> u8 {
    let is_asked = matches!(
        error.kind(),
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
    );
    if is_asked || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        // That nobody reads it any more is no error.
        error.print().ok();
        return if is_asked { exit::FINE } else { exit::USAGE };
    }
    let failure = usage::failure(error, words);
    tell(surface, &failure, usage::wants_json(words))
}

fn end(surface: &mut Surface, stop: &Stop, wants_json: bool) -> u8 {
    match stop {
        Stop::Failure(failure) => tell(surface, failure, wants_json),
        Stop::PipeClosed => exit::FINE,
    }
}

fn tell(surface: &mut Surface, failure: &Failure, wants_json: bool) -> u8 {
    if wants_json {
        // Where even this cannot be written, the exit code is all there is.
        surface.screen.print_json(&failure.document()).ok();
    } else {
        talk(failure.to_string().trim_end());
    }
    failure.exit()
}
