//! What the verbs do: arguments and a surface in, an exit code out.

mod act;
mod agent;
mod asks;
mod collect;
mod config;
mod events;
mod export;
mod logs;
mod man;
mod ps;
mod run;
mod show;
mod wait;

use crate::{cli::Verb, doctor, failure::Stop, mcp, serve, surface::Surface};

impl Verb {
    /// Returns whether what goes wrong is to be told as a document.
    pub(crate) fn wants_json(&self) -> bool {
        match self {
            Self::Run(arguments) => arguments.json,
            Self::Do(arguments) => arguments.watch.json,
            Self::Resume(arguments) => arguments.watch.json,
            Self::Asks(arguments) => arguments.json,
            Self::Approve(arguments) | Self::Deny(arguments) => arguments.json,
            Self::Ps(arguments) => arguments.json,
            Self::Show(arguments) => arguments.json,
            Self::Logs(arguments) => arguments.json,
            Self::Events(arguments) => arguments.jsonl,
            Self::Export(_) => true,
            Self::Wait(arguments) => arguments.json,
            Self::Cancel(arguments) => arguments.json,
            Self::Send(arguments) => arguments.json,
            Self::Rm(arguments) => arguments.json,
            Self::Gc(arguments) => arguments.json,
            Self::Reindex(arguments) | Self::Doctor(arguments) | Self::Config(arguments) => {
                arguments.json
            }
            Self::Mcp(_) | Self::Serve(_) | Self::Completions(_) | Self::Man(_) => false,
        }
    }
}

/// Does what `verb` says and returns the exit code.
///
/// # Errors
///
/// Ends early on a failure, and when nobody reads the output any more.
pub(crate) fn act(surface: &mut Surface, verb: Verb) -> Result<u8, Stop> {
    match verb {
        Verb::Run(arguments) if arguments.wait => {
            run::run(surface, *arguments).map_err(Stop::beside_a_run)
        }
        Verb::Run(arguments) => run::run(surface, *arguments),
        Verb::Do(arguments) => agent::act(surface, *arguments),
        Verb::Resume(arguments) => agent::resume(surface, &arguments),
        Verb::Asks(arguments) => asks::asks(surface, &arguments),
        Verb::Approve(arguments) => asks::answer(surface, &arguments, true),
        Verb::Deny(arguments) => asks::answer(surface, &arguments, false),
        Verb::Ps(arguments) => ps::ps(surface, arguments),
        Verb::Show(arguments) => show::show(surface, &arguments),
        Verb::Logs(arguments) => logs::logs(surface, &arguments),
        Verb::Events(arguments) => events::events(surface, &arguments),
        Verb::Export(arguments) => export::export(surface, &arguments),
        Verb::Wait(arguments) => wait::wait(surface, &arguments),
        Verb::Cancel(arguments) => act::cancel(surface, &arguments),
        Verb::Send(arguments) => act::send(surface, &arguments),
        Verb::Rm(arguments) => collect::rm(surface, &arguments),
        Verb::Gc(arguments) => collect::gc(surface, &arguments),
        Verb::Reindex(arguments) => collect::reindex(surface, &arguments),
        Verb::Mcp(arguments) => mcp::serve(&surface.surroundings, arguments),
        Verb::Serve(arguments) => serve::serve(surface, *arguments),
        Verb::Doctor(arguments) => doctor::doctor(surface, &arguments),
        Verb::Completions(arguments) => man::completions(surface, &arguments),
        Verb::Man(arguments) => man::man(surface, &arguments),
        Verb::Config(arguments) => config::config(surface, &arguments),
    }
}
