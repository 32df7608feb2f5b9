//! Runs the calls of a turn, or settles what an earlier worker began.
//!
//! A call is planned, then done by the worker itself or by the supervisor. One that a
//! supervisor has taken is never planned again: it has run, runs, or nobody knows.

use super::Worker;
use crate::channel::{ChannelError, News};
use crate::memory::{Call, by};
use crate::message::Arguments;
use crate::tools::{Outcome, OwnCall, Plan};
use outlast_journal::agent::{CallClass, CallRequest, CallResult, ToolCalled, ToolEnded, Work};
use outlast_journal::worker::{CallAsk, CallEnded, CallProgram, Heard};
use outlast_journal::{limits, text};
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// What the model is told of a call whose end nobody knows.
const UNKNOWN: &str = "error: nobody knows how this call ended: what ran it was killed. It may \
have done all of its work, a part, or nothing. Look before you do it again.\ncode: outcome_unknown";
/// What it is told of a call that a cancel came before.
const SKIPPED: &str = "error: this call was not run: the run is being cancelled.\ncode: cancelled";

/// Why a call has no outcome of its own.
#[derive(Clone, Copy, Debug)]
pub(super) enum Void {
    Denied,
    Malformed,
    Cancelled,
    Unknown,
}

impl Void {
    /// Returns the name that programs may match on.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::Denied => "denied",
            Self::Malformed => "malformed_call",
            Self::Cancelled => "cancelled",
            Self::Unknown => "outcome_unknown",
        }
    }
}

/// What a call came to, as it is told.
struct Told {
    outcome: Outcome,
    is_unknown: bool,
    /// Why it was not run.
    refused: Option<&'static str>,
    exit_code: Option<i32>,
    elapsed_ms: Option<u64>,
}

/// What the hands are to do.
pub(super) struct Hands {
    pub(super) program: CallProgram,
    pub(super) stdin: Option<String>,
    pub(super) timeout_ms: u64,
    pub(super) is_on_host: bool,
}

