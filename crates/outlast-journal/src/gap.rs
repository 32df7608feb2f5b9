//! Bytes that an output log does not keep, and the file that says which.

use serde::{Deserialize, Serialize};

/// Bytes of an output log that are not kept: `from` up to, not with, `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gap {
    /// First byte that is gone.
    pub from: u64,
    /// First byte after it that is kept.
    pub to: u64,
}

impl Gap {
    /// Returns how many bytes are gone.
    pub fn bytes(self) -> u64 {
        self.to.saturating_sub(self.from)
    }
}

impl Gap {
    /// Bytes of a gap file: one line of fixed length, so that a write replaces it whole.
    pub const FILE_BYTES: usize = 96;

    /// Returns the gap as the content of its file.
    pub fn to_file(self) -> [u8; Self::FILE_BYTES] {
        let sum = self.from.wrapping_add(self.to);
        let text = format!(
            "{{\"v\":1,\"from\":{},\"to\":{},\"sum\":{sum}}}",
            self.from, self.to
        );
        let mut file = [b' '; Self::FILE_BYTES];
        file[..text.len()].copy_from_slice(text.as_bytes());
        file[Self::FILE_BYTES - 1] = b'\n';
        file
    }

    /// Reads the content of a gap file; `None` when it is empty or half written.
    pub fn from_file(bytes: &[u8]) -> Option<Self> {
        #[derive(Deserialize)]
        struct OnDisk {
            from: u64,
            to: u64,
            sum: u64,
        }
        let gap: OnDisk = serde_json::from_slice(bytes).ok()?;
        let is_whole = gap.from.wrapping_add(gap.to) == gap.sum && gap.from <= gap.to;
        is_whole.then_some(Self {
            from: gap.from,
            to: gap.to,
        })
    }
}
