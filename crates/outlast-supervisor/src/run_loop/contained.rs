//! The run loop of a contained run: process 1 of its namespace reaps, and says what it saw.

use super::RunLoop;
use crate::platform::process::Reaped;
use outlast_journal::policy::Report;
use outlast_journal::{MainExit, Usage};
use std::os::fd::BorrowedFd;

impl RunLoop {
    /// What is ready when process 1 of a contained run has something to say.
    pub(super) fn reports(&self) -> Option<BorrowedFd<'_>> {
        let contained = self.contained.as_ref()?;
        (!contained.reports.is_over()).then(|| contained.reports.descriptor())
    }

    /// Hears from process 1 of a contained run how its main process ended.
    pub(super) fn hear_reports(&mut self) -> Option<MainExit> {
        let contained = self.contained.as_mut()?;
        while let Some(report) = contained.reports.now() {
            if let Report::Exited {
                status,
                cpu_ms,
                rss_bytes,
            } = report
            {
                self.usage = Usage {
                    cpu_ms,
                    peak_rss_bytes: rss_bytes,
                };
                return self.take_main_exit(status);
            }
        }
        None
    }

    /// Takes the end of process 1, with which everything in its namespace has ended.
    ///
    /// What it did not live to report was killed with it, by the kernel.
    pub(super) fn take_end_of_init(&mut self, reaped: Reaped) -> Option<MainExit> {
        let heard = self.hear_reports();
        self.usage.cpu_ms = self.usage.cpu_ms.max(reaped.cpu_ms);
        self.usage.peak_rss_bytes = self.usage.peak_rss_bytes.max(reaped.rss_bytes);
        heard.or_else(|| self.take_main_exit(libc::SIGKILL))
    }

    /// Process 1 of a contained run: ours, and none of the run's own.
    pub(super) fn init(&self) -> Option<i32> {
        self.contained.as_ref().map(|contained| contained.init)
    }
}
