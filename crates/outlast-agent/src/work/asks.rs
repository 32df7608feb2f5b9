//! Calls above the tier of a run that may ask: somebody says whether they run.

use super::Worker;
use super::calls::{Hands, Void};
use crate::channel::ChannelError;
use crate::memory::Call;
use crate::tools::Plan;
use outlast_journal::agent::{Asked, Work};
use outlast_journal::worker::Answered;
use outlast_journal::{Tier, Timestamp, limits};
use outlast_lib::clock;
use serde_json::Value;
use std::time::Duration;

impl Worker<'_> {
    /// Asks whether a call above the tier may run, and does what the answer says.
    pub(super) async fn ask_for(
        &mut self,
        index: usize,
        arguments: &Value,
        why: &str,
        needs: Tier,
    ) -> Result<(), ChannelError> {
        let Some(call) = self.memory.calls.get(index).cloned() else {
            return Ok(());
        };
        let tool = call.model_call.name.clone();
        let brief = self.tools.brief(&tool, arguments);
        let question = format!("may it run `{brief}`? It needs the tier {needs}");
        let Some(answered) = self.answer_to(&call, question).await? else {
            return self.skip(index).await;
        };
        if !answered.is_approved {
            let words = answered.text.filter(|text| !text.trim().is_empty());
            let words = words.map(|text| format!(" with the words: {text}"));
            let why = format!(
                "{why}. It was asked for and denied by {}{}; it stays denied, so take another way",
                answered.by,
                words.unwrap_or_default()
            );
            return self.refuse(&call, Void::Denied.code(), &why).await;
        }
        match self.tools.plan_approved(&tool, arguments) {
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
                    is_on_host: true,
                };
                self.await_hands(index, arguments, Some(hands)).await
            }
            Plan::Refused { code, why, .. } => self.refuse(&call, code, &why).await,
        }
    }

    /// Asks about a call, unless that was done, and waits for the answer; `None` when the run is
    /// being cancelled. An ask that nobody answers in its time is denied by the supervisor.
    async fn answer_to(
        &mut self,
        call: &Call,
        question: String,
    ) -> Result<Option<Answered>, ChannelError> {
        let asked = if let Some(asked) = call.asked.clone() {
            asked
        } else {
            let ask_ms = self.agent.request.ask_ms.unwrap_or(limits::ASK_MS);
            let asked = Asked {
                ask: call.id.clone(),
                tool: call.model_call.name.clone(),
                question,
                expires: Timestamp(clock::now().unix_ms().saturating_add(ask_ms)),
            };
            self.tell([Work::Ask(asked.clone())]).await?;
            asked
        };
        let mut is_expired = false;
        loop {
            let answered = self.memory.call_mut(&call.id);
            let answered = answered.and_then(|call| call.answered.clone());
            if answered.is_some() {
                return Ok(answered);
            }
            if self.is_cancelling {
                return Ok(None);
            }
            let left = asked
                .expires
                .unix_ms()
                .saturating_sub(clock::now().unix_ms());
            if left == 0 && !is_expired {
                is_expired = true;
                self.channel.expire(&asked.ask).await?;
            }
            let bound = if is_expired { limits::ASK_MS } else { left };
            let news = self.channel.news();
            if let Ok(news) = tokio::time::timeout(Duration::from_millis(bound), news).await {
                let news = news?;
                self.take(news);
            }
        }
    }
}
