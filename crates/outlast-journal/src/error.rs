//! The three parts of an error that are ours: fact (`Display`), next step, stable name.

/// An error that tells its reader what to do next.
///
/// `Display` is the fact and `source` the cause; this adds the other two parts.
pub trait Advice: std::error::Error {
    /// Returns the name that programs may match on. It never changes.
    fn code(&self) -> &'static str;

    /// Returns the next step, in one sentence.
    fn hint(&self) -> String;
}
