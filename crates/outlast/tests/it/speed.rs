//! The cheap budgets of `docs/reference/performance.md`, as checks with room for noise.
//!
//! They need a release build, whose path `OUTLAST_RELEASE_BIN` names; `scripts/test` sets
//! it. Without one they say in a line that they did not run. Each compares with a floor
//! taken in the same moment, and allows twice its budget; memory needs no such room.

mod agent;

use outlast_testkit::{Home, Program, eventually, invariants::supervisors};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// How often a short measurement is taken.
const ROUNDS: usize = 31;

fn release(what: &str) -> Option<(Home, Program)> {
    let Some(binary) = std::env::var_os("OUTLAST_RELEASE_BIN") else {
        println!("{what}: did not run, since OUTLAST_RELEASE_BIN names no release build");
        return None;
    };
    be_first();
    let home = Home::new();
    let program = Program::new(binary, &home);
    Some((home, program))
}

/// Asks for the real-time class, which what is started here inherits: a start is several
/// processes in turn, and each would wait for its turn among whatever else runs.
fn be_first() {
    let thread = fs::read_link("/proc/thread-self").expect("there is a proc");
    let thread = thread.file_name().expect("it ends in a number").to_owned();
    let chrt = Command::new("chrt")
        .args(["-r", "-p", "10"])
        .arg(thread)
        .stderr(Stdio::null())
        .status();
    if !chrt.is_ok_and(|status| status.success()) {
        println!("measured in the ordinary class, since this may not ask for the real-time one");
    }
}

/// Returns the best time in milliseconds: what the machine does when nothing else wants it.
fn best(times: Vec<Duration>) -> f64 {
    let best = times.into_iter().min().expect("there are rounds");
    best.as_secs_f64() * 1e3
}

/// Runs a command and returns how long that took and what it printed.
fn timed(mut command: Command) -> (Duration, String) {
    let begun = Instant::now();
    let output = command.stderr(Stdio::null()).output().expect("it starts");
    let took = begun.elapsed();
    assert!(output.status.success(), "{command:?}");
    (took, String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Floor and subject in turn, so that both see the same machine; returns the best of both.
fn in_turn(
    mut floor: impl FnMut() -> Duration,
    mut subject: impl FnMut() -> Duration,
) -> (f64, f64) {
    let pairs: Vec<_> = (0..ROUNDS).map(|_| (floor(), subject())).collect();
    let (floor, subject) = pairs.into_iter().unzip();
    (best(floor), best(subject))
}

fn assert_ratio(what: &str, (floor, subject): (f64, f64), most: f64) {
    let ratio = subject / floor;
    println!("{what}: {subject:.2} ms, floor {floor:.2} ms, ratio {ratio:.2}");
    assert!(
        ratio <= most,
        "{what}: {ratio:.2} times the floor, {most} allowed"
    );
}

#[test]
fn a_start_is_answered_within_a_few_times_a_spawn() {
    let Some((_home, program)) = release("ack") else {
        return;
    };
    let store = Store::new();
    let times = in_turn(
        || timed(Command::new("/bin/true")).0,
        || {
            let took = timed(store.command(&program, &["--", "/bin/true"])).0;
            store.are_gone();
            took
        },
    );
    assert_ratio("ack by the command line", times, 8.0);
}

#[test]
fn a_command_is_executed_within_a_few_times_a_spawn() {
    let Some((home, program)) = release("exec") else {
        return;
    };
    let store = Store::new();
    // The command says when it runs, by the clock that is read here too.
    let clock = "date +%s%N >> stamp";
    let stamp = home.work().join("stamp");
    let ran_after = |mut command: Command| {
        fs::remove_file(&stamp).ok();
        let begun = unix_ns();
        timed_status(command.current_dir(home.work()));
        let read = || fs::read_to_string(&stamp).unwrap_or_default();
        eventually("the command ran", Duration::from_secs(10), || {
            read().ends_with('\n')
        });
        let at: u128 = read().trim().parse().expect("a time");
        store.are_gone();
        Duration::from_nanos(u64::try_from(at - begun).expect("soon"))
    };
    let times = in_turn(
        || {
            let mut command = Command::new("sh");
            command.args(["-c", clock]);
            ran_after(command)
        },
        || ran_after(store.command(&program, &["--", "sh", "-c", clock])),
    );
    assert_ratio("exec by the command line", times, 10.0);
}

/// A store in memory where there is such a folder, so that other users of the disk are not
/// measured.
struct Store(PathBuf);

impl Store {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let folder = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        Self(folder.join(format!("outlast-speed-{}", std::process::id())))
    }

    fn command(&self, program: &Program, words: &[&str]) -> Command {
        let mut command = program.command(&[&["run"], words].concat());
        command.env("OUTLAST_HOME", &self.0);
        command
    }

    /// Waits until no supervisor is left: what it still does would hold up the next start.
    fn are_gone(&self) {
        eventually("the supervisors have left", Duration::from_secs(10), || {
            supervisors(&self.0).is_empty()
        });
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

fn timed_status(command: &mut Command) {
    let status = command.stdout(Stdio::null()).status().expect("it starts");
    assert!(status.success());
}

#[expect(
    clippy::disallowed_methods,
    reason = "compared with what `date` prints"
)]
fn unix_ns() -> u128 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("after 1970").as_nanos()
}

