//! Finds the run that somebody means: by its id, the beginning of it, or its label.

use crate::index::{self, Index, Trouble};
use crate::list::{self, Glimpse, Looked};
use crate::{ReadError, Store, read};
use outlast_journal::{RunId, error::Advice, limits::FIND_CANDIDATES_MAX};

impl Store {
    /// Returns the run that `typed` means.
    ///
    /// A whole id means its run. Else `typed` is the beginning of one id, or the label of one
    /// run of `project` (of any project when that is `None`); among runs of the same label,
    /// one that has not ended is meant before all that have.
    ///
    /// # Errors
    ///
    /// Fails when it means no run, or several: also one by its id and another by its label.
    pub fn find(&self, typed: &str, project: Option<&str>) -> Result<RunId, FindError> {
        let typed = typed.trim();
        let prefix = RunId::normalise_prefix(typed);
        let whole = prefix.as_deref().and_then(|text| RunId::parse(text).ok());
        if let Some(id) = whole.filter(|id| self.run_dir(id).is_some()) {
            return Ok(id);
        }
        let candidates = self.candidates(&Wanted {
            prefix: prefix.as_deref(),
            label: typed,
            project,
        })?;
        let meant = choose(candidates);
        match meant.as_slice() {
            [id] => Ok(*id),
            [] => Err(FindError::NotFound {
                typed: typed.to_owned(),
            }),
            several => Err(FindError::Ambiguous {
                typed: typed.to_owned(),
                candidates: several.iter().map(|id| (*id, self.label_of(id))).collect(),
            }),
        }
    }

    fn candidates(&self, wanted: &Wanted<'_>) -> Result<Candidates, ReadError> {
        let indexed = index::with_index(self, &mut Vec::new(), |index| {
            from_index(self, index, wanted)
        });
        match indexed {
            Some(candidates) => Ok(candidates),
            None => self.candidates_in_directories(wanted),
        }
    }

    fn candidates_in_directories(&self, wanted: &Wanted<'_>) -> Result<Candidates, ReadError> {
        let mut found = Candidates::default();
        for (id, dir) in self.run_dirs()? {
            if wanted.is_prefix_of(&id) {
                found.by_prefix.push(id);
            }
            // Most specs have another label; only the others are worth a look at the journal.
            if read::read_spec(&dir, &id).is_ok_and(|spec| spec.label == wanted.label)
                && let Looked::Ended(record) | Looked::Live(record, _) = list::look(self, &dir, &id)
            {
                found.take_label(&Glimpse::new(&dir, record, 0), wanted);
            }
        }
        Ok(found)
    }

    fn label_of(&self, id: &RunId) -> String {
        self.spec(id).map(|spec| spec.label).unwrap_or_default()
    }
}

/// What is looked for.
struct Wanted<'a> {
    prefix: Option<&'a str>,
    label: &'a str,
    project: Option<&'a str>,
}

impl Wanted<'_> {
    fn is_prefix_of(&self, id: &RunId) -> bool {
        self.prefix
            .is_some_and(|prefix| id.as_str().starts_with(prefix))
    }
}

/// The runs that may be meant.
#[derive(Default)]
struct Candidates {
    by_prefix: Vec<RunId>,
    live: Vec<RunId>,
    ended: Vec<RunId>,
}

impl Candidates {
    fn take_label(&mut self, run: &Glimpse, wanted: &Wanted<'_>) {
        let is_of_project = wanted.project.is_none_or(|project| project == run.project);
        if run.label != wanted.label || !is_of_project {
            return;
        }
        if run.status.is_ended() {
            self.ended.push(run.id);
        } else {
            self.live.push(run.id);
        }
    }
}

/// Returns the runs that are meant: one, none, or those among which nothing decides.
fn choose(candidates: Candidates) -> Vec<RunId> {
    let Candidates {
        by_prefix,
        live,
        ended,
    } = candidates;
    let by_label = if live.is_empty() { ended } else { live };
    let mut meant = match (by_prefix.len(), by_label.len()) {
        (_, 0) => by_prefix,
        // A label that many ids begin with by chance is still a label.
        (0, _) | (2.., 1) => by_label,
        // What is cancelled by a wrong guess cannot be had back.
        (_, _) => by_prefix.into_iter().chain(by_label).collect(),
    };
    meant.sort_unstable();
    meant.dedup();
    meant.truncate(FIND_CANDIDATES_MAX);
    meant
}

fn from_index(
    store: &Store,
    index: &mut Index,
    wanted: &Wanted<'_>,
) -> Result<Candidates, Trouble> {
    let fresh = index.sync(store)?;
    let mut found = Candidates::default();
    if let Some(prefix) = wanted.prefix {
        found.by_prefix = index.with_prefix(prefix, FIND_CANDIDATES_MAX)?;
    }
    found.ended = index.with_label(wanted.label, wanted.project, FIND_CANDIDATES_MAX)?;
    for run in &fresh.runs {
        if wanted.is_prefix_of(&run.id) {
            found.by_prefix.push(run.id);
        }
        found.take_label(run, wanted);
    }
    for ids in [&mut found.by_prefix, &mut found.ended] {
        ids.sort_unstable();
        ids.dedup();
        ids.retain(|id| store.run_dir(id).is_some());
    }
    Ok(found)
}

/// Why no run can be told from what was typed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FindError {
    /// It means none.
    #[error("there is no run `{typed}`")]
    NotFound {
        /// What was typed.
        typed: String,
    },
    /// It means several.
    #[error("`{typed}` means {} runs", candidates.len())]
    Ambiguous {
        /// What was typed.
        typed: String,
        /// The runs and their labels, at most `FIND_CANDIDATES_MAX`.
        candidates: Vec<(RunId, String)>,
    },
    /// The store cannot be read.
    #[error("the runs cannot be looked through")]
    Read {
        /// Why.
        #[from]
        source: ReadError,
    },
}

impl Advice for FindError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotFound { .. } => "no_such_run",
            Self::Ambiguous { .. } => "ambiguous_run",
            Self::Read { source } => source.code(),
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotFound { .. } => {
                "give an id, the beginning of one, or a label; the list of runs has them".to_owned()
            }
            Self::Ambiguous { candidates, .. } => {
                let ids: Vec<String> = candidates
                    .iter()
                    .map(|(id, label)| format!("{id} ({label})"))
                    .collect();
                format!("give the id of one of {}", ids.join(", "))
            }
            Self::Read { source } => source.hint(),
        }
    }
}

#[cfg(test)]
mod tests;
