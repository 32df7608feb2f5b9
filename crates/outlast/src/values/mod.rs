//! What people type as a value: times, sizes, variables, containment.
//!
//! Pure: text in, value or named error out. Nothing here looks at a clock, the
//! environment or the disk.

mod containment;
mod deadline;
mod duration;
mod pair;
mod size;

pub(crate) use containment::{GitWord, SandboxWord, milli, network};
pub(crate) use deadline::{Deadline, deadline};
pub(crate) use duration::duration_ms;
pub(crate) use pair::{Pair, pair};
pub(crate) use size::size_bytes;

use outlast_journal::error::Advice;

/// Why a typed value means nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum ValueError {
    /// It is no length of time.
    #[error("`{text}` is no time")]
    Duration {
        /// What was typed.
        text: String,
    },
    /// It is a length of time below zero.
    #[error("the time `{text}` is negative")]
    Negative {
        /// What was typed.
        text: String,
    },
    /// It is no number of bytes.
    #[error("`{text}` is no size")]
    Size {
        /// What was typed.
        text: String,
    },
    /// It is no point in time.
    #[error("`{text}` is no point in time")]
    Deadline {
        /// What was typed.
        text: String,
    },
    /// It is no variable with a value.
    #[error("`{name}` has no `=`")]
    Pair {
        /// What was typed, up to the end of what can be a name.
        name: String,
    },
    /// It names no network.
    #[error("`{text}` is no network")]
    Network {
        /// What was typed.
        text: String,
    },
}

impl Advice for ValueError {
    fn code(&self) -> &'static str {
        match self {
            Self::Duration { .. } => "no_duration",
            Self::Negative { .. } => "negative_duration",
            Self::Size { .. } => "no_size",
            Self::Deadline { .. } => "no_deadline",
            Self::Pair { .. } => "no_pair",
            Self::Network { .. } => "no_network",
        }
    }

    fn hint(&self) -> String {
        let hint = match self {
            Self::Duration { .. } | Self::Negative { .. } => {
                "write a number from 0 with ms, s, m, h or d, such as `90s` or `1.5h`; bare means seconds"
            }
            Self::Size { .. } => {
                "write bytes or a number with KiB, MiB or GiB, such as `512KiB` or `64MiB`"
            }
            Self::Deadline { .. } => {
                "write `2026-11-29T18:00:00+01:00`, or `18:00` for the next time it is that late"
            }
            Self::Pair { .. } => "write NAME=VALUE",
            Self::Network { .. } => "write none, full, or allow:HOST,HOST",
        };
        hint.to_owned()
    }
}
