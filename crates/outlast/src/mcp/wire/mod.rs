//! The protocol: all that is `rmcp` or async stands here.
//!
//! What is served stands behind `Offer`. Nothing here names a run, a store or
//! a tool, so that other tools can be put on the same wire.

mod offer;
mod server;
mod stdio;
mod tasks;

pub(crate) use offer::{
    Call, Caller, INTERNAL_ERROR, Listener, Offer, Reply, RequestError, Task, result,
};
pub(crate) use stdio::serve;
