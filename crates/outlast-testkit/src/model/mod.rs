//! A model that plays a script, over real HTTP on loopback.
//!
//! Hosts and agents are pointed at `ScriptedModel::url` as if it were a
//! provider. It speaks OpenAI responses and chat, Anthropic messages and Gemini,
//! streamed or whole. Each request that offers tools gets the script's next
//! turn; one without is a side question of the host (a title, a summary) and
//! gets a line of text. What was asked is kept, so that a test can look at it.

mod asked;
mod history;
mod http;
mod script;
mod wire;

pub use asked::{Asked, ToolResult};
pub use script::{Gate, Script, Turn};
pub use wire::Wire;

use std::{
    collections::VecDeque,
    io::{self, BufReader},
    net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use crate::eventually;
use http::{Answer, Http};
use script::Step;
use serde_json::json;

/// What a side question is answered.
const ASIDE: &str = "An aside";

/// A server on loopback that answers as a model would, with what its script says.
///
/// It serves until it is dropped.
pub struct ScriptedModel {
    address: SocketAddr,
    stage: Arc<Mutex<Stage>>,
}

/// What is to be said, and what was asked.
#[derive(Default)]
struct Stage {
    script: VecDeque<Step>,
    /// What answers after the script.
    rest: Option<Rest>,
    models: Models,
    /// How many turns were given since the start.
    given: usize,
    asked: Vec<Asked>,
    /// What went wrong: the script and the requests did not fit.
    faults: Vec<String>,
    is_closed: bool,
    open: Vec<TcpStream>,
}

/// Makes turns as long as anybody asks.
type Rest = Arc<dyn Fn(&Asked) -> Turn + Send + Sync>;

/// What is said of the models that are there.
#[derive(Clone)]
enum Models {
    /// Their names, and who has them.
    Listed(Vec<String>, String),
    /// Nothing: there is no list.
    Hidden,
    /// This page, with its type.
    Page(String, String),
}

impl Default for Models {
    fn default() -> Self {
        Self::Listed(vec!["scripted".to_owned()], "scripted".to_owned())
    }
}

impl ScriptedModel {
    /// Starts a model that has nothing to say yet.
    ///
    /// # Panics
    /// Panics when nothing can be served on loopback.
    #[expect(
        clippy::new_without_default,
        reason = "it opens a socket, which is more than a default value"
    )]
    pub fn new() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback is there");
        let address = listener.local_addr().expect("it is bound");
        let stage = Arc::new(Mutex::new(Stage::default()));
        let of_thread = Arc::clone(&stage);
        thread::spawn(move || accept(&listener, &of_thread));
        Self { address, stage }
    }

    /// Adds a script to what is still to be said.
    pub fn play(&self, script: Script) {
        lock(&self.stage).script.extend(script.steps);
    }

    /// Answers with `make` whatever is asked after the script's end.
    ///
    /// Such turns have numbers too, and `assert_played` does not miss them.
    pub fn answer_all(&self, make: impl Fn(&Asked) -> Turn + Send + Sync + 'static) {
        lock(&self.stage).rest = Some(Arc::new(make));
    }

    /// Lists these models, which `owner` has; a new server lists `scripted`.
    pub fn list_models(&self, names: &[&str], owner: &str) {
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        lock(&self.stage).models = Models::Listed(names, owner.to_owned());
    }

    /// Lists no models: whoever asks is told that there is nothing.
    pub fn hide_models(&self) {
        lock(&self.stage).models = Models::Hidden;
    }

    /// Answers whoever asks for models with this body, such as a web page.
    pub fn page_for_models(&self, content_type: &str, body: &str) {
        lock(&self.stage).models = Models::Page(content_type.to_owned(), body.to_owned());
    }

    /// Returns the address without a path, such as `http://127.0.0.1:4711`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Returns every request of a known wire so far, side questions included.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.stage).asked.clone()
    }

    /// Returns the requests that got a turn, in the order of the script.
    pub fn turns(&self) -> Vec<Asked> {
        let mut asked = self.asked();
        asked.retain(|asked| asked.turn.is_some());
        asked
    }

    /// Returns once the script's turn of this number was asked for; the first is 0.
    ///
    /// # Panics
    /// Panics when it was not within `limit`, with what went wrong so far.
    #[track_caller]
    pub fn wait_for_turn(&self, number: usize, limit: Duration) {
        let what = format!("turn {number} is asked for");
        eventually(&what, limit, || {
            let stage = lock(&self.stage);
            assert!(stage.faults.is_empty(), "{:#?}", stage.faults);
            stage.given > number
        });
    }

    /// Asserts that no request held a conversation which a provider would not take: each call
    /// has its result before anything else, and each result its call.
    ///
    /// # Panics
    /// Panics with what is wrong, and where.
    #[track_caller]
    pub fn assert_histories(&self) {
        for (asked, number) in self.asked().iter().zip(0_usize..) {
            let faults = asked.history_faults();
            assert!(
                faults.is_empty(),
                "request {number}: {faults:#?}\n{:#}",
                asked.body
            );
        }
    }

    /// Asserts that the whole script was played and nothing else was asked.
    ///
    /// # Panics
    /// Panics with what went wrong, and when turns are left.
    #[track_caller]
    pub fn assert_played(&self) {
        let stage = lock(&self.stage);
        assert!(stage.faults.is_empty(), "{:#?}", stage.faults);
        let left = stage.script.len();
        assert_eq!(left, 0, "{left} turns are left of {}", stage.given + left);
    }
}

