//! Promises of the library over real processes: this program is its own supervisor.
//!
//! One file per promise. Each registers its trials here, since a program that
//! supervises itself must own its `main`; it is its own worker, too. The words after `__start` and `__list`
//! make it a caller of its own, so that a trial can have one killed.

/// Adds a trial for each function, named after its module and itself.
macro_rules! trials {
    ($trials:ident: $($name:ident),+ $(,)?) => {
        $($trials.push(libtest_mimic::Trial::ignorable_test(
            crate::trial_name(module_path!(), stringify!($name)),
            || crate::Verdict::given($name()),
        ));)+
    };
}

mod agents;
mod background;
mod bounds;
mod caller;
mod calls;
mod capacity;
mod heavy;
mod home;
mod inherit;
mod keys;
mod kill_matrix;
mod kill_random;
mod kill_worker;
mod leftovers;
mod life;
mod nested;
mod queue;
mod reading_list;
mod stdin;
mod stop;
mod survives;
mod versions;
mod worker;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(code) = outlast_lib::init_supervisor() {
        return code;
    }
    if let Some(code) = worker::work() {
        return code;
    }
    if let Some(code) = caller::call().or_else(background::call) {
        return code;
    }
    let mut trials: Vec<Trial> = Vec::new();
    agents::register(&mut trials);
    background::register(&mut trials);
    bounds::register(&mut trials);
    calls::register(&mut trials);
    capacity::register(&mut trials);
    heavy::register(&mut trials);
    inherit::register(&mut trials);
    keys::register(&mut trials);
    kill_matrix::register(&mut trials);
    kill_random::register(&mut trials);
    kill_worker::register(&mut trials);
    leftovers::register(&mut trials);
    life::register(&mut trials);
    nested::register(&mut trials);
    queue::register(&mut trials);
    reading_list::register(&mut trials);
    stdin::register(&mut trials);
    stop::register(&mut trials);
    survives::register(&mut trials);
    versions::register(&mut trials);
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial_name(module: &str, function: &str) -> String {
    let module = module.strip_prefix("it::").unwrap_or(module);
    format!("{module}::{function}")
}

/// What a trial may return: nothing, an error, or why it did not run.
pub(crate) trait Verdict {
    /// Returns what the harness makes of it.
    fn given(self) -> Result<Completion, Failed>;
}

impl Verdict for () {
    fn given(self) -> Result<Completion, Failed> {
        Ok(Completion::Completed)
    }
}

impl Verdict for Completion {
    fn given(self) -> Result<Completion, Failed> {
        Ok(self)
    }
}

impl Verdict for Result<(), Failed> {
    fn given(self) -> Result<Completion, Failed> {
        self.map(|()| Completion::Completed)
    }
}

impl Verdict for Result<Completion, Failed> {
    fn given(self) -> Result<Completion, Failed> {
        self
    }
}
