//! The worker of an agent run: it loops model and tools, and its supervisor keeps the truth.
//!
//! The worker is the head: it has the model's key and the network. What the model asks to
//! have done is a call, which the supervisor runs, contained and once.

pub mod message;
pub mod models;
