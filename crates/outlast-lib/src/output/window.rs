//! A part of a log as it is shown: secrets masked, the gap told in a line of its own.
//!
//! It knows for each shown byte which raw byte it stands for, and which places
//! may not be cut apart. Where a page begins and ends is left to `view` and
//! `search`.

use super::border;
use super::log::{Kept, Log, Segment, index};
use outlast_journal::mask::Masker;
use outlast_journal::{Gap, text};
use std::borrow::Cow;
use std::io;
use std::ops::Range;

/// Shown bytes with the raw bytes that they stand for.
pub(super) struct Window<'a> {
    masker: &'a Masker,
    bytes: Vec<u8>,
    pieces: Vec<Piece>,
    /// Offset of the first raw byte after the window.
    raw_end: u64,
}

/// Shown bytes of one kind that follow each other.
struct Piece {
    shown: Range<usize>,
    raw: Range<u64>,
    kind: PieceKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum PieceKind {
    /// Raw bytes as they are.
    Kept,
    /// Words in the place of a secret.
    Mask,
    /// The end of a line that the gap cut off; stands for no raw byte.
    Break,
    /// The line that tells of the gap.
    Gap,
}

/// Stands in the place of bytes that may be a part of a secret whose rest is in the gap.
const UNSURE: &str = "[outlast: masked]";

/// Raw bytes that are not shown as they are.
struct Cover {
    raw: Range<u64>,
    kind: PieceKind,
    /// What is shown.
    text: String,
}

impl<'a> Window<'a> {
    /// Reads what `log` keeps of `range`, and a little more where a secret crosses its end.
    pub(super) fn load(log: &Log<'_>, masker: &'a Masker, range: Range<u64>) -> io::Result<Self> {
        // A secret is known by all of its bytes, so that many are looked at
        // on both sides.
        let reach = masker.longest().saturating_sub(1) as u64;
        let reach_end = range.end.saturating_add(reach).min(log.total_bytes());
        let kept = log.kept(range.start.saturating_sub(reach)..reach_end)?;
        let covers = covers(&kept, masker, reach);
        let crossing = covers
            .iter()
            .find(|cover| cover.raw.start < range.end && cover.raw.end > range.end);
        let raw_end = crossing.map_or(range.end, |cover| cover.raw.end);
        let mut window = Self {
            masker,
            bytes: Vec::new(),
            pieces: Vec::new(),
            raw_end,
        };
        let mut at = range.start;
        for cover in covers {
            if cover.raw.end <= at || cover.raw.start >= raw_end {
                continue;
            }
            window.push_kept(&kept, at..cover.raw.start);
            at = cover.raw.end;
            window.push_cover(&cover);
        }
        window.push_kept(&kept, at..raw_end);
        Ok(window)
    }

    /// Returns how many bytes are shown.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the raw offset that the shown byte `at` stands for.
    pub(super) fn raw_at(&self, at: usize) -> u64 {
        let next = self.pieces.partition_point(|piece| piece.shown.end <= at);
        match self.pieces.get(next) {
            Some(piece) if piece.kind == PieceKind::Kept => {
                piece.raw.start + at.saturating_sub(piece.shown.start) as u64
            }
            Some(piece) => piece.raw.start,
            None => self.raw_end,
        }
    }

    /// Returns where the raw byte `raw`, or what stands for it, is shown.
    ///
    /// A character, escape sequence or secret that begins before it is left
    /// out; the line of the gap is not.
    pub(super) fn position(&self, raw: u64) -> usize {
        let next = self.pieces.partition_point(|piece| piece.raw.end <= raw);
        let at = match self.pieces.get(next) {
            Some(piece) if piece.kind == PieceKind::Kept => {
                piece.shown.start + index(raw.saturating_sub(piece.raw.start))
            }
            Some(piece) if piece.kind == PieceKind::Mask && piece.raw.start < raw => {
                piece.shown.end
            }
            Some(piece) => piece.shown.start,
            None => self.len(),
        };
        self.ceil(at)
    }

