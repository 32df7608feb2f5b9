//! `outlast logs`: the output of a run, as text or as it came.

use crate::{
    cli::LogsArguments,
    document::Output,
    failure::{Failure, Stop, exit},
    screen::talk,
    surface::{Surface, failed, find, read_failure, tell_of_ends},
};
use outlast_lib::{
    Followed, OutputError, OutputFrom, OutputPage, OutputQuery, Record, RunId, Store, limits,
};
use std::io::ErrorKind;

/// Text of one page in bytes: bounds memory, whatever the log has.
const PAGE_BYTES: usize = 1 << 20;

/// Prints the output of a run.
pub(crate) fn logs(surface: &mut Surface, arguments: &LogsArguments) -> Result<u8, Stop> {
    let store = surface.open()?;
    let id = find(&store, &arguments.id)?;
    // Looked at before the output: that of a run that had ended by then is whole. What cannot
    // be looked at may still have output to show.
    let mut record = store.record(&id).ok();
    let log = Log {
        store: &store,
        id,
        sub_agent: record.clone().filter(|record| is_sub_agent(&store, record)),
        arguments,
        follows: arguments.follow
            && !record
                .as_ref()
                .is_some_and(|record| record.status.is_ended()),
    };
    match (arguments.raw, arguments.json) {
        (true, _) => log.raw(surface)?,
        (false, true) => log.document(surface)?,
        (false, false) => log.text(surface)?,
    }
    if log.follows {
        record = store.record(&id).ok();
    }
    tell_of_ends(&store, record.as_slice());
    Ok(exit::FINE)
}

/// Returns whether a run is an agent run of our own below another, whose log is its final
/// message.
fn is_sub_agent(store: &Store, record: &Record) -> bool {
    let spec = store.spec(&record.id);
    spec.is_ok_and(|spec| spec.agent.is_some() && spec.agents_above > 0)
}

struct Log<'a> {
    store: &'a Store,
    id: RunId,
    sub_agent: Option<Record>,
    arguments: &'a LogsArguments,
    /// Whether it goes on until the run ends: an ended run has no more to say.
    follows: bool,
}

