//! Judges a failed attempt: is it worth another, or is it an error?
//!
//! Statuses decide, and where there is none the kind of failure. The provider's words
//! are only read where one status means several things.

use super::tap::Seen;
use super::{Choice, Fault, ModelError, Secret};
use genai::Error;
use genai::webc::StreamTimeout;
use outlast_journal::limits;
use reqwest::header::HeaderMap;
use serde_json::Value;
use std::error::Error as _;
use std::time::Duration;

/// What an attempt failed with.
#[derive(Debug)]
pub(super) enum Failure {
    /// Another attempt may do.
    Again {
        /// What went wrong.
        fault: Fault,
        /// What was said.
        said: String,
        /// How long the provider wants to be left alone.
        after: Option<Duration>,
    },
    /// None will.
    Final(ModelError),
}

/// Judges for one model.
#[derive(Clone, Copy)]
pub(super) struct Judge<'a> {
    pub(super) choice: &'a Choice,
    pub(super) key: Option<&'a Secret>,
}

impl Judge<'_> {
    /// Judges an error of the client library.
    pub(super) fn error(&self, error: &Error, seen: &Seen) -> Failure {
        // What came over HTTP stands inside of the error of the stream.
        let inner = if let Error::WebStream { error, .. } = error {
            Some(error)
        } else {
            None
        };
        let http = inner.and_then(|inner| inner.downcast_ref::<Error>());
        if let Some(Error::HttpError {
            status,
            body,
            headers,
            ..
        }) = http
        {
            return self.status(status.as_u16(), headers, body);
        }
        if let Some(late) = inner.and_then(|inner| inner.downcast_ref::<StreamTimeout>()) {
            return self.again(Fault::Stalled, &late.to_string());
        }
        if let Some(web) = inner.and_then(|inner| inner.downcast_ref::<reqwest::Error>()) {
            return self.connection(web);
        }
        let told = if let Error::ChatResponse { body, .. } = error {
            Some(body)
        } else {
            None
        };
        match seen.failure.as_ref().or(told) {
            Some(body) => self.told(body),
            None => self.again(Fault::Unreadable, &chain(error)),
        }
    }

    /// Judges a request that could not even be sent.
    pub(super) fn unsent(&self, error: &dyn std::error::Error) -> Failure {
        Failure::Final(ModelError::Unsent {
            model: self.choice.name.clone(),
            place: self.choice.place(),
            what: self.said(&error.to_string()),
        })
    }

    /// Judges an answer that ended without an end.
    pub(super) fn cut(&self) -> Failure {
        self.again(Fault::Cut, "the answer ended without an end")
    }

    /// Judges a call that the provider could not read.
    pub(super) fn malformed_call(&self) -> Failure {
        self.again(Fault::Unreadable, "the model wrote a call that is none")
    }

    /// Judges an answer that is longer than any should be.
    pub(super) fn endless(&self) -> Failure {
        self.again(Fault::Unreadable, "the answer is longer than any should be")
    }

    /// Judges an answer that takes longer than any should.
    pub(super) fn late(&self) -> Failure {
        self.again(Fault::Stalled, "the answer took too long")
    }

    /// Judges an answer that the provider did not let the model give.
    pub(super) fn blocked(&self, reason: &str) -> Failure {
        Failure::Final(ModelError::Blocked {
            model: self.choice.name.clone(),
            said: self.said(reason),
        })
    }

    /// Judges an HTTP status other than success.
    pub(super) fn status(&self, status: u16, headers: &HeaderMap, body: &str) -> Failure {
        let kind = header(headers, "content-type").unwrap_or_default();
        let is_page = kind.contains("html") || body.trim_start().starts_with("<!");
        let document: Value = serde_json::from_str(body).unwrap_or_default();
        let said = match words(&document) {
            Some(words) => self.said(&words),
            None if is_page => "a web page".to_owned(),
            None if body.trim().is_empty() => format!("status {status}"),
            None => self.said(body.trim()),
        };
        let again = |fault: Fault| Failure::Again {
            fault,
            said: said.clone(),
            after: pause(headers).or_else(|| named_pause(&document)),
        };
        let model = self.choice.name.clone();
        let place = self.choice.place();
        match status {
            _ if is_out_of_credit(status, &document, &said) => {
                Failure::Final(ModelError::Quota { model, place, said })
            }
            408 => again(Fault::Stalled),
            429 => again(Fault::RateLimited),
            503 | 529 => again(Fault::Overloaded),
            409 | 425 | 500..=599 => again(Fault::ServerFailed),
            _ if is_page || status < 400 => self.no_model(format!(
                "it answers with a {} (status {status})",
                if is_page { "web page" } else { "redirect" }
            )),
            401 | 403 => self.auth(status, said),
            400 if is_bad_key(&document) => self.auth(status, said),
            404 => Failure::Final(ModelError::NotFound { model, place, said }),
            413 => Failure::Final(ModelError::TooLong { model, said }),
            _ if is_too_long(&said) => Failure::Final(ModelError::TooLong { model, said }),
            _ => Failure::Final(ModelError::Invalid {
                model,
                status,
                said,
            }),
        }
    }

    /// Judges an error that came as an event of the stream, by its type or status in it.
    fn told(&self, body: &Value) -> Failure {
        let inside = body.get("error").unwrap_or(body);
        let word = |name: &str| inside.get(name).and_then(Value::as_str).unwrap_or_default();
        let kinds = [word("type"), word("code"), word("status")];
        let status = inside.get("code").and_then(Value::as_u64);
        let status = status.and_then(|status| u16::try_from(status).ok());
        let status = status.filter(|status| *status >= 400);
        let has = |kind: &str| kinds.iter().any(|word| word.contains(kind));
        let status = status.unwrap_or(match () {
            () if has("overloaded") || has("UNAVAILABLE") => 529,
            () if has("rate_limit") || has("insufficient_quota") => 429,
            () if has("RESOURCE_EXHAUSTED") => 429,
            () if has("authentication") => 401,
            () if has("permission") => 403,
            () if has("not_found") => 404,
            () if has("request_too_large") || has("context_length") => 413,
            () if has("invalid") => 400,
            () => 500,
        });
        self.status(status, &HeaderMap::new(), &body.to_string())
    }

    fn connection(&self, error: &reqwest::Error) -> Failure {
        // Its own words have the address, which may have been given with a password in it.
        let words = error.source().map(chain).unwrap_or_default();
        if words.contains("certificate") {
            return self.no_model(format!(
                "its certificate is not valid: {}",
                self.said(&words)
            ));
        }
        if error.is_builder() {
            return self.unsent(error);
        }
        if error.is_timeout() {
            self.again(Fault::Stalled, &words)
        } else if error.is_connect() || error.is_request() {
            self.again(Fault::Unreachable, &words)
        } else {
            self.again(Fault::Cut, &words)
        }
    }

    pub(super) fn no_model(&self, what: String) -> Failure {
        Failure::Final(ModelError::NotAModel {
            place: self.choice.place(),
            what,
        })
    }

    fn auth(&self, status: u16, said: String) -> Failure {
        Failure::Final(ModelError::Auth {
            model: self.choice.name.clone(),
            place: self.choice.place(),
            status,
            said,
        })
    }

    fn again(&self, fault: Fault, said: &str) -> Failure {
        Failure::Again {
            fault,
            said: self.said(said),
            after: None,
        }
    }

    /// Returns words of the provider on one line, cut, without the key.
    fn said(&self, words: &str) -> String {
        let words = self
            .key
            .map_or_else(|| words.to_owned(), |key| key.hide_in(words));
        let line = words.split_whitespace().collect::<Vec<_>>().join(" ");
        let mut letters = line.chars();
        let mut cut: String = letters.by_ref().take(limits::MODEL_WORDS_CHARS).collect();
        if letters.next().is_some() {
            cut.push('…');
        }
        cut
    }
}

