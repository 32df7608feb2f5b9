//! Words for what a run may touch.

use super::ValueError;
use clap::ValueEnum;
use outlast_lib::Network;

/// How far a run is contained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SandboxWord {
    /// It reads the project and writes nowhere
    Read,
    /// It writes the project and nothing else
    Edit,
    /// Nothing contains it
    Host,
}

/// What a run may do with the history of its project.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GitWord {
    /// It reads
    Read,
    /// It commits
    Commit,
    /// It does anything
    Write,
}

/// Reads `none`, `full` or `allow:HOST,HOST`.
///
/// # Errors
///
/// Fails on any other word, and on `allow:` without a host.
pub(crate) fn network(text: &str) -> Result<Network, ValueError> {
    let wrong = || ValueError::Network {
        text: text.to_owned(),
    };
    match text {
        "none" => Ok(Network::None),
        "full" => Ok(Network::Full),
        _ => {
            let hosts = text.strip_prefix("allow:").ok_or_else(wrong)?;
            let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
            if hosts.iter().any(|host| host.trim().is_empty()) {
                return Err(wrong());
            }
            Ok(Network::Allow(hosts))
        }
    }
}

/// Returns thousandths, one at least.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a cast from a float saturates"
)]
pub(crate) fn milli(number: f64) -> u64 {
    ((number * 1_000.0).round() as u64).max(1)
}

#[cfg(test)]
mod tests;
