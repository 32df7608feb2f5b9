//! Patterns over a text: `*` for any characters, `?` for one, `\` before one that is meant as such.

/// Signs by which a shell begins another command, or reads or writes elsewhere.
const SHELL_SIGNS: [char; 10] = ['\n', ';', '&', '|', '(', ')', '<', '>', '`', '$'];

/// What `*` and `?` may stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reach {
    /// Every character.
    All,
    /// Every character but those that begin another command.
    OneCommand,
}

/// A pattern, which a text matches as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    One(char),
    AnyOne,
    Any,
}

impl Pattern {
    /// Reads a pattern; every text is one.
    pub(super) fn new(text: &str) -> Self {
        let mut parts = Vec::new();
        let mut left = text.chars();
        while let Some(sign) = left.next() {
            parts.push(match sign {
                '*' => Part::Any,
                '?' => Part::AnyOne,
                '\\' => Part::One(left.next().unwrap_or('\\')),
                other => Part::One(other),
            });
        }
        Self {
            text: text.to_owned(),
            parts,
        }
    }

    /// Returns the pattern as it was written.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the whole of `text` matches. Takes at most the product of both lengths.
    pub(super) fn fits(&self, text: &str, reach: Reach) -> bool {
        let stands_for = |sign: char| reach == Reach::All || !SHELL_SIGNS.contains(&sign);
        let text: Vec<char> = text.chars().collect();
        let (mut at, mut part) = (0, 0);
        // Where the last `*` stands, and how far it reaches by now.
        let mut star: Option<(usize, usize)> = None;
        while at < text.len() {
            let sign = text[at];
            let fits = match self.parts.get(part) {
                Some(Part::Any) => {
                    star = Some((part, at));
                    part += 1;
                    continue;
                }
                Some(Part::One(wanted)) => *wanted == sign,
                Some(Part::AnyOne) => stands_for(sign),
                None => false,
            };
            if fits {
                at += 1;
                part += 1;
                continue;
            }
            match star {
                Some((of, end)) if stands_for(text[end]) => {
                    star = Some((of, end + 1));
                    at = end + 1;
                    part = of + 1;
                }
                Some(_) | None => return false,
            }
        }
        let rest = self.parts.get(part..).unwrap_or_default();
        rest.iter().all(|part| *part == Part::Any)
    }
}

#[cfg(test)]
mod tests;
