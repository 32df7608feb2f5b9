//! A host that embeds the background capability, spoken to in lines.
//!
//! `host STORE SESSION [AGENT]`: a line of stdin is a call of the model, as
//! `{"tool": …, "arguments": {…}}`, or a command of a person, as `/background`.
//! Lines of stdout are what the host would give to model and person. AGENT is a
//! program that takes a task as its argument and prints its final message.

use outlast_lib::background::{
    Background, BackgroundOptions, SpawnError, Spawned, Spawner, SubAgent, wake_prompt,
};
use outlast_lib::{Limits, RunId, Store, init_supervisor};
use serde_json::{Value, json};
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

type Fallible<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Fallible<ExitCode> {
    // Before anything else: each run's supervisor is this program, started anew.
    if let Some(code) = init_supervisor() {
        return Ok(code);
    }
    let mut words = std::env::args().skip(1);
    let (Some(store), Some(session)) = (words.next(), words.next()) else {
        return Err("usage: host STORE SESSION [AGENT]".into());
    };
    let options = BackgroundOptions {
        environment: std::env::vars_os().collect(),
        spawner: words
            .next()
            .map(|program| Arc::new(move |asked: &SubAgent| sub_agent(&program, asked)) as Spawner),
        ..BackgroundOptions::default()
    };
    let store = Arc::new(Store::open(store.as_ref(), Limits::default())?);
    let background = Background::new(store, session, std::env::current_dir()?, options)?;
    for tool in background.tools() {
        say(&json!({"tool": tool.name, "about": tool.description, "schema": tool.schema}))?;
    }
    // What earlier hosts of this session left: part of the first prompt, no reason for a turn.
    say(&json!({"block": background.prompt_block()?}))?;
    let (interrupt, stop) = io::pipe()?;
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wake(&background, &interrupt));
        let served = serve(&background);
        // The wait ends with the pipe; the runs go on.
        drop(stop);
        waiter.join().expect("the waiter returns its errors")?;
        served.map(|()| ExitCode::SUCCESS)
    })
}

/// Answers calls and commands until stdin ends.
fn serve(background: &Background) -> Fallible<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.starts_with('/') {
            say(&json!({"shown": background.command(&line)?}))?;
            continue;
        }
        let call: Value = serde_json::from_str(&line)?;
        let tool = call["tool"].as_str().unwrap_or_default();
        say(&json!({"answer": background.call(tool, &call["arguments"]).value()}))?;
    }
    Ok(())
}

/// Waits without a model request; each end becomes a prompt, once.
fn wake(background: &Background, interrupt: &io::PipeReader) -> Fallible<()> {
    while background.wait_for_end(None, Some(interrupt.as_fd()))? {
        let finished = background.drain_finished()?;
        if let Some(prompt) = wake_prompt(&finished) {
            say(&json!({"prompt": prompt}))?;
        }
        // Only now: an end that was not told comes again, also after a crash.
        let ids: Vec<RunId> = finished.iter().map(|one| one.run.id).collect();
        background.acknowledge(&ids)?;
    }
    Ok(())
}

fn sub_agent(program: &str, asked: &SubAgent) -> Result<Spawned, SpawnError> {
    if let Some(model) = asked.model.clone() {
        let known = Vec::new();
        return Err(SpawnError::ModelRefused { model, known });
    }
    Ok(Spawned::Command {
        words: vec![program.to_owned(), asked.task.clone()],
        env: Vec::new(),
        child_session_id: None,
    })
}

fn say(line: &Value) -> io::Result<()> {
    writeln!(io::stdout(), "{line}")
}
