//! What the page of an agent run has beside that of a command. Empty where there is nothing to say.

use crate::{look::clean, words};
use outlast_journal::{Record, Spec, Timestamp, agent::AgentSpec};
use outlast_lib::Document;

fn agent(spec: Option<&Spec>) -> Option<&AgentSpec> {
    spec.and_then(|spec| spec.agent.as_deref())
}

/// Returns which model works, and why that one.
pub(super) fn model(spec: Option<&Spec>) -> String {
    let Some(agent) = agent(spec) else {
        return String::new();
    };
    let model = &agent.request.model;
    let why = if model.why.is_empty() {
        String::new()
    } else {
        format!(": {}", clean(&model.why))
    };
    format!("{} ({}{why})", clean(&model.name), clean(&model.provider))
}

/// Returns the check that says that it is done.
pub(super) fn until(spec: Option<&Spec>) -> String {
    let check = agent(spec).and_then(|agent| agent.request.until.as_deref());
    check.map(clean).unwrap_or_default()
}

/// Returns its budgets.
pub(super) fn bounds(spec: Option<&Spec>) -> String {
    let Some(agent) = agent(spec) else {
        return String::new();
    };
    let mut parts = vec![words::count(agent.turns_max, "turn", "turns")];
    if let Some(tokens) = agent.request.tokens_max {
        parts.push(words::count(tokens, "token", "tokens"));
    }
    if let Some(micros) = agent.request.cost_micros_max {
        parts.push(format!("${}", dollars(micros)));
    }
    if let Some(resumes) = &agent.request.resumes {
        parts.push(format!("with what run {resumes} used"));
    }
    parts.join(", ")
}

fn dollars(micros: u64) -> String {
    format!("{}.{:02}", micros / 1_000_000, micros % 1_000_000 / 10_000)
}

/// Returns what it asks and for how long it has.
pub(super) fn asks(record: &Record, now: Timestamp) -> String {
    let Some(asked) = &record.needs_approval else {
        return String::new();
    };
    let age = now.unix_ms().saturating_sub(asked.since.unix_ms());
    let age = words::age(age);
    let (tool, question) = (clean(&asked.tool), clean(&asked.question));
    format!(
        "{tool}: {question}  (for {age}, denied at {})",
        asked.expires
    )
}

/// Returns how it ended and what it took.
pub(super) fn result(document: Option<&Document>) -> String {
    let Some(document) = document else {
        return String::new();
    };
    let status = match &document.error {
        Some(error) => format!("error {error}"),
        None => document.status.clone(),
    };
    let receipts = &document.receipts;
    let mut parts = vec![
        status,
        words::count(document.turns, "turn", "turns"),
        words::count(receipts.total, "call", "calls"),
    ];
    if receipts.failed > 0 {
        parts.push(format!("{} of them failed", receipts.failed));
    }
    if let Some(tokens) = document.usage.get("tokens") {
        parts.push(words::count(*tokens, "token", "tokens"));
    }
    if let Some(cost) = document.cost_usd {
        parts.push(format!("${cost:.4}"));
    }
    clean(&parts.join(", "))
}

/// Returns what became of its goal.
pub(super) fn goal(document: Option<&Document>) -> String {
    let Some(goal) = document.and_then(|document| document.goal.as_ref()) else {
        return String::new();
    };
    let word = if goal.passed { "passed" } else { "not passed" };
    let checks = words::count(goal.iterations, "check", "checks");
    format!("{word} after {checks} ({})", clean(&goal.halt))
}

/// Returns what it claims and no receipt shows.
pub(super) fn claims(document: Option<&Document>) -> String {
    let claims = document.and_then(|document| document.ungrounded_claims.as_ref());
    clean(&claims.map(|claims| claims.join("; ")).unwrap_or_default())
}

/// Returns calls of which nobody knows how they ended.
pub(super) fn unknown(document: Option<&Document>) -> String {
    let calls = document.iter().flat_map(|one| &one.unknown_outcomes);
    let calls: Vec<String> = calls.map(|call| clean(&call.brief)).collect();
    calls.join("; ")
}
