//! Shell text, read lexically and written: what a pipe decided, how words are quoted.
//!
//! Nothing is expanded or run, and no text is refused. Where only a real shell
//! could tell, the reading is a best effort.

#[cfg(test)]
mod tests;

/// Words that a shell would not take as the name of a program.
const RESERVED: [&str; 19] = [
    "if", "then", "else", "elif", "fi", "do", "done", "case", "esac", "while", "until", "for",
    "in", "select", "function", "time", "coproc", "{", "}",
];

/// Returns a command as a person would type it in sh.
///
/// A word stands as it is where sh reads it as itself, else in single quotes.
pub fn quote_words(words: &[String]) -> String {
    let quoted: Vec<String> = words
        .iter()
        .enumerate()
        .map(|(index, word)| {
            let is_plain = !word.is_empty() && word.chars().all(is_plain);
            // First, a word may also be an assignment or a part of a compound command.
            let is_command = !word.contains('=') && !RESERVED.contains(&word.as_str());
            if is_plain && (index > 0 || is_command) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', r"'\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

fn is_plain(letter: char) -> bool {
    letter.is_alphanumeric() || "_@%+=:,./-".contains(letter)
}

/// Returns whether the last element of the list `shell_text` is a pipe of several commands.
///
/// Only then is the exit code of the text that of the last part of a pipe. A
/// pipe inside a group, a loop or a substitution is not looked at, nor is one
/// in the background. Whether the text sets `pipefail` is not looked at either.
pub fn ends_in_pipe(shell_text: &str) -> bool {
    let mut reading = Reading::new(shell_text.as_bytes());
    while let Some(byte) = reading.peek(0) {
        match reading.top().kind {
            Kind::Quote | Kind::Parameter | Kind::Arithmetic => {
                reading.take_quoted(byte);
            }
            Kind::List | Kind::Group(_) | Kind::CaseHead | Kind::CasePattern | Kind::CaseBody => {
                reading.take(byte);
            }
        }
    }
    reading.finish_word();
    reading.frames.first().is_some_and(|whole| whole.is_piped)
}

/// What the reading is inside of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// The whole text, `( … )` or `$( … )`.
    List,
    /// A compound command, until this word.
    Group(&'static [u8]),
    /// `case … in`.
    CaseHead,
    /// In a case, before the `)` of a pattern.
    CasePattern,
    /// In a case, after it.
    CaseBody,
    /// `" … "`.
    Quote,
    /// `${ … }`. Bash reads quotes in it even where it stands in quotes.
    Parameter,
    /// One parenthesis of `(( … ))`.
    Arithmetic,
}

struct Frame {
    kind: Kind,
    /// The current element of this list has a pipe.
    is_piped: bool,
    /// The next word begins another element.
    is_element_over: bool,
    /// The next word may be a reserved one.
    is_at_command: bool,
    /// A line break does not end the element here.
    is_continued: bool,
    word_start: Option<usize>,
}

struct HereDocument {
    delimiter: Vec<u8>,
    strips_tabs: bool,
}

struct Reading<'a> {
    bytes: &'a [u8],
    at: usize,
    frames: Vec<Frame>,
    /// Frames that a `)` closes, so that a stray one is known at once.
    open_lists: usize,
    /// Announced on this line; their bodies begin on the next.
    here_documents: Vec<HereDocument>,
}

impl<'a> Reading<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut reading = Self {
            bytes,
            at: 0,
            frames: Vec::new(),
            open_lists: 0,
            here_documents: Vec::new(),
        };
        reading.push(Kind::List, true);
        reading
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.at + ahead).copied()
    }

    fn starts_with(&self, text: &str) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        rest.starts_with(text.as_bytes())
    }

    fn top(&mut self) -> &mut Frame {
        self.frames
            .last_mut()
            .expect("the frame of the whole text stays")
    }

    fn push(&mut self, kind: Kind, is_at_command: bool) {
        self.frames.push(Frame {
            kind,
            is_piped: false,
            is_element_over: false,
            is_at_command,
            is_continued: false,
            word_start: None,
        });
    }

    fn pop(&mut self) {
        if self.frames.len() > 1 {
            self.frames.pop();
        }
    }

    /// Takes what stands in a list: words and operators.
    fn take(&mut self, byte: u8) {
        match byte {
            b' ' | b'\t' => {
                self.finish_word();
                self.at += 1;
            }
            b'\n' => self.take_line_break(),
            b'#' if self.top().word_start.is_none() => self.skip_past(b'\n', false),
            b'\\' if self.peek(1) == Some(b'\n') => self.at += 2,
            b'|' => self.take_pipe(),
            b'&' => self.take_ampersand(),
            b';' => self.take_semicolon(),
            b'<' | b'>' => self.take_redirection(byte),
            b'(' => self.take_open(),
            b')' => self.take_close(),
            _ => {
                self.begin_word();
                self.take_in_word(byte);
            }
        }
    }

    /// Takes what stands in quotes, in `${ … }` or in arithmetic.
    fn take_quoted(&mut self, byte: u8) {
        let kind = self.top().kind;
        match (kind, byte) {
            (Kind::Quote, b'"') | (Kind::Parameter, b'}') | (Kind::Arithmetic, b')') => {
                self.at += 1;
                self.pop();
            }
            (Kind::Arithmetic, b'(') => {
                self.at += 1;
                self.push(Kind::Arithmetic, false);
            }
            (Kind::Quote, b'\'') => self.at += 1,
            _ => self.take_in_word(byte),
        }
    }

    /// Takes what means the same in every place: quotes and substitutions.
    fn take_in_word(&mut self, byte: u8) {
        let is_quote = self.top().kind == Kind::Quote;
        match byte {
            b'\\' => self.at += 2,
            b'\'' => self.skip_quote(1, false),
            b'$' if self.peek(1) == Some(b'\'') && !is_quote => self.skip_quote(2, true),
            b'`' => self.skip_backquote(),
            b'"' => self.open(1, Kind::Quote),
            b'$' if self.starts_with("$((") => {
                self.open(3, Kind::Arithmetic);
                self.push(Kind::Arithmetic, false);
            }
            b'$' if self.starts_with("$(") => {
                self.open(2, Kind::List);
                self.open_lists += 1;
            }
            b'$' if self.starts_with("${") => self.open(2, Kind::Parameter),
            _ => self.at += 1,
        }
    }
}

