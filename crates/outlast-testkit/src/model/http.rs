//! As much of HTTP/1.1 as clients of a model need: requests with a body of known
//! length or in chunks, answers with a length or as a stream of events.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use serde_json::{Value, json};

use super::script::{End, Gate};

/// Longest body, in bytes: a conversation, with room.
const BODY_BYTES_MAX: usize = 64 << 20;

/// A request.
#[derive(Debug)]
pub(super) struct Http {
    pub(super) method: String,
    /// Without the query.
    pub(super) path: String,
    /// Names in lower case.
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Vec<u8>,
}

/// An event of a stream.
#[derive(Debug)]
pub(super) struct Event {
    pub(super) name: Option<String>,
    pub(super) data: String,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    status: u16,
    retry_after_secs: Option<u64>,
    kind: Option<String>,
    body: Body,
    end: End,
    held_after: Option<(usize, Gate)>,
}

#[derive(Debug)]
enum Body {
    Document(Value),
    Stream(Vec<Event>),
    Raw(String),
}

/// Reads a request, `None` when the other side has closed the connection.
///
/// # Errors
/// Fails when the connection breaks and when what comes is no request.
pub(super) fn read(
    reader: &mut BufReader<&TcpStream>,
    mut connection: &TcpStream,
) -> io::Result<Option<Http>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Err(no_http("the first line is no request"));
    };
    let path = target.split('?').next().unwrap_or_default();
    let mut request = Http {
        method: method.to_owned(),
        path: path.to_owned(),
        headers: headers(reader)?,
        body: Vec::new(),
    };
    if request.headers.contains_key("expect") {
        connection.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
    }
    request.body = body(reader, &request.headers)?;
    Ok(Some(request))
}

fn no_http(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

fn headers(reader: &mut BufReader<&TcpStream>) -> io::Result<BTreeMap<String, String>> {
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            return Ok(headers);
        };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
}

