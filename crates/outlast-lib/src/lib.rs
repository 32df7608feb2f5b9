//! Background runs that outlast their host: start, poll, wait, output, cancel, list.
//!
//! Everything is a verb of [`Store`]. The library prints nothing, reads no
//! environment and never exits the process; what it does not know it says as
//! absent. How a run is carried out is the supervisor's business, which this
//! crate only launches.

/// The guide's code, compiled with the documentation's examples.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/guide/embedding.md")]
struct Guide;

mod answer;
pub mod background;
mod cancel;
mod containers;
mod events;
mod find;
mod follow;
mod hear;
mod index;
mod list;
mod matcher;
mod notes;
mod notices;
mod output;
mod poll;
mod read;
mod reindex;
mod retention;
mod send;
mod settle;
mod start;
mod store;
mod subscribe;
mod sweep;
#[cfg(test)]
mod testing;
mod trajectory;
mod wait;

pub use events::EventPage;
pub use find::FindError;
pub use list::{Counts, Damage, ListQuery, Listing};
pub use notes::{Note, NoteError, Noted};
pub use notices::NoticeScope;
pub use outlast_journal::NeedsApproval;
pub use outlast_journal::agent::document::Document;
pub use outlast_journal::{
    CommandLine, Containment, Delegated, Event, Gap, Git, Guarantee, Kind, LeftoverRecord,
    Leftovers, Lifetime, LimitBound, Limits, Network, Origin, OutputRecord, Posture, ProcessRef,
    Record, Request, RequestError, RunId, Seq, Shell, ShortRecord, Spec, Status, Stdin, StopCause,
    Survives, Tier, Timestamp, error::Advice, limits, shortest_unique,
};
pub use poll::{PollQuery, Polled};
pub use read::ReadError;
pub use reindex::Reindexed;
pub use retention::{GcError, GcQuery, GcReport, RemoveError};
pub use store::{Access, OpenError, Store, network_name};

pub use answer::AnswerError;
pub use cancel::{CancelError, CancelQuery, Cancelled};
pub use follow::{Follow, Followed};
pub use hear::{HearQuery, Heard};
pub use outlast_supervisor::launch::note_worker;
pub use outlast_supervisor::{clock, init_supervisor, worker_channel};
pub use output::{LineMatch, OutputError, OutputFrom, OutputPage, OutputQuery};
pub use send::SendError;
pub use start::{Begun, ContainError, StartError, project, surroundings};
pub use wait::{Matched, WaitError, WaitQuery, Waited};
