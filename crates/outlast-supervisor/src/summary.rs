//! The one line that lists show of an ended run.

use crate::lifecycle::Outcome;
use crate::output_log::OutputLog;
use crate::supervise::Owned;
use outlast_journal::mask::Masker;
use outlast_journal::{Kind, StopCause, limits, names, text};
use std::fs;

/// Bytes of output in which the line is looked for.
const PART_BYTES: usize = 4_096;

/// Returns the summary: a line of output for a run that ended by itself, else the cause.
pub(crate) fn of(outcome: &Outcome, output: &OutputLog, owned: &Owned, elapsed_ms: u64) -> String {
    let by = outcome.ended_by;
    if by == "self" || by == "unknown" {
        return telling_line(output, owned).unwrap_or_else(|| verdict(outcome));
    }
    if by == StopCause::Timeout.ended_by() {
        let ms = owned.spec.timeout_ms.unwrap_or(elapsed_ms);
        return format!("timed out after {}", seconds(ms));
    }
    if by == StopCause::Deadline.ended_by() {
        return "timed out: its deadline passed".to_owned();
    }
    if by == StopCause::MemoryLimit.ended_by() {
        let contained = owned.spec.containment.as_ref();
        let most = contained.and_then(|asked| asked.memory_bytes_max);
        let most = most.map(|bytes| format!(" of {} MiB", bytes >> 20));
        return format!(
            "out of memory: it used its limit{}",
            most.unwrap_or_default()
        );
    }
    match by {
        "cancel" => "cancelled".to_owned(),
        "idle" => "cancelled: nobody read it for its idle time".to_owned(),
        "session" => "cancelled: its session is gone".to_owned(),
        "host" => "cancelled: the host stopped it".to_owned(),
        other => format!("stopped: {other}"),
    }
}

fn verdict(outcome: &Outcome) -> String {
    let main = outcome.main.as_ref();
    match main.map(|main| (main.exit_code, main.signal.as_deref())) {
        Some((Some(0), _)) => "completed (exit 0)".to_owned(),
        Some((Some(code), _)) => format!("failed (exit {code})"),
        Some((None, Some(signal))) => format!("killed by SIG{signal}"),
        Some((None, None)) | None => "ended; exit code unknown".to_owned(),
    }
}

/// Returns the line of output that stands for all of it: the last, of an agent the first of its
/// final message, which is all that its program prints.
fn telling_line(output: &OutputLog, owned: &Owned) -> Option<String> {
    let is_agent = owned.spec.kind == Kind::Agent;
    let mut buffer = [0; PART_BYTES];
    let read = if is_agent {
        output.head(&mut buffer)
    } else {
        output.tail(&mut buffer)
    };
    let part = buffer.get(..read).unwrap_or_default();
    let line = if is_agent {
        text::first_line
    } else {
        text::last_line
    };
    if owned.spec.secrets.is_empty() {
        return line(part);
    }
    // A secret may lie on the edge of the part: a line there is not shown, be it that the
    // edge is the beginning of what was read, where the last line is looked for.
    let last_end = part.iter().rposition(|byte| *byte == b'\n');
    let whole = match last_end {
        _ if read < PART_BYTES => part,
        None => return None,
        Some(end) if is_agent => part.get(..end).unwrap_or_default(),
        Some(_) => part,
    };
    line(&masker(owned)?.mask(whole))
}

/// Returns what masks the run's secrets; without the store's key nothing could be, and nothing
/// is to be shown.
pub(crate) fn masker(owned: &Owned) -> Option<Masker> {
    if owned.spec.secrets.is_empty() {
        return Some(Masker::new(&[0; 32], &[]));
    }
    let store = owned.run_dir.ancestors().nth(3)?;
    let key = fs::read(store.join(names::STORE_KEY)).ok()?;
    Some(Masker::new(&key.try_into().ok()?, &owned.spec.secrets))
}

fn seconds(ms: u64) -> String {
    let text = format!("{}.{:03}", ms / 1_000, ms % 1_000);
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text::cut_chars(&format!("{text}s"), limits::SUMMARY_CHARS)
}
