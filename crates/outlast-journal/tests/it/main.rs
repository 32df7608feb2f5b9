//! Promises of the format: what was ever written can be read, and no bytes
//! bring a reader down.

#![cfg(test)]

mod fixtures;
mod fuzz;
