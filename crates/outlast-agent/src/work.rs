//! Carries out what `decide` says, for one run, until its end is told.
//!
//! Everything that matters stands in the journal before something follows from it: a worker
//! may die at any point, and the next one goes on from there.

mod answer;
mod asks;
mod calls;
mod ends;
mod own_runs;
mod sample;
mod start;

pub(crate) use start::{StartError, begin, read_spec};

use crate::channel::{Channel, ChannelError, News};
use crate::decide::{self, Budget, Fault, GoalStands, OpenCall, Said, Situation, Step};
use crate::log::Log;
use crate::memory::{Memory, Newest};
use crate::message::ToolSpec;
use crate::models::{Model, Price};
use crate::tools::Toolbox;
use crate::{compact, prompt};
use outlast_journal::agent::{AgentSpec, CallClass, Input, Work};
use outlast_journal::worker::Heard;
use outlast_journal::{Spec, limits};
use own_runs::OwnRuns;
use std::path::PathBuf;

/// A worker at its work.
pub(crate) struct Worker<'a> {
    spec: &'a Spec,
    agent: &'a AgentSpec,
    dir: PathBuf,
    channel: Channel,
    memory: Memory,
    log: Log<'a>,
    model: Model,
    price: Option<Price>,
    /// Tokens that the model's window holds.
    window: u64,
    tools: Toolbox,
    tool_specs: Vec<ToolSpec>,
    system: String,
    own_runs: OwnRuns,
    is_cancelling: bool,
    /// The conversation was shortened since the last turn.
    was_shortened: bool,
}

