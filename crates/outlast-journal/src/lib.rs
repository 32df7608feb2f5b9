//! What a run is: its request, its spec, its journal and the state that the journal adds up to.
//!
//! Nothing here does I/O or reads a clock. The supervisor writes what this
//! crate defines, every reader folds it, and neither needs the other.

pub mod agent;
mod approval;
pub mod control;
pub mod error;
mod event;
mod gap;
mod id;
pub mod limits;
pub mod mask;
pub mod names;
mod peek;
pub mod policy;
mod posture;
mod record;
mod request;
mod signal;
mod spec;
mod state;
pub mod text;
mod time;
pub mod worker;

pub use approval::NeedsApproval;
pub use event::{
    Claimed, End, Fact, Failure, Leftover, Line, LineError, MainExit, Note, ProcessRef, Queued,
    Seq, Started, Stop, StopCause, Usage,
};
pub use gap::Gap;
pub use id::{IdError, RunId, shortest_unique};
pub use limits::Limits;
pub use peek::Peek;
pub use posture::{Containment, Git, Guarantee, LimitBound, Network, Posture, Surroundings, Tier};
pub use record::{
    Event, LeftoverRecord, Live, OutputRecord, RUN_SCHEMA, Record, ShortRecord, label,
};
pub use request::{Checked, CommandLine, Delegated, Request, RequestError};
pub use signal::{signal_name, signal_number};
pub use spec::{
    Kind, Leftovers, Lifetime, Origin, Pool, Queue, SecretMark, Shell, Spec, SpecError, Stdin,
    Survives,
};
pub use state::{OpenAsk, State, Status};
pub use time::{Timestamp, TimestampError};

/// The version that begins each line and document this crate writes.
pub const FORMAT_VERSION: u32 = 1;
