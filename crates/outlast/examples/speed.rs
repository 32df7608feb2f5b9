//! Measures the library as a program that embeds it sees it; `scripts/bench` calls it.
//!
//! One measurement a call: `speed WHAT STORE COUNT [STAMP]`. It prints one JSON
//! object of times in milliseconds. STAMP is the program of `scripts/bench.c`. This
//! is also the shape of a program that embeds Outlast: `init_supervisor` comes first.

use outlast_lib::{
    CommandLine, Limits, ListQuery, OutputFrom, OutputQuery, Request, RunId, Store, WaitQuery,
};
use outlast_supervisor::fsio;
use rustix::time::{ClockId, clock_gettime};
use serde_json::{Value, json};
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Ended runs that `list` makes its store from: a file may have 65,000 names.
const TEMPLATES: usize = 4;
/// Characters of an id.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

fn main() -> ExitCode {
    if let Some(code) = outlast_lib::init_supervisor() {
        return code;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = measure(&words).and_then(|figures| Ok(writeln!(io::stdout(), "{figures}")?));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            writeln!(io::stderr(), "error: {error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn measure(words: &[String]) -> Result<Value> {
    let [what, home, count, rest @ ..] = words else {
        return Err("usage: speed WHAT STORE COUNT [STAMP]".into());
    };
    let (home, count) = (Path::new(home), count.parse()?);
    let bench = Bench {
        store: Store::open(home, Limits::default())?,
        stamp: rest.first().cloned().unwrap_or_default(),
        stamped: home.with_extension("stamp"),
    };
    match what.as_str() {
        "start" => bench.start(count),
        "churn" => bench.churn(count),
        "wake" => bench.wake(count),
        "wait" => bench.wait_cpu(),
        "log" => bench.log(count),
        "list" => bench.list(count),
        other => Err(format!("nothing is called `{other}`").into()),
    }
}

struct Bench {
    store: Store,
    stamp: String,
    stamped: PathBuf,
}

impl Bench {
    fn run(&self, words: &[&str]) -> Result<RunId> {
        self.run_keeping(words, None)
    }

    fn run_keeping(&self, words: &[&str], output_bytes_max: Option<u64>) -> Result<RunId> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let begun = self.store.start(&Request {
            environment: std::env::vars_os().collect(),
            output_bytes_max,
            ..Request::new(CommandLine::Direct(words), "/")
        })?;
        Ok(begun.id)
    }

    fn end_of(&self, id: RunId) -> Result<()> {
        self.store.wait(&[id], &WaitQuery::default())?;
        Ok(())
    }

    /// Runs the stamp program and returns its id.
    fn run_stamp(&self) -> Result<RunId> {
        let file = self.stamped.to_string_lossy();
        self.run(&[&self.stamp, "stamp", &file])
    }

    /// Returns the times that the stamp program has written since the last call.
    fn stamps_ns(&self) -> Result<Vec<u64>> {
        let text = fs::read_to_string(&self.stamped)?;
        fs::remove_file(&self.stamped)?;
        Ok(text
            .lines()
            .map(str::parse)
            .collect::<std::result::Result<_, _>>()?)
    }

    /// How long a start takes to answer, and until the command runs, beside the floor: a
    /// fork, exec and wait by the same means as a shell's.
    fn start(&self, count: usize) -> Result<Value> {
        let (mut floor, mut ack, mut exec) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..count {
            let begun = Instant::now();
            Command::new("/bin/true").status()?;
            floor.push(ms(begun.elapsed()));
            let (begun_ns, begun) = (now_ns(), Instant::now());
            let id = self.run_stamp()?;
            ack.push(ms(begun.elapsed()));
            self.end_of(id)?;
            let stamp = *self
                .stamps_ns()?
                .first()
                .ok_or("the command wrote no stamp")?;
            exec.push(ms_between(begun_ns, stamp));
        }
        Ok(json!({"floor": floor, "ack": ack, "exec": exec}))
    }

    /// Runs that do nothing, eight at a time, each waited for once.
    fn churn(&self, count: usize) -> Result<Value> {
        let begun = Instant::now();
        for number in (0..count).step_by(8) {
            let live: Result<Vec<RunId>> = (number..count.min(number + 8))
                .map(|_| self.run(&["/bin/true"]))
                .collect();
            self.store.wait(&live?, &WaitQuery::default())?;
        }
        Ok(json!({"seconds": begun.elapsed().as_secs_f64()}))
    }

    /// How long after its last act a command's waiter goes on.
    fn wake(&self, count: usize) -> Result<Value> {
        let mut late = Vec::new();
        for _ in 0..count {
            let text = format!(
                "sleep 0.05; exec {} stamp {}",
                self.stamp,
                self.stamped.display()
            );
            let id = self.run(&["/bin/sh", "-c", &text])?;
            self.end_of(id)?;
            let woken = now_ns();
            let stamp = *self
                .stamps_ns()?
                .first()
                .ok_or("the command wrote no stamp")?;
            late.push(ms_between(stamp, woken));
        }
        Ok(json!({"wake": late}))
    }

    /// What two seconds of waiting cost the waiter.
    fn wait_cpu(&self) -> Result<Value> {
        let id = self.run(&["sleep", "2"])?;
        let before = clock_ns(ClockId::ProcessCPUTime);
        self.end_of(id)?;
        let after = clock_ns(ClockId::ProcessCPUTime);
        Ok(json!({"cpu": ms_between(before, after)}))
    }

    /// Reads of a log of `count` MiB: its last 200 lines, and a page at its start, middle and end.
    fn log(&self, count: usize) -> Result<Value> {
        let bytes = u64::try_from(count)? << 20;
        let text = format!("yes {} | head -c {bytes}", "0123456789".repeat(7));
        let id = self.run_keeping(&["/bin/sh", "-c", &text], Some(2 * bytes))?;
        self.end_of(id)?;
        let mut figures = json!({});
        let newest = OutputQuery {
            bytes_max: 64 << 10,
            lines: Some(200),
            ..OutputQuery::default()
        };
        figures["last_200_lines"] = self.reads(id, &newest)?;
        for (name, at) in [
            ("page_first", 0),
            ("page_middle", bytes / 2),
            ("page_last", bytes - 16_384),
        ] {
            let page = OutputQuery {
                from: OutputFrom::Byte(at),
                ..OutputQuery::default()
            };
            figures[name] = self.reads(id, &page)?;
        }
        Ok(figures)
    }

    fn reads(&self, id: RunId, query: &OutputQuery) -> Result<Value> {
        let mut times = Vec::new();
        for _ in 0..20 {
            let begun = Instant::now();
            let page = self.store.output(&id, query)?;
            times.push(ms(begun.elapsed()));
            if page.text.is_empty() {
                return Err("a page of the log is empty".into());
            }
        }
        Ok(json!(times))
    }

    /// Lists of the newest 50 of `count` runs.
    fn list(&self, count: usize) -> Result<Value> {
        self.fill(count)?;
        let begun = Instant::now();
        self.store.reindex()?;
        let reindex_s = begun.elapsed().as_secs_f64();
        let query = ListQuery {
            limit: 50,
            ..ListQuery::default()
        };
        let mut times = Vec::new();
        for _ in 0..21 {
            let begun = Instant::now();
            let listing = self.store.list(&query)?;
            times.push(ms(begun.elapsed()));
            if listing.records.len() != 50 || !listing.damaged.is_empty() {
                return Err("the list is not what was asked for".into());
            }
        }
        // The first one also finds the folders changed.
        let first = times.remove(0);
        Ok(json!({"list": times, "first": first, "reindex_s": reindex_s}))
    }

    /// Makes `count` ended runs: copies of real ones under other ids.
    fn fill(&self, count: usize) -> Result<()> {
        let mut templates = Vec::new();
        for _ in 0..TEMPLATES {
            let id = self.run(&["/bin/echo", "done"])?;
            self.end_of(id)?;
            templates.push(id);
        }
        let month = fs::read_dir(self.store.root().join("runs"))?
            .next()
            .ok_or("there is no month")??
            .path();
        for number in TEMPLATES..count {
            let template = templates[number % TEMPLATES];
            let (from, id) = (month.join(template.as_str()), id_of(number));
            let to = month.join(&id);
            fsio::make_private_dir(&to)?;
            let spec = fs::read_to_string(from.join("spec.json"))?;
            let spec = spec.replace(template.as_str(), &id);
            fsio::write_new(&to.join("spec.json"), spec.as_bytes())?;
            for file in ["journal.jsonl", "output.log", "lock"] {
                fs::hard_link(from.join(file), to.join(file))?;
            }
        }
        Ok(())
    }
}

/// Returns an id that no real run has by chance.
fn id_of(number: usize) -> String {
    let digits = (0..16).rev().map(|place| {
        let digit = number.checked_shr(5 * place).unwrap_or(0) % ALPHABET.len();
        char::from(ALPHABET[digit])
    });
    digits.collect()
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn now_ns() -> u64 {
    clock_ns(ClockId::Monotonic)
}

fn clock_ns(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or(0)
}

/// Returns the milliseconds between two times, 0 when they are in the wrong order.
fn ms_between(from_ns: u64, to_ns: u64) -> f64 {
    ms(Duration::from_nanos(to_ns.saturating_sub(from_ns)))
}
