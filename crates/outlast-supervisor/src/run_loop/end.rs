//! The end of a run: what the main process wrote is in the log first, then the journal says how
//! it was, once.

use super::RunLoop;
use crate::lifecycle::Outcome;
use crate::tree::Tree;
use crate::{clock, fault, platform, summary};
use outlast_journal::control::HINT_ENDED;
use outlast_journal::{End, Fact, limits};
use std::io;

impl RunLoop {
    /// Writes the end: what the main process wrote is in the log first, exactly.
    pub(super) fn end(&mut self, outcome: &Outcome) -> io::Result<()> {
        self.drain();
        self.output.trim_all();
        let now = clock::monotonic_ms();
        let tree = Tree::look(&self.runs_dir, &self.ours());
        self.leftovers_seen = 0;
        let (leftovers, leftovers_more) = tree.leftovers(summary::masker(&self.owned).as_ref());
        let unkillable = if outcome.is_given_up {
            let alive = tree.processes.iter().map(|process| process.pid);
            alive.take(limits::LEFTOVERS_NAMED_MAX).collect()
        } else {
            Vec::new()
        };
        let verdict = self.conclusion().filter(|_| outcome.is_concluded).cloned();
        let elapsed_ms = now.saturating_sub(self.started_ms);
        // How its worker's process ended says nothing of an agent run.
        let main = outcome.main.as_ref().filter(|_| self.head.is_none());
        let mut end = End {
            exit_code: main.and_then(|main| main.exit_code),
            signal: main.and_then(|main| main.signal.clone()),
            output_bytes: self.output.bytes(),
            output_lost_bytes: self.output.lost_bytes(),
            last_output_at: self.output.last_output_at(),
            elapsed_ms: Some(elapsed_ms),
            usage: self.usage_told(),
            failure: self.loss_of(outcome),
            leftovers,
            leftovers_more,
            runs_inside: tree.runs(),
            unkillable,
            appeared: self.appeared(),
            ..End::new(
                outcome.status,
                outcome.ended_by,
                self.summary(outcome, elapsed_ms),
            )
        };
        if let Some(verdict) = verdict {
            end.status = verdict.status;
            end.ended_by = verdict.ended_by;
            end.failure = verdict.failure;
        }
        fault::point("before_end");
        self.owned.journal.append(&Fact::Ended(Box::new(end)))?;
        fault::point("end_written");
        self.owned.places.clear();
        self.timers.idle = None;
        self.owned.connections.hint(HINT_ENDED, false);
        fault::point("told");
        Ok(())
    }

    /// Reads what is in the pipe at this instant, and not what is written from now on.
    pub(super) fn drain(&mut self) {
        let Some(pipe) = &self.pipe else { return };
        let mut left = platform::file::bytes_readable(pipe).unwrap_or(0);
        while left > 0 {
            match self.output.take(pipe, left) {
                Ok(taken) if taken > 0 => left -= taken,
                Ok(_) | Err(_) => return,
            }
        }
    }
}