    /// Returns the last place at or before `at` where the shown bytes may be cut.
    pub(super) fn floor(&self, at: usize) -> usize {
        let mut at = at;
        while let Some(whole) = self.whole_around(at) {
            at = whole.start;
        }
        at
    }

    /// Returns the first place at or after `at` where the shown bytes may be cut.
    pub(super) fn ceil(&self, at: usize) -> usize {
        let mut at = at;
        while at < self.len()
            && let Some(whole) = self.whole_around(at)
        {
            at = whole.end.min(self.len());
        }
        at
    }

    /// Returns the first place after the line in which `at` is; `None` when it has no end yet.
    pub(super) fn line_end(&self, at: usize) -> Option<usize> {
        let rest = self.bytes.get(at..)?;
        let feed = rest.iter().position(|byte| *byte == b'\n')?;
        Some(at + feed + 1)
    }

    /// Returns where the line begins that ends at `end`; 0 when that is not in the window.
    pub(super) fn line_start(&self, end: usize) -> usize {
        let before = self.bytes.get(..end.saturating_sub(1)).unwrap_or_default();
        before
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |feed| feed + 1)
    }

    /// Returns where the last redraw of a line begins that stands in `range`, at its CR.
    pub(super) fn redraw(&self, range: Range<usize>) -> Option<usize> {
        let bytes = self.bytes.get(range.clone())?;
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let ink = bytes.iter().rposition(|byte| !is_end(byte))?;
        let drawn = bytes.get(..ink)?;
        let return_at = drawn.iter().rposition(|byte| *byte == b'\r')?;
        Some(range.start + return_at)
    }

    /// Returns whether the line at `at` tells of the gap.
    pub(super) fn is_gap_line(&self, at: usize) -> bool {
        let next = self.pieces.partition_point(|piece| piece.shown.end <= at);
        self.pieces
            .get(next)
            .is_some_and(|piece| piece.kind == PieceKind::Gap)
    }

    /// Returns whether a line of the gap begins in `range`.
    pub(super) fn has_gap_line(&self, range: &Range<usize>) -> bool {
        self.pieces
            .iter()
            .any(|piece| piece.kind == PieceKind::Gap && range.contains(&piece.shown.start))
    }

    /// Returns what a reader sees of `range`, which holds at most one line.
    pub(super) fn text(&self, range: Range<usize>) -> Cow<'_, str> {
        let bytes = self.bytes.get(range).unwrap_or_default();
        if let Some(text) = as_it_is(bytes) {
            return Cow::Borrowed(text);
        }
        // Colours and redraws may have stood inside of a secret.
        let plain = text::plain(bytes);
        match self.masker.mask(plain.as_bytes()) {
            Cow::Borrowed(_) => Cow::Owned(plain),
            Cow::Owned(masked) => Cow::Owned(String::from_utf8_lossy(&masked).into_owned()),
        }
    }

    fn whole_around(&self, at: usize) -> Option<Range<usize>> {
        let next = self.pieces.partition_point(|piece| piece.shown.end <= at);
        match self.pieces.get(next) {
            Some(piece) if piece.kind != PieceKind::Kept && piece.shown.start < at => {
                Some(piece.shown.clone())
            }
            Some(_) | None => border::around(&self.bytes, at),
        }
    }

    fn push_kept(&mut self, kept: &Kept, range: Range<u64>) {
        for segment in &kept.segments {
            let bytes = segment.slice(&range);
            let raw = segment.from.max(range.start);
            self.push(bytes, raw..raw + bytes.len() as u64, PieceKind::Kept);
        }
    }

    fn push_cover(&mut self, cover: &Cover) {
        let is_line = cover.kind == PieceKind::Gap;
        if is_line && self.bytes.last().is_some_and(|byte| *byte != b'\n') {
            let start = cover.raw.start;
            self.push(b"\n", start..start, PieceKind::Break);
        }
        self.push(cover.text.as_bytes(), cover.raw.clone(), cover.kind);
    }

    fn push(&mut self, bytes: &[u8], raw: Range<u64>, kind: PieceKind) {
        if bytes.is_empty() {
            return;
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        let shown = start..self.bytes.len();
        self.pieces.push(Piece { shown, raw, kind });
    }
}

