//! Mistakes on the command line, told like every other failure.

use crate::{
    failure::{Failure, exit},
    values::ValueError,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use outlast_journal::error::Advice;
use std::error::Error;
use std::ffi::OsString;

/// How the parser names the words of a command.
const COMMAND: &str = "PROG ARG";

/// Returns whether the answer is to be a document: `--json` stands before any `--`.
pub(crate) fn wants_json(words: &[OsString]) -> bool {
    words
        .iter()
        .take_while(|word| *word != "--")
        .any(|word| word == "--json")
}

/// Returns the failure that a parse of `words` ended in.
///
/// A value that was refused is named by its option and told in our own words,
/// since the parser would repeat the whole value, which may be a secret.
pub(crate) fn failure(error: &clap::Error, words: &[OsString]) -> Failure {
    if error.kind() == ErrorKind::InvalidUtf8 {
        return not_utf8(words);
    }
    let option = context(error, ContextKind::InvalidArg);
    let value = error
        .source()
        .and_then(|source| source.downcast_ref::<ValueError>());
    if let Some(value) = value {
        let message = match option {
            Some(option) => format!("{value}, given as {option}"),
            None => value.to_string(),
        };
        return Failure::plain(value.code(), message, &value.hint(), exit::USAGE);
    }
    if error.kind() == ErrorKind::MissingRequiredArgument
        && option
            .as_ref()
            .is_some_and(|missing| missing.contains(COMMAND))
    {
        return no_command();
    }
    let text = error.render().to_string();
    let message = match context(error, ContextKind::InvalidSubcommand) {
        Some(verb) => format!("unrecognized verb '{verb}'"),
        None => fact(&text),
    };
    let hint = match (tip(&text), verb(words)) {
        (Some(tip), _) => tip,
        (None, Some(verb)) => format!("see `outlast {verb} --help`"),
        (None, None) => "see `outlast --help`".to_owned(),
    };
    Failure::plain("usage", message, &hint, exit::USAGE)
}

fn no_command() -> Failure {
    let message = "nothing says what to run: neither a program nor, with -c, a text".to_owned();
    let hint = "write for example `outlast run -- cargo test` or `outlast run -c 'make | tee log'`";
    Failure::plain("usage", message, hint, exit::USAGE)
}

fn not_utf8(words: &[OsString]) -> Failure {
    let odd = words.iter().find(|word| word.to_str().is_none());
    let lossy = odd.map(|word| word.to_string_lossy().into_owned());
    let message = format!("the argument is not UTF-8: `{}`", lossy.unwrap_or_default());
    let hint = "names, labels and ids are text; write it in UTF-8";
    Failure::plain("not_utf8", message, hint, exit::USAGE)
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<String> {
    let found = error.get(kind)?;
    if let ContextValue::Strings(texts) = found {
        return Some(texts.join(", "));
    }
    Some(found.to_string())
}

/// Returns the first paragraph of the parser's message as one line.
fn fact(text: &str) -> String {
    let paragraph = text.split("\n\n").next().unwrap_or(text);
    let words: Vec<&str> = paragraph.split_whitespace().collect();
    let line = words.join(" ");
    line.strip_prefix("error: ").unwrap_or(&line).to_owned()
}

/// Returns what the parser would rather have read.
fn tip(text: &str) -> Option<String> {
    let mut tips = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix("tip: "));
    // What the parser calls a subcommand is a verb to everyone else.
    tips.next().map(|tip| tip.replace("subcommand", "verb"))
}

/// Returns the verb that was typed, if the first word is one.
fn verb(words: &[OsString]) -> Option<String> {
    use clap::CommandFactory;
    let typed = words.get(1)?.to_str()?;
    let command = crate::cli::Cli::command();
    let is_verb = command
        .get_subcommands()
        .any(|verb| verb.get_name() == typed);
    is_verb.then(|| typed.to_owned())
}

#[cfg(test)]
mod tests;
