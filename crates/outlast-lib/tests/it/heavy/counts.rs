//! What the counts cost a host that asks for them with each frame.

use crate::background::{Host, open};
use crate::home::Place;
use libtest_mimic::Trial;
use outlast_lib::{Limits, Request};
use std::io::Write;
use std::time::{Duration, Instant};

pub(crate) fn register(trials: &mut Vec<Trial>) {
    trials!(trials: counts_are_cheap_enough_for_every_frame);
}

/// Frames over which the cost is taken.
const FRAMES: u32 = 10_000;

/// A frame of a screen at 60 a second.
const FRAME: Duration = Duration::from_millis(16);

/// Counts cost no more than a hundredth of a frame, with eight runs that execute and a thousand
/// that ended.
fn counts_are_cheap_enough_for_every_frame() {
    for ended in [100, 1_000] {
        let host = filled(ended);
        let first = Instant::now();
        let counts = host.background.counts().expect("it can be read");
        let first = first.elapsed();
        assert_eq!((counts.running, counts.total), (8, ended + 8));
        let begun = Instant::now();
        for _ in 0..FRAMES {
            host.background.counts().expect("it can be read");
        }
        let each = begun.elapsed() / FRAMES;
        let opened = Instant::now();
        let again = open(&host.place, "s", |_| {});
        let opened = opened.elapsed();
        let drained = Instant::now();
        again.drain_finished().expect("it can be read");
        let drained = drained.elapsed();
        let block = Instant::now();
        again.prompt_block().expect("it can be read");
        let block = block.elapsed();
        writeln!(
            std::io::stderr(),
            "{ended} ended and 8 live runs: counts {each:?}, the first {first:?}; \
             new {opened:?}, drain {drained:?}, block {block:?}"
        )
        .ok();
        assert!(each < FRAME / 100, "{each:?}");
    }
}

fn filled(ended: u64) -> Host {
    let mut limits = Limits::default();
    limits.session_runs_max = 64;
    let host = Host::with(Place::with(limits), |_| {});
    let request = Request {
        session: Some("s".to_owned()),
        ..host.place.direct(&["true"])
    };
    let mut begun = Vec::new();
    for _ in 0..ended {
        begun.push(host.place.begin(&request));
        if begun.len() >= 32 {
            for id in begun.drain(..) {
                host.ended(&id);
            }
        }
    }
    for id in begun {
        host.ended(&id);
    }
    for _ in 0..8 {
        host.run("exec sleep 600");
    }
    host
}
