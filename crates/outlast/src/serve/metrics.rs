//! What can be counted, as Prometheus reads it.
//!
//! Numbers of runs come from the store; the rest is of this process alone.

use super::app::App;
use crate::failure::Failure;
use hyper::StatusCode;
use std::{
    fmt::Write,
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
};

/// Counts of one server.
#[derive(Debug, Default)]
pub(super) struct Meters {
    /// Connections that are open.
    pub(super) connections: Gauge,
    /// Connections for which there was no room.
    pub(super) refused: Counter,
    /// Requests of the API that wait.
    pub(super) waits: Gauge,
    /// Streams of events that are open.
    pub(super) streams: Gauge,
    /// Answers, by the first digit of their status less one.
    answers: [Counter; 5],
}

impl Meters {
    /// Counts an answer.
    pub(super) fn note_answer(&self, status: StatusCode) {
        let class = usize::from(status.as_u16() / 100).wrapping_sub(1);
        if let Some(counter) = self.answers.get(class) {
            counter.add();
        }
    }
}

/// A number that only grows.
#[derive(Debug, Default)]
pub(super) struct Counter(AtomicU64);

impl Counter {
    /// Counts one more.
    pub(super) fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// A number of what is open now.
#[derive(Debug, Default)]
pub(super) struct Gauge(AtomicI64);

impl Gauge {
    /// Counts one as open until what is returned is dropped.
    pub(super) fn open(&self) -> Open<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Open(self)
    }

    fn now(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// One that is counted as open.
#[derive(Debug)]
pub(super) struct Open<'a>(&'a Gauge);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Returns all that is counted.
///
/// # Errors
///
/// Fails when the runs cannot be counted.
pub(super) fn page(app: &App) -> Result<String, Failure> {
    let store = app.mcp.open()?;
    let counts = store.status_counts();
    let counts = counts.map_err(|error| crate::surface::read_failure(&error))?;
    let mut page = String::new();
    head(
        &mut page,
        "outlast_runs",
        "gauge",
        "Runs of the store by status.",
    );
    for (status, count) in counts {
        line(
            &mut page,
            "outlast_runs",
            &format!("{{status=\"{status}\"}}"),
            count,
        );
    }
    of_process(&mut page, app);
    let name = "outlast_http_responses_total";
    head(&mut page, name, "counter", "Answers by class of status.");
    for (class, counter) in (1..).zip(&app.meters.answers) {
        line(
            &mut page,
            name,
            &format!("{{class=\"{class}xx\"}}"),
            counter.now(),
        );
    }
    Ok(page)
}

fn of_process(page: &mut String, app: &App) {
    let meters = &app.meters;
    let waits = meters.waits.now() + i64::try_from(app.mcp.waiting()).unwrap_or(0);
    let gauges = [
        ("outlast_waits", "Requests that wait for runs.", waits),
        (
            "outlast_event_streams",
            "Streams of events that are open.",
            meters.streams.now(),
        ),
        (
            "outlast_http_connections",
            "Connections that are open.",
            meters.connections.now(),
        ),
    ];
    for (name, help, value) in gauges {
        head(page, name, "gauge", help);
        line(page, name, "", value);
    }
    let counters = [
        (
            "outlast_starts_total",
            "Runs started by this server.",
            app.mcp.starts(),
        ),
        (
            "outlast_http_connections_refused_total",
            "Connections for which there was no room.",
            meters.refused.now(),
        ),
    ];
    for (name, help, value) in counters {
        head(page, name, "counter", help);
        line(page, name, "", value);
    }
    let name = "outlast_build_info";
    let version = format!("{{version=\"{}\"}}", env!("CARGO_PKG_VERSION"));
    head(page, name, "gauge", "The program.");
    line(page, name, &version, 1);
}

fn head(page: &mut String, name: &str, kind: &str, help: &str) {
    writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}")
        .expect("a string takes everything");
}

fn line(page: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    writeln!(page, "{name}{labels} {value}").expect("a string takes everything");
}