/// Returns an error's words with those of its causes.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !words.contains(&more) {
            words.push_str(": ");
            words.push_str(&more);
        }
        cause = error.source();
    }
    words
}

/// Returns what a refusal says to people, from any of the usual forms.
fn words(document: &Value) -> Option<String> {
    let document = document.get(0).unwrap_or(document);
    let error = document.get("error").unwrap_or(document);
    let places = [&error["message"], &error["detail"], error];
    let words = places.iter().find_map(|place| place.as_str());
    words.map(str::to_owned).or_else(|| {
        let is_known = document.get("error").is_some() || document.get("detail").is_some();
        is_known.then(|| error.to_string())
    })
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// Returns how long the headers ask for: in milliseconds, in seconds or until a date.
fn pause(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| header(headers, name)?.trim().parse::<f64>().ok();
    let seconds = number("retry-after-ms")
        .map(|milliseconds| milliseconds / 1_000.0)
        .or_else(|| number("retry-after"));
    if let Some(seconds) = seconds {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |name: &str| httpdate::parse_http_date(header(headers, name)?).ok();
    let until = date("retry-after")?;
    // Its clock and ours need not agree: it is counted from the date that it gives itself.
    Some(until.duration_since(date("date")?).unwrap_or_default())
}

/// Returns how long Gemini asks for, which says it in the body.
fn named_pause(document: &Value) -> Option<Duration> {
    let document = document.get(0).unwrap_or(document);
    let details = document.pointer("/error/details")?.as_array()?;
    let delay = details
        .iter()
        .find_map(|detail| detail["retryDelay"].as_str())?;
    let seconds: f64 = delay.strip_suffix('s')?.parse().ok()?;
    Duration::try_from_secs_f64(seconds).ok()
}

fn is_out_of_credit(status: u16, document: &Value, said: &str) -> bool {
    let error = document.get("error").unwrap_or(document);
    let has_word = error["code"] == "insufficient_quota" || error["type"] == "insufficient_quota";
    status == 402
        || (status == 429 && has_word)
        || (status == 400 && said.contains("credit balance"))
}

fn is_bad_key(document: &Value) -> bool {
    let document = document.get(0).unwrap_or(document);
    let details = document.pointer("/error/details").and_then(Value::as_array);
    details.is_some_and(|details| {
        details
            .iter()
            .any(|detail| detail["reason"] == "API_KEY_INVALID")
    })
}

/// Returns whether the words say that the window is too small.
fn is_too_long(said: &str) -> bool {
    let said = said.to_lowercase();
    let is_of_window = [
        "prompt is too long",
        "context length",
        "context window",
        "context limit",
        "context size",
    ]
    .iter()
    .any(|words| said.contains(words));
    is_of_window || (said.contains("token count") && said.contains("exceed"))
}

#[cfg(test)]
mod tests;