impl Worker<'_> {
    /// Works until the end is told.
    ///
    /// # Errors
    ///
    /// Fails when the supervisor is gone or does not take what it is told.
    pub(crate) async fn work(&mut self) -> Result<(), ChannelError> {
        let done = self.take_steps().await;
        let Err(ChannelError::NotWritten { why, .. }) = &done else {
            return done;
        };
        // Room for the end is kept where there is none for anything else.
        let message = format!("the run's journal takes nothing more: {why}");
        let hint = "make room on the disk, and resume the run".to_owned();
        self.fail_with(Fault::JournalUnwritable.code(), &message, hint)
            .await
    }

    async fn take_steps(&mut self) -> Result<(), ChannelError> {
        loop {
            let step = decide::next(&self.situation());
            match step {
                Step::Leave => return Ok(()),
                Step::Open => self.open().await?,
                Step::TellText => {
                    let text = self.memory.last_text.clone();
                    self.tell([Work::Text(text)]).await?;
                }
                Step::Call(index) => self.call(index).await?,
                Step::Skip(index) => self.skip(index).await?,
                Step::Compact => self.compact().await?,
                Step::Sample => self.sample().await?,
                Step::WaitForRuns => self.wait_for_runs().await?,
                Step::Check => self.check().await?,
                Step::Repair => {
                    let faults = self.answer_faults();
                    self.say(crate::memory::by::REPAIR, prompt::repair(&faults))
                        .await?;
                }
                Step::TellCut => self.say(crate::memory::by::CUT, prompt::cut()).await?,
                Step::Finish(ending) => self.finish(ending).await?,
            }
        }
    }

    fn situation(&mut self) -> Situation {
        let request = &self.agent.request;
        let counts = &self.memory.counts;
        let budget = |used, max| Budget { used, max };
        let mut now = Situation {
            is_ended: self.memory.ended.is_some(),
            is_cancelling: self.is_cancelling,
            lacks_opening: !self.memory.has_opening,
            has_untold_text: self.memory.has_untold_text,
            open_call: self.open_call(),
            message: self.said(),
            has_pending: self.memory.has_pending(),
            malformed_in_row: counts.malformed_in_row,
            is_stalled: self.memory.repeats.is_over(),
            is_blocked: self.memory.is_denied_twice(),
            has_open_runs: false,
            turns: budget(counts.turns, Some(self.agent.turns_max)),
            tokens: budget(counts.tokens, request.tokens_max),
            cost_micros: budget(counts.cost_micros, request.cost_micros_max),
            is_near_window: counts.size.tokens() >= compact::threshold(self.window),
            cannot_shrink: self.was_shortened,
            goal: request.until.is_some().then(|| self.goal_stands()),
            repairs: counts.repairs,
            cuts: counts.cuts,
        };
        // To look at the store costs a few milliseconds; only a message without calls asks for it.
        if now.message.is_some() && !now.has_pending && !now.is_ended {
            now.has_open_runs = self.own_runs.is_news_to_come();
        }
        now
    }

    fn open_call(&self) -> Option<OpenCall> {
        let index = self.memory.open_call()?;
        let call = self.memory.calls.get(index)?;
        let has_run = call.is_claimed || call.ended.is_some() || call.is_unknown;
        Some(OpenCall {
            index,
            may_have_begun: has_run || call.result.is_some() || call.is_called,
        })
    }

    /// Returns how the newest turn ended, when it asked for no calls.
    fn said(&self) -> Option<Said> {
        let Newest::Message { text, stop } = &self.memory.newest else {
            return None;
        };
        Some(match stop.as_str() {
            sample::LENGTH => Said::Cut,
            sample::REFUSED => Said::Refused,
            _ => match &self.agent.request.schema {
                Some(schema) if answer::read(schema, text).is_err() => Said::AgainstSchema,
                Some(_) | None => Said::Good,
            },
        })
    }

    fn goal_stands(&self) -> GoalStands {
        let goal = &self.memory.goal;
        GoalStands {
            checks: goal.checks,
            is_checked: goal.checks > 0 && goal.at_turn == self.memory.counts.turns,
            has_passed: goal.has_passed,
            equal_failures: goal.equal_failures,
        }
    }

    fn answer_faults(&self) -> Vec<String> {
        let Newest::Message { text, .. } = &self.memory.newest else {
            return Vec::new();
        };
        match &self.agent.request.schema {
            Some(schema) => answer::read(schema, text).err().unwrap_or_default(),
            None => Vec::new(),
        }
    }

    /// Puts the task before the model.
    async fn open(&mut self) -> Result<(), ChannelError> {
        let task = &self.agent.request.task;
        let notes = self.tools.notes_for(task);
        let text = prompt::opening(task, notes.as_deref());
        self.say(crate::memory::by::OPENING, text).await
    }

    /// Tells the model something with the next turn.
    async fn say(&mut self, by: &str, text: String) -> Result<(), ChannelError> {
        self.tell([Work::Input(Input {
            text,
            by: Some(by.to_owned()),
            ..Input::default()
        })])
        .await
    }

    /// Tells facts, and returns once they stand.
    async fn tell<const N: usize>(&mut self, facts: [Work; N]) -> Result<(), ChannelError> {
        for work in facts {
            self.channel.tell(work).await?;
        }
        while self.channel.has_open() {
            self.hear().await?;
        }
        Ok(())
    }

    /// Waits for the next thing from the supervisor, and takes it.
    async fn hear(&mut self) -> Result<(), ChannelError> {
        let news = self.channel.news().await?;
        self.take(news);
        Ok(())
    }

    #[expect(
        clippy::match_same_arms,
        reason = "what is known is listed; what only a later version knows is apart"
    )]
    fn take(&mut self, news: News) {
        match news {
            News::Stands(work) => {
                self.log.fact(&work);
                self.memory.take(&work);
            }
            News::Heard(Heard::Cancel { .. }) => self.is_cancelling = true,
            News::Heard(Heard::Welcome { is_cancelling, .. }) => {
                self.is_cancelling |= is_cancelling;
            }
            News::Heard(Heard::CallEnded(ended)) => self.memory.take_end(&ended),
            News::Heard(Heard::CallUnknown { call }) => self.memory.take_unknown(&call),
            News::Heard(Heard::Answered(answered)) => self.memory.take_answer(answered),
            News::Heard(Heard::Input(input)) => self.memory.take_input(&input),
            // The channel answers for these; a later supervisor's words have no meaning here.
            News::Heard(Heard::Wrote { .. } | Heard::NotWritten { .. }) => {}
            News::Heard(_) => {}
        }
    }

    fn class(&self, tool: &str) -> CallClass {
        self.tools.class(tool)
    }

    /// Returns the log of a call of the run in `dir`.
    fn call_log(dir: &std::path::Path, call: &str) -> PathBuf {
        let folder = dir.join(outlast_journal::names::CALLS);
        folder.join(format!("{call}.log"))
    }

    /// Returns the time between TERM and KILL of its calls.
    fn grace_ms(&self) -> u64 {
        self.spec.grace_ms.min(limits::GRACE_MS_MAX)
    }
}

#[cfg(test)]
mod tests;