impl Drop for ScriptedModel {
    fn drop(&mut self) {
        let open = {
            let mut stage = lock(&self.stage);
            stage.is_closed = true;
            std::mem::take(&mut stage.open)
        };
        for connection in open {
            // One that the other side has left is closed already.
            connection.shutdown(Shutdown::Both).ok();
        }
        // Wakes the thread that accepts, which then sees that it is over.
        TcpStream::connect(self.address).ok();
    }
}

/// The stage, also after a thread has panicked: what it noted still counts.
fn lock(stage: &Mutex<Stage>) -> MutexGuard<'_, Stage> {
    stage.lock().unwrap_or_else(PoisonError::into_inner)
}

fn accept(listener: &TcpListener, stage: &Arc<Mutex<Stage>>) {
    for connection in listener.incoming().map_while(Result::ok) {
        {
            let mut stage = lock(stage);
            if stage.is_closed {
                return;
            }
            stage.open.extend(connection.try_clone());
        }
        let stage = Arc::clone(stage);
        thread::spawn(move || {
            // A connection that breaks is the other side's to notice.
            converse(&connection, &stage).ok();
            // Its clone on the stage would keep it open.
            connection.shutdown(Shutdown::Both).ok();
        });
    }
}

/// Answers the requests of one connection until it is closed or cut.
fn converse(connection: &TcpStream, stage: &Mutex<Stage>) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let mut reader = BufReader::new(connection);
    while let Some(request) = http::read(&mut reader, connection)? {
        let answer = answer(&request, stage);
        if !answer.write(connection, request.method == "HEAD")? {
            break;
        }
    }
    Ok(())
}

fn answer(request: &Http, stage: &Mutex<Stage>) -> Answer {
    let Some(wire) = Wire::of(request) else {
        return beside(request, &lock(stage).models.clone());
    };
    let asked = match Asked::read(wire, request) {
        Ok(asked) => asked,
        Err(fault) => return note(stage, fault),
    };
    let step = if asked.is_aside() {
        None
    } else {
        let Some(step) = next_step(stage) else {
            let tools = asked.results.len();
            return note(
                stage,
                format!("asked after the script's end, {tools} results"),
            );
        };
        Some(step)
    };
    match step {
        None => {
            lock(stage).asked.push(asked.clone());
            wire.answer(&asked, &Turn::text(asked.aside_text(ASIDE)))
                .unwrap_or_else(|fault| note(stage, fault))
        }
        Some(step) => give(step, asked, stage),
    }
}

fn next_step(stage: &Mutex<Stage>) -> Option<Step> {
    let mut stage = lock(stage);
    stage.script.pop_front().or_else(|| {
        let rest = Arc::clone(stage.rest.as_ref()?);
        Some(Box::new(move |asked: &Asked| rest(asked)))
    })
}

/// Gives a turn of the script.
fn give(step: Step, mut asked: Asked, stage: &Mutex<Stage>) -> Answer {
    // A test's closure may assert; its words must reach the test.
    let turn = match catch_unwind(AssertUnwindSafe(|| step(&asked))) {
        Ok(turn) => turn,
        Err(panic) => return note(stage, words_of(&*panic)),
    };
    {
        let mut stage = lock(stage);
        asked.turn = Some(stage.given);
        stage.given += 1;
        stage.asked.push(asked.clone());
    }
    if let Some(gate) = &turn.held_at {
        gate.wait();
    }
    asked
        .wire
        .answer(&asked, &turn)
        .unwrap_or_else(|fault| note(stage, fault))
}

/// Notes what went wrong and says it, so that the host stops as well.
fn note(stage: &Mutex<Stage>, fault: String) -> Answer {
    let answer = Answer::refusal(400, &fault);
    lock(stage).faults.push(fault);
    answer
}

fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a turn of the script panicked").to_owned()
}

/// Answers what hosts ask beside their turns: who is there, which models, how many tokens.
fn beside(request: &Http, models: &Models) -> Answer {
    let path = request.path.as_str();
    if path.ends_with("/count_tokens") {
        return Answer::document(json!({"input_tokens": 10}));
    }
    if path.contains(":countTokens") {
        return Answer::document(json!({"totalTokens": 10}));
    }
    if request.method == "GET" {
        return listing(models, path.contains("/v1beta"));
    }
    Answer::document(json!({}))
}

/// Says which models there are, in Gemini's form or in that of all others.
fn listing(models: &Models, is_gemini: bool) -> Answer {
    let (names, owner) = match models {
        Models::Hidden => return Answer::refusal(404, "there is no list"),
        Models::Page(kind, body) => return Answer::raw(200, kind, body),
        Models::Listed(names, owner) => (names, owner),
    };
    let model = |name: &String| json!({"id": name, "object": "model", "owned_by": owner});
    let of_gemini = |name: &String| json!({"name": format!("models/{name}")});
    let (data, models): (Vec<_>, Vec<_>) = if is_gemini {
        (Vec::new(), names.iter().map(of_gemini).collect())
    } else {
        (names.iter().map(model).collect(), Vec::new())
    };
    let mut document = json!({"object": "list", "models": models});
    if !is_gemini {
        document["data"] = data.into();
    }
    Answer::document(document)
}

#[cfg(test)]
mod tests;
