//! How the order of a call comes from a supervisor to the keeper: by a file in memory.

use super::in_memory;
use outlast_journal::policy::CallOrder;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

/// Returns a file in memory with everything in it.
pub(super) fn hand_down(
    order: &CallOrder,
    environment: &[u8],
    stdin: &[u8],
) -> io::Result<OwnedFd> {
    let mut line = serde_json::to_vec(order).map_err(io::Error::other)?;
    line.push(b'\n');
    in_memory(&[&line, environment, stdin])
}

/// Reads such a file: the order, the environment, and what is its stdin.
pub(super) fn take(file: OwnedFd) -> io::Result<(CallOrder, Vec<u8>, Option<OwnedFd>)> {
    let mut bytes = Vec::new();
    File::from(file).read_to_end(&mut bytes)?;
    let end = bytes.iter().position(|byte| *byte == b'\n');
    let end = end.ok_or(io::ErrorKind::UnexpectedEof)?;
    let order: CallOrder = serde_json::from_slice(&bytes[..end]).map_err(io::Error::other)?;
    let mut environment = bytes.split_off(end + 1);
    let at = order.environment_bytes.min(environment.len());
    let stdin = environment.split_off(at);
    let stdin = order.has_stdin.then(|| in_memory(&[&stdin])).transpose()?;
    Ok((order, environment, stdin))
}
