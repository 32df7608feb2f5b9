//! `outlast mcp`: the background tools on stdio, for any host that speaks MCP.
//!
//! `wire` alone knows the protocol and its crate. A call comes from there as a
//! tool with its arguments, and goes back as one JSON object; `offer` is where
//! the two meet. Nothing is kept between two calls: any process answers for
//! any run of the store.

mod act;
mod answer;
mod arguments;
mod assistant;
mod desk;
mod hints;
mod http;
mod keys;
mod offer;
mod read;
mod resources;
mod roots;
mod run;
mod task;
mod tools;
mod wait;
mod wire;

pub(crate) use arguments::{ArgumentError, Arguments, clamp};
pub(crate) use http::Endpoint;
pub(crate) use run::{REFUSED_ENV, containment, start_failure};

use crate::{
    cli::McpArguments,
    failure::{Failure, Stop, exit},
    surroundings::Surroundings,
};
use desk::Desk;
use outlast_lib::limits;
use std::{io, sync::Arc, time::Duration};
use tokio::runtime::Builder;

/// Threads beside those of waits, so that a cancel never stands behind them.
const SHORT_CALLS_MAX: usize = 64;

/// Serves until stdin ends or the parent is gone. Takes no run along.
pub(crate) fn serve(surroundings: &Surroundings, arguments: McpArguments) -> Result<u8, Stop> {
    let desk = Desk::new(surroundings, arguments.session)
        .map_err(|error| Failure::new(&error, exit::ERROR))?;
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::TOOL_WAITS_MAX + limits::WATCHES_MAX + SHORT_CALLS_MAX)
        .build()
        .map_err(|error| no_runtime(&error))?;
    let outcome = runtime.block_on(wire::serve(Arc::new(desk)));
    let outcome = outcome.map_err(|error| Failure::new(&error, exit::ERROR));
    // A start that is half done may finish; what waits is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(limits::TOOL_LAST_CALLS_MS));
    outcome?;
    Ok(exit::FINE)
}

fn no_runtime(error: &io::Error) -> Failure {
    Failure::plain(
        "no_runtime",
        format!("cannot listen: {error}"),
        "close some descriptors",
        exit::ERROR,
    )
}
