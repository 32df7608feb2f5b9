//! A store for one trial, and requests in it.

use outlast_lib::{CommandLine, Limits, Request, RunId, Store};
use outlast_testkit::Home;

/// A store that is gone, with every process of its runs, when the trial ends.
pub(crate) struct Place {
    pub(crate) home: Home,
    pub(crate) store: Store,
}

impl Place {
    /// Returns an empty store with the default limits.
    pub(crate) fn new() -> Self {
        Self::with(Limits::default())
    }

    /// Returns an empty store.
    pub(crate) fn with(limits: Limits) -> Self {
        let home = Home::new();
        let store = Store::open(&home.store(), limits).expect("an empty store opens");
        Self { home, store }
    }

    /// Returns a request for a shell text in the home.
    pub(crate) fn shell(&self, text: &str) -> Request {
        let command = CommandLine::Shell {
            text: text.to_owned(),
            login: false,
            pipefail: false,
        };
        Request {
            environment: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into())],
            grace_ms: Some(1_000),
            ..Request::new(command, self.home.path())
        }
    }

    /// Starts a shell text.
    pub(crate) fn start(&self, text: &str) -> RunId {
        self.store
            .start(&self.shell(text))
            .expect("the run starts")
            .id
    }
}
