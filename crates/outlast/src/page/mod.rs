//! Pages for people: a record in, text out.

pub(crate) mod events;
pub(crate) mod list;
pub(crate) mod run;
