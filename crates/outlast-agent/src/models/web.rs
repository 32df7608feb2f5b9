//! The HTTP client that models are asked with.

use outlast_journal::limits;
use reqwest::{Client, Url, redirect::Policy};
use std::time::Duration;

/// Returns a client for requests to `base_url`, or to vendors where there is none.
///
/// It verifies with the system's certificates, which it reads only where there may be TLS.
/// It honours the proxy of the environment, but not for this machine, and follows no
/// redirect: a key must not be sent elsewhere.
///
/// # Errors
/// Fails when the certificates of the system cannot be read.
pub(super) fn client(base_url: Option<&str>) -> Result<Client, reqwest::Error> {
    // Another part of the process may have installed one; any does.
    rustls::crypto::ring::default_provider()
        .install_default()
        .ok();
    let mut builder = Client::builder()
        .redirect(Policy::none())
        .connect_timeout(Duration::from_millis(limits::MODEL_CONNECT_MS))
        .tcp_nodelay(true)
        .user_agent(concat!("outlast/", env!("CARGO_PKG_VERSION")));
    if base_url.is_some_and(|url| url.starts_with("http:")) {
        builder = builder.tls_certs_only([]);
    }
    if base_url.is_some_and(is_local) {
        builder = builder.no_proxy();
    }
    builder.build()
}

/// Returns whether an address names this machine.
pub(super) fn is_local(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost"
        || host
            .parse::<std::net::IpAddr>()
            .is_ok_and(|address| address.is_loopback() || address.is_unspecified())
}
