//! `outlast serve`: the tools of `mcp`, a JSON API and metrics over HTTP.
//!
//! A request passes the gate (`gate`), is read whole (`body`) and goes by its
//! path (`routes`) to one function that answers. `listener` and `connection`
//! bound what a client can take. Nothing is kept between two requests but
//! counts: any server of the store answers for any run.

mod api;
mod app;
mod body;
mod connection;
mod gate;
mod listener;
mod metrics;
#[cfg(test)]
mod openapi;
mod query;
mod reply;
mod routes;
mod settings;
mod signals;
mod stream;
mod token;
mod work;

use crate::{
    cli::ServeArguments,
    failure::{Failure, Stop, exit},
    screen::talk,
    surface::{Surface, failed},
};
use app::App;
use gate::Gate;
use outlast_lib::limits;
use outlast_supervisor::files;
use settings::Settings;
use std::{io, sync::Arc, time::Duration};
use token::Token;
use tokio::{net::TcpListener, runtime::Builder};
use tokio_util::sync::CancellationToken;

/// Threads beside those of waits, so that a cancel never stands behind them.
const SHORT_CALLS_MAX: usize = 64;

/// Serves until TERM, INT or HUP. Takes no run along.
pub(crate) fn serve(surface: &mut Surface, arguments: ServeArguments) -> Result<u8, Stop> {
    let config = surface.config()?;
    let settings = Settings::of(&arguments, config.serve_port).map_err(|error| failed(&error))?;
    // The store is opened first: it is made where it is absent, and refused where it is unsafe.
    let store = surface.open()?;
    let (token, token_file) = match &arguments.token_file {
        Some(file) => (Token::read(file), file.clone()),
        None => (Token::of_store(store.root()), token::path(store.root())),
    };
    let token = token.map_err(|error| failed(&error))?;
    // Where that fails, connections wait to be accepted.
    files::raise(limits::HTTP_FILES_MAX);
    let runtime = Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(limits::HTTP_CONNECTIONS_MAX + limits::WATCHES_MAX + SHORT_CALLS_MAX)
        .build()
        .map_err(|error| cannot_listen(&settings, &error))?;
    let stop = CancellationToken::new();
    let outcome = runtime.block_on(async {
        let listener = TcpListener::bind(settings.address).await;
        let listener = listener.map_err(|error| cannot_listen(&settings, &error))?;
        let address = listener.local_addr();
        let address = address.map_err(|error| cannot_listen(&settings, &error))?;
        signals::cancel_on_signal(stop.clone())
            .map_err(|error| cannot_listen(&settings, &error))?;
        let gate = Gate::new(&settings, token);
        let app = App::new(&surface.surroundings, arguments.session, gate, stop.clone())?;
        if let Some(warning) = settings.warning() {
            talk(&format!("note: {warning}"));
        }
        talk(&format!("note: the token is in `{}`", token_file.display()));
        surface.screen.print(&format!("http://{address}\n"))?;
        listener::serve(listener, Arc::new(app), stop).await;
        Ok::<(), Stop>(())
    });
    // A start that is half done may finish; what waits is not waited for.
    runtime.shutdown_timeout(Duration::from_millis(limits::TOOL_LAST_CALLS_MS));
    outcome?;
    Ok(exit::FINE)
}

fn cannot_listen(settings: &Settings, error: &io::Error) -> Failure {
    let address = settings.address;
    Failure::plain(
        "cannot_listen",
        format!("cannot listen on `{address}`: {error}"),
        "end the server that uses it, or give another `--port`",
        exit::ERROR,
    )
}
