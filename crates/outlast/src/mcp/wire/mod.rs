//! The protocol: all that is `rmcp` or async stands here.
//!
//! What is served stands behind `Offer`. Nothing here names a run, a store or
//! a tool, so that other tools can be put on the same wire.

mod frames;
mod http;
mod judge;
mod misfit;
mod offer;
mod progress;
mod resources;
mod roots;
mod server;
mod skim;
mod stdio;
mod tasks;
mod watches;

pub(crate) use http::Http;
pub(crate) use offer::{
    Call, Caller, Content, INTERNAL_ERROR, Listener, Mark, Offer, Reply, RequestError, Resource,
    Task, result,
};
pub(crate) use stdio::serve;