impl Log<'_> {
    fn raw(&self, surface: &mut Surface) -> Result<(), Stop> {
        let from = self.arguments.since_byte.unwrap_or(0);
        if self.follows {
            return self.follow(from, |buffer| Ok(surface.screen.print_bytes(buffer)?));
        }
        let out = surface.screen.writer();
        self.store
            .raw_output(&self.id, from, None, out)
            .map_err(|error| output_stop(&error))?;
        Ok(out.flush()?)
    }

    fn document(&self, surface: &mut Surface) -> Result<(), Stop> {
        let page = self.page(&self.first(limits::OUTPUT_ANSWER_BYTES))?;
        surface.screen.print_json(&Output::of(self.id, &page))?;
        Ok(())
    }

    fn text(&self, surface: &mut Surface) -> Result<(), Stop> {
        if self.sub_agent.is_some() && !self.follows {
            let page = self.page(&self.first(limits::WORKER_LINE_BYTES_MAX))?;
            return Ok(surface.screen.print(&page.text)?);
        }
        let mut at = match self.arguments.lines {
            Some(_) => self.newest(surface)?,
            None => self.onward(surface, self.arguments.since_byte.unwrap_or(0))?,
        };
        if self.follows {
            // What comes is only the sign to look: text is made from whole characters and
            // lines, and has its secrets masked.
            let start = at;
            self.follow(start, |_| {
                at = self.onward(surface, at)?;
                Ok(())
            })?;
            self.onward(surface, at)?;
        }
        Ok(())
    }

    /// Prints the newest lines and returns where to go on.
    fn newest(&self, surface: &mut Surface) -> Result<u64, Stop> {
        let page = self.page(&self.first(PAGE_BYTES))?;
        surface.screen.print(&page.text)?;
        if page.truncated && self.arguments.grep.is_some() && !page.scanned_to_end {
            talk("note: older output was not looked through");
        }
        Ok(page.next_byte)
    }

    /// Prints what there is from `at` on and returns where to go on.
    fn onward(&self, surface: &mut Surface, at: u64) -> Result<u64, Stop> {
        let pages = Pages {
            grep: self.arguments.grep.clone(),
            context: self.arguments.context,
            ..Pages::from_byte(self.store, self.id, at)
        };
        let mut at = at;
        for page in pages {
            let page = page?;
            surface.screen.print(&page.text)?;
            at = page.next_byte;
        }
        Ok(at)
    }

    /// Calls `each` for each piece of output from `from` on, until the run ends.
    fn follow(
        &self,
        from: u64,
        mut each: impl FnMut(&[u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let follow = self.store.follow_raw(&self.id, from);
        let mut follow = follow.map_err(|error| read_failure(&error))?;
        let mut buffer = Vec::new();
        loop {
            match follow
                .next(&mut buffer, None)
                .map_err(|error| failed(&error))?
            {
                Followed::Output { .. } => each(&buffer)?,
                Followed::Ended | Followed::Interrupted => return Ok(()),
            }
        }
    }

    fn first(&self, bytes_max: usize) -> OutputQuery {
        OutputQuery {
            from: match self.arguments.since_byte {
                Some(byte) => OutputFrom::Byte(byte),
                None => OutputFrom::Newest,
            },
            bytes_max,
            lines: self.arguments.lines,
            grep: self.arguments.grep.clone(),
            context: self.arguments.context,
        }
    }

    fn page(&self, query: &OutputQuery) -> Result<OutputPage, Stop> {
        let page = match &self.sub_agent {
            Some(record) => self.store.log(record, query),
            None => self.store.output(&self.id, query),
        };
        page.map_err(|error| output_stop(&error))
    }
}

/// Pages of text from a byte on, up to what is written when the first one is read.
///
/// So they end, also where the run writes faster than they are read.
pub(crate) struct Pages<'a> {
    store: &'a Store,
    id: RunId,
    at: u64,
    grep: Option<String>,
    context: usize,
    until: Option<u64>,
    is_over: bool,
}

impl<'a> Pages<'a> {
    /// Returns the pages from the byte `at` on.
    pub(crate) fn from_byte(store: &'a Store, id: RunId, at: u64) -> Self {
        Self {
            store,
            id,
            at,
            grep: None,
            context: 0,
            until: None,
            is_over: false,
        }
    }
}

impl Iterator for Pages<'_> {
    type Item = Result<OutputPage, Stop>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let page = self.store.output(
            &self.id,
            &OutputQuery {
                from: OutputFrom::Byte(self.at),
                bytes_max: PAGE_BYTES,
                lines: None,
                grep: self.grep.clone(),
                context: self.context,
            },
        );
        match page {
            Ok(page) => {
                let until = *self.until.get_or_insert(page.total_bytes);
                let is_stuck = page.next_byte <= self.at;
                self.is_over = page.scanned_to_end || is_stuck || page.next_byte >= until;
                self.at = page.next_byte;
                Some(Ok(page))
            }
            Err(error) => {
                self.is_over = true;
                Some(Err(output_stop(&error)))
            }
        }
    }
}

/// Returns why output could not be printed; a reader that went away is no failure.
fn output_stop(error: &OutputError) -> Stop {
    let exit = match error {
        OutputError::Sink(source) if source.kind() == ErrorKind::BrokenPipe => {
            return Stop::PipeClosed;
        }
        OutputError::NotFound { .. } => exit::NO_RUN,
        OutputError::BadPattern { .. } => exit::USAGE,
        OutputError::ZeroBytes
        | OutputError::Spec(_)
        | OutputError::Key(_)
        | OutputError::Unreadable(_)
        | OutputError::Sink(_)
        | _ => exit::ERROR,
    };
    Failure::new(error, exit).into()
}
