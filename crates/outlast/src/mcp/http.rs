//! The desk behind HTTP, as `serve` and its JSON API use it.

use super::{
    desk::Desk,
    wire::{Caller, Http},
};
use crate::{
    failure::{Failure, exit},
    policy::Policy,
    sandbox::Sandbox,
    surroundings::Surroundings,
};
use http_body_util::{Full, combinators::BoxBody};
use hyper::{Request, Response, body::Bytes};
use outlast_lib::Store;
use std::{
    convert::Infallible,
    path::{Path, PathBuf},
    sync::Arc,
};
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

    /// Returns the rules for a start in `cwd`, with those of the server's project.
    ///
    /// # Errors
    ///
    /// Fails when the configuration or the file of a project cannot be used.
    pub(crate) fn policy(&self, cwd: &Path) -> Result<Policy, Failure> {
        let (_, rules) = self.desk.open_with_rules()?;
        let (here, there) = (self.project(), outlast_lib::project(cwd));
        let projects = [Path::new(&here), Path::new(&there)];
        let policy = Policy::of(rules.as_ref(), &projects);
        policy.map_err(|error| Failure::new(&error, exit::ERROR))
    }

    /// Returns the project's root.
    pub(crate) fn project(&self) -> String {
        self.desk.project(&Caller::default())
    }

    /// Returns the directory to run in.
    pub(crate) fn cwd(&self, asked: Option<&str>) -> PathBuf {
        self.desk.cwd(&Caller::default(), asked)
    }

    /// Returns what the configuration says of containment.
    ///
    /// # Errors
    ///
    /// Fails as the configuration does.
    pub(crate) fn sandbox(&self) -> Result<Sandbox, Failure> {
        self.desk.sandbox()
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
