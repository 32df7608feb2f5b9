//! Pages for people: a record in, text out.

mod agent;
pub(crate) mod events;
pub(crate) mod list;
pub(crate) mod run;