/// Words, and what is skipped.
impl Reading<'_> {
    fn open(&mut self, length: usize, kind: Kind) {
        self.at += length;
        self.push(kind, true);
    }

    fn skip_quote(&mut self, opening: usize, escapes: bool) {
        self.at += opening;
        self.skip_past(b'\'', escapes);
        self.at += 1;
    }

    fn skip_backquote(&mut self) {
        self.at += 1;
        self.skip_past(b'`', true);
        self.at += 1;
    }

    /// Goes to the next `end`, or to the end of the text.
    fn skip_past(&mut self, end: u8, escapes: bool) {
        while let Some(byte) = self.peek(0).filter(|byte| *byte != end) {
            self.at += if escapes && byte == b'\\' { 2 } else { 1 };
        }
    }

    fn begin_word(&mut self) {
        let at = self.at;
        if self.top().word_start.is_none() {
            self.begin_part();
            self.top().word_start = Some(at);
        }
    }

    /// Begins whatever belongs to a command: a word, a redirection, a group.
    fn begin_part(&mut self) {
        let top = self.top();
        if top.is_element_over {
            top.is_piped = false;
            top.is_element_over = false;
        }
        top.is_continued = false;
    }

    fn finish_word(&mut self) {
        let end = self.at.min(self.bytes.len());
        let Some(start) = self.top().word_start.take() else {
            return;
        };
        let word = &self.bytes[start..end];
        let top = self.top();
        match top.kind {
            Kind::CaseHead if word == b"in" => top.kind = Kind::CasePattern,
            Kind::CasePattern if word == b"esac" => self.close_group(),
            Kind::Group(b"]]") if word == b"]]" => self.close_group(),
            Kind::List | Kind::Group(_) | Kind::CaseBody if top.is_at_command => {
                self.take_command_word(word);
            }
            Kind::List
            | Kind::Group(_)
            | Kind::CaseHead
            | Kind::CasePattern
            | Kind::CaseBody
            | Kind::Quote
            | Kind::Parameter
            | Kind::Arithmetic => {}
        }
    }

    fn take_command_word(&mut self, word: &[u8]) {
        let kind = self.top().kind;
        if kind == Kind::CaseBody && word == b"esac" {
            return self.close_group();
        }
        if let Kind::Group(end) = kind
            && word == end
        {
            return self.close_group();
        }
        match word {
            b"do" | b"then" | b"else" | b"elif" | b"!" | b"time" => {}
            b"{" => self.push(Kind::Group(b"}"), true),
            b"if" => self.push(Kind::Group(b"fi"), true),
            b"while" | b"until" => self.push(Kind::Group(b"done"), true),
            b"for" | b"select" => self.push(Kind::Group(b"done"), false),
            b"case" => self.push(Kind::CaseHead, false),
            b"[[" => self.push(Kind::Group(b"]]"), false),
            _ => self.top().is_at_command = false,
        }
    }

    /// Ends a compound command. The word that ends the one around it may follow.
    fn close_group(&mut self) {
        self.pop();
        self.top().is_at_command = true;
    }
}

