//! JSON Schema for final answers: the part of it that answers are asked in.
//!
//! Types, values, objects, lists, bounds, combinations, and references within the schema. A
//! keyword that would be passed over in silence is refused instead, but for those that only
//! describe.

mod keep;
mod well_formed;

pub(crate) use keep::faults;

use outlast_journal::error::Advice;
use serde_json::Value;

/// Checks that `schema` is a JSON Schema that final answers can be held against.
///
/// # Errors
///
/// Fails when it is none, when it uses a keyword that is not known here, and when it is too
/// large or too deep.
pub fn check_schema(schema: &Value) -> Result<(), SchemaError> {
    well_formed::check(schema)
}

/// Why a schema cannot be used for an answer.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    /// It is no schema.
    #[error("the schema is no JSON Schema: at `{at}`, {what}")]
    NotASchema {
        /// Where in it, as a JSON pointer.
        at: String,
        /// What is wrong there.
        what: String,
    },
    /// It uses a keyword that nothing here would keep.
    #[error("the schema uses `{keyword}` at `{at}`, which is not known here")]
    Unsupported {
        /// Where in it, as a JSON pointer.
        at: String,
        /// The keyword.
        keyword: String,
    },
    /// It is larger than a schema of an answer is.
    #[error("the schema has more than {bound}")]
    TooLarge {
        /// The bound.
        bound: String,
    },
}

impl Advice for SchemaError {
    fn code(&self) -> &'static str {
        match self {
            Self::NotASchema { .. } => "schema_invalid",
            Self::Unsupported { .. } => "schema_unsupported",
            Self::TooLarge { .. } => "schema_too_large",
        }
    }

    fn hint(&self) -> String {
        match self {
            Self::NotASchema { .. } => {
                "give a JSON Schema, as `{\"type\":\"object\",\"properties\":{…}}`".to_owned()
            }
            Self::Unsupported { .. } => {
                "say it with `type`, `properties`, `required`, `items`, `enum` and bounds"
                    .to_owned()
            }
            Self::TooLarge { .. } => "ask for a smaller answer".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests;