/// Returns the line that stands in the place of the gap, with its line feed.
///
/// The second number is the last byte that is gone, one less than `gap.to`.
fn gap_line(gap: Gap) -> String {
    let last = gap.to.saturating_sub(1);
    format!("[outlast: bytes {}–{last} not kept]\n", gap.from)
}

/// Returns the bytes as text when it is easy to see that nothing in them has to be cleaned.
fn as_it_is(bytes: &[u8]) -> Option<&str> {
    // 0xc2 begins the control characters beyond ASCII, among others.
    let is_clean = bytes
        .iter()
        .all(|byte| matches!(byte, b'\t' | b'\n' | b' '..=b'~' | 0x80..=0xc1 | 0xc3..=0xff));
    is_clean.then(|| std::str::from_utf8(bytes).ok()).flatten()
}

/// Returns what is not shown as it is, in order, no two of them overlapping.
fn covers(kept: &Kept, masker: &Masker, reach: u64) -> Vec<Cover> {
    let mut covers = Vec::new();
    if !masker.is_empty() {
        for segment in &kept.segments {
            let found = masker.find(&segment.bytes);
            covers.extend(
                found
                    .iter()
                    .map(|found| secret(segment, &found.range, masker)),
            );
        }
    }
    let Some(gap) = kept.gap else {
        return covers;
    };
    let raw = widened(kept, gap);
    if !masker.is_empty() {
        for mut unsure in beside_gap(kept, &raw, reach) {
            // Secrets that reach into it become a part of it.
            covers.retain(|cover: &Cover| {
                let is_apart = cover.raw.end <= unsure.start || cover.raw.start >= unsure.end;
                if !is_apart {
                    unsure.start = unsure.start.min(cover.raw.start);
                    unsure.end = unsure.end.max(cover.raw.end);
                }
                is_apart
            });
            covers.push(Cover {
                raw: unsure,
                kind: PieceKind::Mask,
                text: UNSURE.to_owned(),
            });
        }
    }
    covers.push(Cover {
        raw,
        kind: PieceKind::Gap,
        text: gap_line(gap),
    });
    covers.sort_by_key(|cover| (cover.raw.start, cover.raw.end));
    covers
}

/// Returns what stands for the secret in `range` of `segment`.
fn secret(segment: &Segment, range: &Range<usize>, masker: &Masker) -> Cover {
    let bytes = segment.bytes.get(range.clone()).unwrap_or_default();
    Cover {
        raw: segment.from + range.start as u64..segment.from + range.end as u64,
        kind: PieceKind::Mask,
        text: String::from_utf8_lossy(&masker.mask(bytes)).into_owned(),
    }
}

/// Returns the raw range of the gap with the parts of characters that it tore.
fn widened(kept: &Kept, gap: Gap) -> Range<u64> {
    let mut range = gap.from..gap.to;
    for segment in &kept.segments {
        if segment.to() == gap.from {
            range.start -= border::torn_back(&segment.bytes) as u64;
        }
        if segment.from == gap.to {
            range.end += border::torn_front(&segment.bytes) as u64;
        }
    }
    range
}

/// Returns the kept bytes beside the gap that may belong to a secret which it tore.
fn beside_gap(kept: &Kept, gap: &Range<u64>, reach: u64) -> Vec<Range<u64>> {
    let mut marks = Vec::new();
    for segment in &kept.segments {
        if segment.from < gap.start {
            let near = gap.start.saturating_sub(reach).max(segment.from);
            let at = index(near - segment.from);
            let whole = border::around(&segment.bytes, at).map_or(at, |whole| whole.start);
            marks.push(segment.from + whole as u64..gap.start);
        } else if segment.to() > gap.end {
            let near = gap.end.saturating_add(reach).min(segment.to());
            let at = index(near - segment.from);
            let whole = border::around(&segment.bytes, at).map_or(at, |whole| whole.end);
            marks.push(gap.end..segment.from.saturating_add(whole as u64).min(segment.to()));
        }
    }
    marks
}

#[cfg(test)]
mod tests;