/// Operators.
impl Reading<'_> {
    fn separate(&mut self, length: usize, is_continued: bool) {
        self.at += length;
        let top = self.top();
        top.is_element_over = true;
        top.is_at_command = true;
        top.is_continued = is_continued;
    }

    fn take_line_break(&mut self) {
        self.finish_word();
        self.at += 1;
        for document in std::mem::take(&mut self.here_documents) {
            self.skip_here_document(&document);
        }
        if !self.top().is_continued {
            self.separate(0, false);
        }
    }

    fn take_pipe(&mut self) {
        self.finish_word();
        if self.starts_with("||") {
            return self.separate(2, true);
        }
        self.at += if self.starts_with("|&") { 2 } else { 1 };
        let top = self.top();
        top.is_piped = true;
        top.is_at_command = true;
        top.is_continued = true;
    }

    fn take_ampersand(&mut self) {
        self.finish_word();
        if self.starts_with("&&") {
            self.separate(2, true);
        } else if self.starts_with("&>") {
            self.at += 1;
            self.take_redirection(b'>');
        } else {
            // The exit code of the start counts, not that of the pipe.
            self.top().is_piped = false;
            self.separate(1, false);
        }
    }

    fn take_semicolon(&mut self) {
        self.finish_word();
        let ends_branch = self.starts_with(";;") || self.starts_with(";&");
        if self.top().kind == Kind::CaseBody && ends_branch {
            while matches!(self.peek(0), Some(b';' | b'&')) {
                self.at += 1;
            }
            self.top().kind = Kind::CasePattern;
        } else {
            self.separate(1, false);
        }
    }

    fn take_redirection(&mut self, byte: u8) {
        self.finish_word();
        self.begin_part();
        self.top().is_at_command = false;
        if self.starts_with("<<<") {
            self.at += 3;
        } else if self.starts_with("<<") {
            self.at += 2;
            self.take_here_document();
        } else {
            self.at += 1;
            let second = self.peek(0);
            let is_double = match byte {
                b'<' => matches!(second, Some(b'&' | b'>')),
                _ => matches!(second, Some(b'&' | b'>' | b'|')),
            };
            self.at += usize::from(is_double);
        }
    }

    fn take_open(&mut self) {
        let is_in_word = self.top().word_start.is_some();
        self.finish_word();
        if self.top().kind == Kind::CasePattern && !is_in_word {
            self.at += 1;
            return;
        }
        self.begin_part();
        if self.starts_with("((") {
            self.open(2, Kind::Arithmetic);
            self.push(Kind::Arithmetic, false);
        } else {
            self.open(1, Kind::List);
            self.open_lists += 1;
        }
    }

    fn take_close(&mut self) {
        self.finish_word();
        self.at += 1;
        if self.top().kind == Kind::CasePattern {
            self.top().kind = Kind::CaseBody;
            self.top().is_at_command = true;
            return;
        }
        if self.open_lists == 0 {
            return;
        }
        // Groups that were not ended inside the list end with it.
        while self.top().kind != Kind::List {
            self.pop();
        }
        self.pop();
        self.open_lists -= 1;
        let top = self.top();
        if top.word_start.is_none() {
            top.is_at_command = true;
        }
    }

    fn take_here_document(&mut self) {
        let strips_tabs = self.peek(0) == Some(b'-');
        self.at += usize::from(strips_tabs);
        while matches!(self.peek(0), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        let mut delimiter = Vec::new();
        let mut quote = None;
        while let Some(byte) = self.peek(0).filter(|byte| *byte != b'\n') {
            match (byte, quote) {
                (b'\'' | b'"', None) => quote = Some(byte),
                (_, Some(opened)) if byte == opened => quote = None,
                (b' ' | b'\t' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')', None) => break,
                (b'\\', None) => {
                    self.at += 1;
                    delimiter.extend(self.peek(0));
                }
                _ => delimiter.push(byte),
            }
            self.at += 1;
        }
        self.here_documents.push(HereDocument {
            delimiter,
            strips_tabs,
        });
    }

    fn skip_here_document(&mut self, document: &HereDocument) {
        while let Some(rest) = self.bytes.get(self.at..).filter(|rest| !rest.is_empty()) {
            let length = rest.iter().take_while(|byte| **byte != b'\n').count();
            self.at += length + 1;
            let mut line = &rest[..length];
            while let Some(stripped) = line.strip_prefix(b"\t").filter(|_| document.strips_tabs) {
                line = stripped;
            }
            if line == document.delimiter {
                return;
            }
        }
    }
}