fn body(
    reader: &mut BufReader<&TcpStream>,
    headers: &BTreeMap<String, String>,
) -> io::Result<Vec<u8>> {
    let header = |name: &str| headers.get(name).map(String::as_str);
    let mut body = Vec::new();
    if header("transfer-encoding").is_none_or(|coding| !coding.contains("chunked")) {
        let length = header("content-length").unwrap_or("0").parse();
        let length = length.map_err(|_| no_http("a length that is no number"))?;
        read_part(reader, &mut body, length)?;
        return Ok(body);
    }
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let length = line.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(length, 16);
        let length = length.map_err(|_| no_http("a chunk without a length"))?;
        read_part(reader, &mut body, length)?;
        // The line's end after the chunk; after the last one, that of the trailer.
        reader.read_line(&mut String::new())?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn read_part(
    reader: &mut BufReader<&TcpStream>,
    body: &mut Vec<u8>,
    length: usize,
) -> io::Result<()> {
    let before = body.len();
    if before.saturating_add(length) > BODY_BYTES_MAX {
        return Err(no_http("a body that is too long"));
    }
    body.resize(before + length, 0);
    reader.read_exact(body.get_mut(before..).unwrap_or_default())
}

impl Answer {
    /// Returns an answer that is one document.
    pub(super) fn document(document: Value) -> Self {
        Self {
            status: 200,
            retry_after_secs: None,
            kind: None,
            body: Body::Document(document),
            end: End::Whole,
            held_after: None,
        }
    }

    /// Returns an answer that is a stream of events.
    pub(super) fn stream(events: Vec<Event>) -> Self {
        Self {
            body: Body::Stream(events),
            ..Self::document(Value::Null)
        }
    }

    /// Returns an answer that refuses.
    pub(super) fn refusal(status: u16, words: &str) -> Self {
        let error = json!({"type": "scripted", "code": status, "message": words});
        Self {
            status,
            ..Self::document(json!({"type": "error", "error": error}))
        }
    }

    /// Returns the answer with the time after which to come again.
    pub(super) fn retry_after(mut self, seconds: Option<u64>) -> Self {
        self.retry_after_secs = seconds;
        self
    }

    /// Returns an answer that is this text.
    pub(super) fn raw(status: u16, kind: &str, body: &str) -> Self {
        Self {
            status,
            kind: Some(kind.to_owned()),
            body: Body::Raw(body.to_owned()),
            ..Self::document(Value::Null)
        }
    }

    /// Returns the answer with this type, if one is given.
    pub(super) fn of_kind(mut self, kind: Option<&str>) -> Self {
        self.kind = kind.map(str::to_owned).or(self.kind);
        self
    }

    /// Returns the answer so that it ends in this way.
    pub(super) fn ending(mut self, end: End) -> Self {
        self.end = end;
        self
    }

    /// Returns the answer so that it pauses at a gate.
    pub(super) fn held_after(mut self, held_after: Option<(usize, Gate)>) -> Self {
        self.held_after = held_after;
        self
    }

    /// Writes the answer. Returns false when it was cut and the connection is to be closed.
    ///
    /// # Errors
    /// Fails when the connection breaks.
    pub(super) fn write(&self, to: &TcpStream, is_head: bool) -> io::Result<bool> {
        match &self.body {
            Body::Document(document) => {
                self.write_text(to, is_head, "application/json", &document.to_string())?;
            }
            Body::Raw(text) => self.write_text(to, is_head, "text/plain", text)?,
            Body::Stream(events) => self.write_stream(to, events)?,
        }
        Ok(!matches!(self.end, End::Cut(_)))
    }

    fn write_text(
        &self,
        mut to: &TcpStream,
        is_head: bool,
        kind: &str,
        text: &str,
    ) -> io::Result<()> {
        let length = text.len();
        let head = self.head(kind, &format!("content-length: {length}"));
        to.write_all(head.as_bytes())?;
        let shown = match (is_head, self.end) {
            (true, _) => 0,
            (false, End::Whole | End::Short(_)) => length,
            (false, End::Cut(_)) => length / 2,
        };
        to.write_all(text.as_bytes().get(..shown).unwrap_or_default())
    }

    fn write_stream(&self, mut to: &TcpStream, events: &[Event]) -> io::Result<()> {
        let head = self.head("text/event-stream", "transfer-encoding: chunked");
        to.write_all(head.as_bytes())?;
        let shown = match self.end {
            End::Whole => events.len(),
            End::Cut(shown) | End::Short(shown) => shown,
        };
        let held = self.held_after.as_ref();
        let wait_at = |at: usize| {
            if let Some((_, gate)) = held.filter(|(after, _)| *after == at) {
                gate.wait();
            }
        };
        for (event, at) in events.iter().take(shown).zip(0_usize..) {
            wait_at(at);
            let text = event.text();
            write!(to, "{:x}\r\n{text}\r\n", text.len())?;
        }
        wait_at(shown);
        if !matches!(self.end, End::Cut(_)) {
            to.write_all(b"0\r\n\r\n")?;
        }
        Ok(())
    }

    fn head(&self, kind: &str, length: &str) -> String {
        let status = self.status;
        let kind = self.kind.as_deref().unwrap_or(kind);
        let again = self.retry_after_secs;
        let again = again.map(|seconds| format!("retry-after: {seconds}\r\n"));
        let again = again.unwrap_or_default();
        format!("HTTP/1.1 {status} Scripted\r\ncontent-type: {kind}\r\n{again}{length}\r\n\r\n")
    }
}

impl Event {
    /// Returns an event that is named after the `type` of its data.
    pub(super) fn typed(data: &Value) -> Self {
        Self {
            name: data["type"].as_str().map(str::to_owned),
            data: data.to_string(),
        }
    }

    /// Returns an event without a name.
    pub(super) fn plain(data: &impl ToString) -> Self {
        Self {
            name: None,
            data: data.to_string(),
        }
    }

    fn text(&self) -> String {
        let name = self.name.as_ref().map(|name| format!("event: {name}\n"));
        format!("{}data: {}\n\n", name.unwrap_or_default(), self.data)
    }
}
