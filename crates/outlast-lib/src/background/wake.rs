//! The text that wakes a model when something it started has ended.

use super::ends::Finished;
use super::look::line;
use std::fmt::Write;

/// Returns the prompt for a turn that nobody but the host asks for; `None` without a reason.
///
/// Ends that are `restored` are no reason: they stand in the prompt block.
pub fn wake_prompt(finished: &[Finished]) -> Option<String> {
    let woken: Vec<&Finished> = finished.iter().filter(|one| !one.restored).collect();
    let (first, rest) = woken.split_first()?;
    let mut prompt = "[This message is automatic: it is not from the user.]\n".to_owned();
    if rest.is_empty() {
        prompt.push_str("A background task that you started has ended:\n");
    } else {
        let count = woken.len();
        writeln!(
            prompt,
            "{count} background tasks that you started have ended:"
        )
        .ok();
    }
    for one in &woken {
        writeln!(prompt, "{}", line(&one.run)).ok();
    }
    match rest {
        [] => write!(
            prompt,
            "Read its result with background_output with id `{}`, then go on with what you \
             wanted it for. If nothing is left to do, say in one sentence how it ended.",
            first.run.id
        ),
        _ => write!(
            prompt,
            "Read their results with background_output, one id at a time, then go on with what \
             you wanted them for. If nothing is left to do, say in one sentence how they ended."
        ),
    }
    .ok();
    Some(prompt)
}

#[cfg(test)]
mod tests;