impl Worker<'_> {
    /// Runs or settles a call of the newest turn.
    pub(super) async fn call(&mut self, index: usize) -> Result<(), ChannelError> {
        let Some(call) = self.memory.calls.get(index).cloned() else {
            return Ok(());
        };
        if let Some(result) = &call.result {
            return self.tell_end_again(&call, result).await;
        }
        let arguments = match &call.model_call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed { text, why } => {
                let written = Value::from(text.as_str());
                self.take_up(&call, written).await?;
                let why = format!("the arguments are no JSON object: {why}; write the call again");
                return self.refuse(&call, Void::Malformed.code(), &why).await;
            }
        };
        self.take_up(&call, arguments.clone()).await?;
        let class = self.class(&call.model_call.name);
        if let Some((ended, dir)) = &call.ended {
            let (ended, dir) = (ended.clone(), dir.clone());
            return self.finish_hands(&call, &arguments, &ended, &dir).await;
        }
        let is_lost = call.is_of_dead_run && call.is_claimed && class != CallClass::Read;
        // What the worker itself was doing when it died. A key that makes a repeat harmless is
        // that of one run.
        let was_doing = call.is_called && !call.is_claimed;
        let is_half_done = was_doing
            && match class {
                CallClass::Read => false,
                CallClass::Idempotent => call.is_of_dead_run,
                CallClass::Once => call.is_of_dead_worker,
            };
        if call.is_claimed && !call.is_of_dead_run {
            return self.await_hands(index, &arguments, None).await;
        }
        if call.is_unknown || is_lost {
            return self.settle_unknown(&call).await;
        }
        let plan = self.tools.plan(&call.model_call.name, &arguments);
        match plan {
            // The supervisor has not claimed it: so it was not run by hands.
            Plan::Own(_) if is_half_done => self.settle_unknown(&call).await,
            Plan::Own(own) => self.run_own(index, own).await,
            Plan::Hands {
                program,
                stdin,
                timeout_ms,
            } => {
                let hands = Hands {
                    program,
                    stdin,
                    timeout_ms,
                    is_on_host: false,
                };
                self.await_hands(index, &arguments, Some(hands)).await
            }
            Plan::Refused {
                code: _,
                why,
                needs: Some(needs),
            } if self.agent.request.asks => self.ask_for(index, &arguments, &why, needs).await,
            Plan::Refused { code, why, .. } => self.refuse(&call, code, &why).await,
        }
    }

    /// Tells the model that a call was not run, since the run is being cancelled.
    pub(super) async fn skip(&mut self, index: usize) -> Result<(), ChannelError> {
        let Some(call) = self.memory.calls.get(index).cloned() else {
            return Ok(());
        };
        let arguments = match &call.model_call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed { text, .. } => Value::from(text.as_str()),
        };
        self.take_up(&call, arguments.clone()).await?;
        let brief = self.tools.brief(&call.model_call.name, &arguments);
        self.tell_result(
            &call,
            refused(Void::Cancelled.code(), SKIPPED.to_owned(), brief),
        )
        .await
    }

    /// Tells the model of a resumed run once what became of the calls that were open.
    pub(super) async fn tell_of_restart(&mut self) -> Result<(), ChannelError> {
        let Some(resumes) = self.agent.request.resumes else {
            return Ok(());
        };
        if self.memory.has_restart_note {
            return Ok(());
        }
        let settled = self.memory.calls.iter().filter_map(|call| {
            let result = call.result.as_ref()?;
            let word = match (result.is_unknown, result.is_refused) {
                (true, _) => "nobody knows how it ended",
                (false, true) => "not run",
                (false, false) => "done, its result stands above",
            };
            Some(format!(
                "\n- {}: {word}",
                text::cut_chars(&result.brief, limits::BRIEF_CHARS)
            ))
        });
        let settled: String = settled.collect();
        let calls = if settled.is_empty() {
            " No call was open.".to_owned()
        } else {
            format!(" The last calls:{settled}")
        };
        let text = format!(
            "[outlast: the run {resumes} was interrupted, and this one goes on with its work. What \
             it had started may have been stopped.{calls}]"
        );
        self.say(by::RESTART, text).await
    }

    /// Says that a call is taken up, unless an earlier worker did.
    async fn take_up(&mut self, call: &Call, arguments: Value) -> Result<(), ChannelError> {
        if call.request.is_some() {
            return Ok(());
        }
        let tool = call.model_call.name.clone();
        let request = CallRequest {
            call: call.id.clone(),
            model_call: call.model_call.id.clone(),
            class: self.class(&tool),
            tool,
            arguments,
        };
        self.tell([Work::CallRequest(Box::new(request))]).await
    }

    /// Tells readers that a call begins, unless they know.
    async fn tell_called(&mut self, index: usize, arguments: &Value) -> Result<(), ChannelError> {
        let Some(call) = self.memory.calls.get(index).filter(|call| !call.is_called) else {
            return Ok(());
        };
        let called = ToolCalled {
            call: call.id.clone(),
            tool: call.model_call.name.clone(),
            brief: self.tools.brief(&call.model_call.name, arguments),
        };
        self.tell([Work::ToolCalled(called)]).await
    }

    pub(super) async fn run_own(&mut self, index: usize, own: OwnCall) -> Result<(), ChannelError> {
        let Some(call) = self.memory.calls.get(index).cloned() else {
            return Ok(());
        };
        let arguments = match &call.model_call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed { .. } => Value::Null,
        };
        self.tell_called(index, &arguments).await?;
        let begun = Instant::now();
        let mut later: Vec<News> = Vec::new();
        let outcome = {
            let run = self.tools.run(&call.id, own);
            tokio::pin!(run);
            loop {
                if self.is_cancelling {
                    break None;
                }
                tokio::select! {
                    biased;
                    outcome = &mut run => break Some(outcome),
                    news = self.channel.news() => {
                        let news = news?;
                        self.is_cancelling |= matches!(news, News::Heard(Heard::Cancel { .. }));
                        later.push(news);
                    }
                }
            }
        };
        for news in later {
            self.take(news);
        }
        let elapsed = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = outcome.unwrap_or_else(|| Outcome {
            shown: "error: this call was given up: the run is being cancelled.\ncode: cancelled"
                .to_owned(),
            brief: self.tools.brief(&call.model_call.name, &arguments),
            ..Outcome::default()
        });
        let told = Told {
            exit_code: outcome.exit_code,
            outcome,
            is_unknown: false,
            refused: None,
            elapsed_ms: Some(elapsed),
        };
        self.tell_result(&call, told).await
    }

    /// Has the supervisor run a call, or tell of it again, and waits for its end.
    pub(super) async fn await_hands(
        &mut self,
        index: usize,
        arguments: &Value,
        hands: Option<Hands>,
    ) -> Result<(), ChannelError> {
        self.tell_called(index, arguments).await?;
        let Some(id) = self.memory.calls.get(index).map(|call| call.id.clone()) else {
            return Ok(());
        };
        // The supervisor goes by the id: of a call that it has, it runs nothing once more.
        let hands = hands.unwrap_or_else(|| Hands {
            program: CallProgram::Shell("exit 125".to_owned()),
            stdin: None,
            timeout_ms: limits::CALL_MS,
            is_on_host: false,
        });
        self.channel
            .call(CallAsk {
                call: id,
                program: hands.program,
                stdin: hands.stdin,
                timeout_ms: hands.timeout_ms,
                grace_ms: self.grace_ms(),
                is_on_host: hands.is_on_host,
            })
            .await?;
        loop {
            let Some(call) = self.memory.calls.get(index) else {
                return Ok(());
            };
            if let Some((ended, dir)) = call.ended.clone() {
                let call = call.clone();
                return self.finish_hands(&call, arguments, &ended, &dir).await;
            }
            if call.is_unknown {
                let call = call.clone();
                return self.settle_unknown(&call).await;
            }
            self.hear().await?;
        }
    }

    async fn finish_hands(
        &mut self,
        call: &Call,
        arguments: &Value,
        ended: &CallEnded,
        dir: &Path,
    ) -> Result<(), ChannelError> {
        let log = Self::call_log(dir, &call.id);
        let name = &call.model_call.name;
        let outcome = self.tools.finish(name, arguments, ended, &log);
        let told = Told {
            exit_code: ended.exit_code.or(outcome.exit_code),
            outcome,
            is_unknown: false,
            refused: None,
            elapsed_ms: Some(ended.elapsed_ms),
        };
        self.tell_result(call, told).await
    }

    pub(super) async fn refuse(
        &mut self,
        call: &Call,
        code: &'static str,
        why: &str,
    ) -> Result<(), ChannelError> {
        let arguments = match &call.model_call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed { .. } => Value::Null,
        };
        let brief = self.tools.brief(&call.model_call.name, &arguments);
        let shown = format!("error: {why}\ncode: {code}");
        self.tell_result(call, refused(code, shown, brief)).await
    }

    async fn settle_unknown(&mut self, call: &Call) -> Result<(), ChannelError> {
        let arguments = match &call.model_call.arguments {
            Arguments::Json(arguments) => arguments.clone(),
            Arguments::Malformed { .. } => Value::Null,
        };
        let told = Told {
            outcome: Outcome {
                shown: UNKNOWN.to_owned(),
                brief: self.tools.brief(&call.model_call.name, &arguments),
                ..Outcome::default()
            },
            is_unknown: true,
            refused: None,
            exit_code: None,
            elapsed_ms: None,
        };
        self.tell_result(call, told).await
    }

    /// Tells what a call came to: for the model, and for readers.
    async fn tell_result(&mut self, call: &Call, told: Told) -> Result<(), ChannelError> {
        let tool = call.model_call.name.clone();
        let outcome = told.outcome;
        // Also one that was given up may have started something.
        self.own_runs.has_any |= tool.starts_with("background_");
        // The request stands since the call was taken up.
        let request = self
            .memory
            .call_mut(&call.id)
            .and_then(|call| call.request.clone());
        let is_malformed = matches!(call.model_call.arguments, Arguments::Malformed { .. });
        let shown = match request {
            Some(request) if !is_malformed && !told.is_unknown => {
                self.memory
                    .repeats
                    .warned(&request, outcome.ok, outcome.shown)
            }
            Some(_) | None => outcome.shown,
        };
        let result = CallResult {
            call: call.id.clone(),
            tool: tool.clone(),
            ok: outcome.ok,
            is_refused: told.refused.is_some(),
            is_unknown: told.is_unknown,
            shown,
            brief: outcome.brief.clone(),
            via: None,
            wrote: outcome.wrote,
            saw: outcome.saw,
        };
        let ended = ToolEnded {
            call: call.id.clone(),
            tool,
            ok: outcome.ok,
            brief: outcome.brief,
            code: told
                .refused
                .or(told.is_unknown.then_some(Void::Unknown.code()))
                .map(str::to_owned),
            exit_code: told.exit_code,
            elapsed_ms: told.elapsed_ms,
        };
        if let Some(todo) = outcome.todo {
            self.channel.tell(Work::TodoSet(todo)).await?;
        }
        self.channel
            .tell(Work::CallResult(Box::new(result)))
            .await?;
        let is_refused = told.refused.is_some();
        self.tell([event(ended, is_refused)]).await
    }

    /// Tells readers of a result that an earlier worker told the model alone.
    async fn tell_end_again(
        &mut self,
        call: &Call,
        result: &CallResult,
    ) -> Result<(), ChannelError> {
        let code = match (result.is_refused, result.is_unknown) {
            (true, _) => code_in(&result.shown),
            (false, true) => Some(Void::Unknown.code().to_owned()),
            (false, false) => None,
        };
        let ended = call.ended.as_ref().map(|(ended, _)| ended);
        let told = ToolEnded {
            call: call.id.clone(),
            tool: result.tool.clone(),
            ok: result.ok,
            brief: result.brief.clone(),
            code,
            exit_code: ended.and_then(|ended| ended.exit_code),
            elapsed_ms: ended.map(|ended| ended.elapsed_ms),
        };
        self.tell([event(told, result.is_refused)]).await
    }
}

fn event(ended: ToolEnded, is_refused: bool) -> Work {
    if is_refused {
        Work::ToolFailed(ended)
    } else {
        Work::ToolResult(ended)
    }
}

fn refused(code: &'static str, shown: String, brief: String) -> Told {
    Told {
        outcome: Outcome {
            shown,
            brief,
            ..Outcome::default()
        },
        is_unknown: false,
        refused: Some(code),
        exit_code: None,
        elapsed_ms: None,
    }
}

/// Returns the code on the line of a refusal that names it.
fn code_in(shown: &str) -> Option<String> {
    let line = shown.lines().find_map(|line| line.strip_prefix("code: "));
    line.map(str::to_owned)
}