#[test]
fn a_live_run_costs_little_memory() {
    const RUNS: usize = 40;
    let Some((home, program)) = release("memory") else {
        return;
    };
    for _ in 0..RUNS {
        let started = program.run(&["run", "--", "sleep", "600"]);
        assert_eq!(started.code, Some(0), "{started:?}");
    }
    let mine = home.store().to_string_lossy().into_owned();
    let supervisors: Vec<String> = fs::read_dir("/proc")
        .expect("there is a proc")
        .flatten()
        .map(|entry| entry.path().to_string_lossy().into_owned())
        .filter(|path| {
            let words = fs::read_to_string(format!("{path}/cmdline")).unwrap_or_default();
            words.contains("__supervise") && words.contains(&mine)
        })
        .collect();
    assert_eq!(supervisors.len(), RUNS);
    let pss = |path: &String| -> u64 {
        let rollup = fs::read_to_string(format!("{path}/smaps_rollup")).expect("it lives");
        let line = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
        let number = line.and_then(|line| line.split_whitespace().next());
        number.expect("a number").parse().expect("a number")
    };
    let each = supervisors.iter().map(pss).sum::<u64>() / RUNS as u64;
    println!("memory: {each} KiB PSS for each live run");
    assert!(each <= 200, "{each} KiB for each live run, 200 allowed");
}

#[test]
fn much_output_takes_little_longer_than_a_pipe_into_a_file() {
    let Some((home, program)) = release("output") else {
        return;
    };
    let text = "head -c 134217728 /dev/zero | tr '\\0' x";
    let floor = || {
        let mut command = Command::new("sh");
        let text = format!("{{ {text}; }} | cat > plain; rm plain");
        command.args(["-c", &text]).current_dir(home.work());
        timed(command).0
    };
    let subject = || {
        let begun = Instant::now();
        let words = ["run", "--max-output", "1GiB", "-c", text];
        let (_, id) = timed(program.command(&words));
        let waited = program.run(&["wait", id.trim()]);
        assert_eq!(waited.code, Some(0), "{waited:?}");
        let took = begun.elapsed();
        assert_eq!(program.run(&["rm", id.trim()]).code, Some(0));
        took
    };
    let mut pairs: Vec<(f64, f64)> = (0..3)
        .map(|_| (floor().as_secs_f64() * 1e3, subject().as_secs_f64() * 1e3))
        .collect();
    pairs.sort_by(|one, other| (one.1 / one.0).total_cmp(&(other.1 / other.0)));
    assert_ratio("128 MiB of output", pairs[1], 2.4);
}
