//! Finds a container engine: the first of the places named that answers.

use super::refusal::{Refusal, words};
use bollard::{API_DEFAULT_VERSION, Docker};
use outlast_journal::limits;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;
use tokio::time::timeout;

const ANSWER: Duration = Duration::from_millis(limits::ENGINE_ANSWER_MS);

/// An engine that answers.
pub(crate) struct Found {
    pub(super) docker: Docker,
    /// Path of its socket.
    pub(crate) socket: String,
    /// `docker` or `podman`: also the name of its program.
    pub(crate) program: &'static str,
    /// Its version, if it says so.
    pub(crate) version: String,
    /// Whether it runs without root's rights.
    pub(super) is_rootless: bool,
}

/// Returns the first engine that answers at one of these places.
///
/// # Errors
///
/// Fails with what was tried.
pub(super) async fn connect(places: &[String]) -> Result<Found, Refusal> {
    let mut tried = Vec::new();
    for place in places {
        // The whole of it: an engine may begin an answer and say no more.
        match timeout(ANSWER, try_one(place)).await {
            Ok(Ok(found)) => return Ok(found),
            Ok(Err(why)) => tried.push(why),
            Err(_) => tried.push(format!("{place}: it does not answer")),
        }
    }
    Err(Refusal::engine(
        format!("no container engine answers ({})", tried.join("; ")),
        "start docker or podman, or name its socket: DOCKER_HOST=unix:///path",
    ))
}

async fn try_one(place: &str) -> Result<Found, String> {
    let path = place.strip_prefix("unix://").unwrap_or(place);
    if !path.starts_with('/') {
        return Err(format!(
            "DOCKER_HOST is `{place}`, and only unix sockets are used"
        ));
    }
    if !Path::new(path).exists() {
        return Err(format!("there is no {path}"));
    }
    let answer_s = limits::ENGINE_ANSWER_MS / 1_000;
    let said = |error: &bollard::errors::Error| format!("{path}: {}", words(error));
    let docker = Docker::connect_with_unix(path, answer_s, API_DEFAULT_VERSION);
    let docker = docker.map_err(|error| said(&error))?;
    docker.ping().await.map_err(|error| said(&error))?;
    let docker = docker.negotiate_version().await;
    let docker = docker.map_err(|error| said(&error))?;
    let version = docker.version().await.map_err(|error| said(&error))?;
    let parts = version.components.unwrap_or_default();
    let is_podman = parts.iter().any(|part| part.name.contains("Podman"));
    let info = docker.info().await.map_err(|error| said(&error))?;
    let options = info.security_options.unwrap_or_default();
    // Podman says so where nobody looks; its socket belongs to who started it.
    let is_of_user = fs::metadata(path).is_ok_and(|meta| meta.uid() != 0);
    Ok(Found {
        docker,
        socket: path.to_owned(),
        program: if is_podman { "podman" } else { "docker" },
        version: version.version.unwrap_or_default(),
        is_rootless: is_of_user || options.iter().any(|option| option.contains("rootless")),
    })
}

/// Looks for an engine at these places, for a person.
///
/// # Errors
///
/// Fails with what was tried, and what to do.
pub(crate) fn look(places: &[String]) -> Result<Found, (String, String)> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| (error.to_string(), "try again".to_owned()))?;
    runtime
        .block_on(connect(places))
        .map_err(|refusal| match refusal {
            Refusal::Step { told, hint, .. } => (told, hint),
            Refusal::Exec(failure) => (failure.message, String::new()),
        })
}
