//! Replaces a text in a file, exactly as it was asked; where it cannot, it says why.

use super::file::{Target, answer, changed};
use super::{HandAnswer, Refused};
use crate::tools::seen::{Wrote, hash_of};
use crate::tools::workspace::Workspace;
use outlast_journal::limits::{EDIT_FILE_BYTES_MAX, EDIT_PLACES_NAMED_MAX};
use std::borrow::Cow;

/// Places that are tried to see whether an edit was done before.
const UNDONE_MAX: usize = 64;

/// What is to be changed.
pub(super) struct Change {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) is_all: bool,
    pub(super) before: String,
}

/// Changes a file whose content has the hash `before`. Done a second time, it does nothing.
pub(super) fn edit(workspace: &Workspace, change: &Change) -> Result<HandAnswer, Refused> {
    let path = &change.path;
    let target = Target::find(workspace, path)?;
    let Some(current) = target.current(workspace)? else {
        let why = format!("`{path}` is not there any more; look with `list_dir`");
        return Err(Refused::new("no_such_file", why));
    };
    let Ok(text) = str::from_utf8(&current.bytes) else {
        let why = format!("`{path}` is not UTF-8; change it with the shell");
        return Err(Refused::new("binary_file", why));
    };
    let wrote = |after: String| Wrote {
        path: path.clone(),
        before: Some(change.before.clone()),
        after,
    };
    let now = hash_of(&current.bytes);
    let (old, new) = fitted(text, change);
    if now != change.before {
        if is_done(text, &old, &new, change) {
            return Ok(answer("it was already so".to_owned(), wrote(now)));
        }
        return Err(changed(path));
    }
    let places: Vec<usize> = text.match_indices(&*old).map(|(at, _)| at).collect();
    if places.is_empty() {
        return Err(Refused::new("no_match", no_match(path, text, &old)));
    }
    if places.len() > 1 && !change.is_all {
        return Err(Refused::new("many_matches", many(path, text, &places)));
    }
    let after = text.replace(&*old, &new);
    if after.len() as u64 > EDIT_FILE_BYTES_MAX {
        let why = format!("`{path}` would be larger than {EDIT_FILE_BYTES_MAX} bytes");
        return Err(Refused::new("too_large", why));
    }
    target.replace(workspace, after.as_bytes(), Some(&current))?;
    let lines = lines_of(text, &places);
    let said = match places.len() {
        1 => format!("1 replacement, line {lines}"),
        count => format!("{count} replacements, lines {lines}"),
    };
    Ok(answer(said, wrote(hash_of(after.as_bytes()))))
}

/// Returns both texts with the line ends of the file, if all of its lines end in CRLF.
fn fitted<'a>(text: &str, change: &'a Change) -> (Cow<'a, str>, Cow<'a, str>) {
    let ends = text.matches('\n').count();
    let is_crlf = ends > 0 && text.matches("\r\n").count() == ends;
    if !is_crlf || change.old.contains('\r') {
        return (Cow::Borrowed(&*change.old), Cow::Borrowed(&*change.new));
    }
    let with_cr = |text: &str| text.replace("\r\n", "\n").replace('\n', "\r\n");
    (
        Cow::Owned(with_cr(&change.old)),
        Cow::Owned(with_cr(&change.new)),
    )
}

/// Returns whether the file is what this change makes of the content that it was to be made in.
fn is_done(text: &str, old: &str, new: &str, change: &Change) -> bool {
    let is_before = |undone: String| hash_of(undone.as_bytes()) == change.before;
    if new.is_empty() {
        return false;
    }
    if change.is_all {
        return is_before(text.replace(new, old));
    }
    text.match_indices(new).take(UNDONE_MAX).any(|(at, _)| {
        let (head, rest) = text.split_at(at);
        let tail = rest.strip_prefix(new).unwrap_or_default();
        is_before(format!("{head}{old}{tail}"))
    })
}

/// Says what comes nearest to a text that is not there.
fn no_match(path: &str, text: &str, old: &str) -> String {
    if let Some(line) = line_like(text, old, |line| line.split_whitespace().collect()) {
        return format!(
            "`old` is not in `{path}` as given; from line {line} on the same words stand there \
             with other blanks: copy them from `read_file`, without the line numbers"
        );
    }
    let numbered = old.lines().all(|line| {
        line.split_once('\t')
            .is_some_and(|(number, _)| number.trim().parse::<u64>().is_ok())
    });
    if numbered {
        return "`old` has the line numbers of `read_file`, which are not in the file; leave them \
                out"
        .to_owned();
    }
    if text.contains(&old.replace("\\n", "\n").replace("\\t", "\t")) {
        return format!(
            "`old` has `\\n` or `\\t` as two characters; in `{path}` there is a line end or a tab"
        );
    }
    if let Some(line) = line_like(text, old, str::to_lowercase) {
        return format!(
            "`old` is not in `{path}` as given; from line {line} on it stands there in other case"
        );
    }
    let first = old.lines().find(|line| !line.trim().is_empty());
    let first = first.unwrap_or_default().trim();
    match text.lines().position(|line| line.trim() == first) {
        Some(at) => format!(
            "`old` is not in `{path}` as a whole; its first line stands in line {}, what follows \
             differs: read it again from there",
            at + 1
        ),
        None => format!("`old` is not in `{path}`; find it with `grep_files`, then read it again"),
    }
}

/// Returns the number of the line from which on the lines of `old` follow, each as `form` sees it.
fn line_like(text: &str, old: &str, form: impl Fn(&str) -> String) -> Option<usize> {
    let wanted: Vec<String> = old.trim_matches('\n').lines().map(&form).collect();
    let lines: Vec<String> = text.lines().map(&form).collect();
    let is_blank = wanted.iter().all(|line| line.trim().is_empty());
    if wanted.is_empty() || is_blank || wanted.len() > lines.len() {
        return None;
    }
    let found = lines
        .windows(wanted.len())
        .position(|window| window == wanted);
    found.map(|at| at + 1)
}

fn many(path: &str, text: &str, places: &[usize]) -> String {
    format!(
        "`old` stands {} times in `{path}` (lines {}); give more of what is around it, or set \
         `replace_all`",
        places.len(),
        lines_of(text, places)
    )
}

/// Returns the numbers of the lines in which the places lie, the first few of them.
fn lines_of(text: &str, places: &[usize]) -> String {
    let mut line = 1;
    let mut from = 0;
    let mut numbers = Vec::new();
    for place in places.iter().take(EDIT_PLACES_NAMED_MAX) {
        let between = text.get(from..*place).unwrap_or_default();
        line += between.matches('\n').count();
        from = *place;
        numbers.push(line.to_string());
    }
    let more = if places.len() > EDIT_PLACES_NAMED_MAX {
        ", …"
    } else {
        ""
    };
    format!("{}{more}", numbers.join(", "))
}
