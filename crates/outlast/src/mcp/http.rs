//! The desk behind HTTP, as `serve` and its JSON API use it.

use super::{
    desk::Desk,
    wire::{Caller, Http},
};
use crate::{
    config::Config,
    failure::{Failure, exit},
    sandbox::Asked,
    surroundings::Surroundings,
};
use http_body_util::{Full, combinators::BoxBody};
use hyper::{Request, Response, body::Bytes};
use outlast_lib::{Request as StartRequest, Store};
use std::{convert::Infallible, path::PathBuf, sync::Arc};
use tokio_util::sync::CancellationToken;

/// Where requests of MCP are answered.
pub(crate) struct Endpoint {
    http: Http<Desk>,
    desk: Arc<Desk>,
}

impl Endpoint {
    /// Makes the endpoint for these names of the server and origins of pages.
    ///
    /// Streams and waits end once `stop` is cancelled.
    ///
    /// # Errors
    ///
    /// Fails when there is no directory to stand in.
    pub(crate) fn new(
        surroundings: &Surroundings,
        session: Option<String>,
        names: (&[String], &[String]),
        stop: CancellationToken,
    ) -> Result<Self, Failure> {
        let desk = Desk::shared(surroundings, session)
            .map_err(|error| Failure::new(&error, exit::ERROR))?;
        let desk = Arc::new(desk);
        let http = Http::new(Arc::clone(&desk), names, stop);
        Ok(Self { http, desk })
    }

    /// Answers a request. The answer may be a stream.
    pub(crate) async fn answer(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Response<BoxBody<Bytes, Infallible>> {
        self.http.answer(request).await
    }

    /// Opens the store as it is now.
    ///
    /// # Errors
    ///
    /// Fails as the configuration and `Store::open` do.
    pub(crate) fn open(&self) -> Result<Store, Failure> {
        self.desk.open()
    }

    /// Opens the store as it is now, and brings the configuration by which it was opened.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::open`] does.
    pub(crate) fn open_with_config(&self) -> Result<(Store, Config), Failure> {
        self.desk.open_with_config()
    }

    /// Has a request keep the rules of the user and of the projects, and binds what is to
    /// contain it. Returns a notice where a rule made its time limit shorter.
    ///
    /// # Errors
    ///
    /// Fails when a rule forbids the request, when it asks for more than it may have, and when
    /// the file of a project cannot be used.
    pub(crate) fn bind(
        &self,
        config: &Config,
        request: &mut StartRequest,
        asked: Asked,
    ) -> Result<Option<String>, Failure> {
        self.desk.bind(config, &Caller::default(), request, asked)
    }

    /// Returns the project's root.
    pub(crate) fn project(&self) -> String {
        self.desk.project(&Caller::default())
    }

    /// Returns the directory to run in.
    pub(crate) fn cwd(&self, asked: Option<&str>) -> PathBuf {
        self.desk.cwd(&Caller::default(), asked)
    }

    /// Counts a run that was started beside the tools.
    pub(crate) fn note_start(&self) {
        self.desk.note_start();
    }

    /// Returns how many runs were started.
    pub(crate) fn starts(&self) -> u64 {
        self.desk.starts()
    }

    /// Returns how many calls of tools wait now.
    pub(crate) fn waiting(&self) -> usize {
        self.http.waiting()
    }
}
