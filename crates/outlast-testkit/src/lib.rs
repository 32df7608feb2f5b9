//! What the tests of every crate share: a hermetic home, the program run in
//! it, waits on a condition, a look at the processes of the machine, and a
//! model that plays a script.
//!
//! Linux only, like the tests that use it. It checks nothing of its own; the
//! checks of the tree stand in `tests/tidy`.

mod eventually;
mod home;
pub mod invariants;
pub mod model;
mod processes;
mod program;

pub use eventually::{eventually, eventually_some};
pub use home::Home;
pub use processes::processes_with;
pub use program::{Output, Program, capture};
