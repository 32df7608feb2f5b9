//! A first look at a frame, byte by byte and in constant memory.
//!
//! It tells what a parser must not be asked to build, and whose request it is
//! also where the frame is too long to be kept.

/// Longest id that is read, in bytes.
const ID_BYTES_MAX: usize = 256;

/// What is known of a frame so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Skim {
    /// How deep lists and objects stand in each other here.
    depth: usize,
    /// How deep they stood at most.
    pub(super) depth_max: usize,
    /// Values that begin, of lists and objects; about as many as there are.
    pub(super) values: usize,
    text: Text,
    /// What the outer object is read for.
    place: Place,
    key: Vec<u8>,
    id: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Text {
    #[default]
    Outside,
    Inside,
    /// After a backslash.
    Escape,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    #[default]
    Before,
    Key,
    /// In a value; whether it is that of `id`.
    Value(bool),
}

impl Skim {
    /// Looks at the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// Returns the id as it stands in the frame: a text or a number, if it is one.
    pub(super) fn id(&self) -> Option<serde_json::Value> {
        let id: serde_json::Value = serde_json::from_slice(&self.id).ok()?;
        (id.is_string() || id.is_number()).then_some(id)
    }

    fn step(&mut self, byte: u8) {
        match self.text {
            Text::Escape => {
                self.text = Text::Inside;
                self.keep(byte);
            }
            Text::Inside => {
                self.text = match byte {
                    b'\\' => Text::Escape,
                    b'"' => Text::Outside,
                    _ => Text::Inside,
                };
                self.keep(byte);
            }
            Text::Outside => self.outside(byte),
        }
    }

    fn outside(&mut self, byte: u8) {
        let is_outer = self.depth == 1;
        match byte {
            b'"' => {
                self.text = Text::Inside;
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.keep(byte);
                self.depth += 1;
                self.values += 1;
                self.depth_max = self.depth_max.max(self.depth);
                if self.depth == 1 {
                    self.begin_key();
                }
            }
            b'}' | b']' => {
                self.depth = self.depth.saturating_sub(1);
                if is_outer {
                    self.place = Place::Before;
                }
                self.keep(byte);
            }
            b',' => {
                self.values += 1;
                if is_outer {
                    self.begin_key();
                } else {
                    self.keep(byte);
                }
            }
            b':' if is_outer && self.place == Place::Key => {
                let is_id = self.key == b"\"id\"";
                if is_id {
                    self.id.clear();
                }
                self.place = Place::Value(is_id);
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            other => self.keep(other),
        }
    }

    fn begin_key(&mut self) {
        self.place = Place::Key;
        self.key.clear();
    }

    fn keep(&mut self, byte: u8) {
        let into = match self.place {
            Place::Key if self.depth == 1 => &mut self.key,
            Place::Value(true) => &mut self.id,
            Place::Before | Place::Key | Place::Value(false) => return,
        };
        // One byte more than fits makes it no id, as it should.
        if into.len() <= ID_BYTES_MAX {
            into.push(byte);
        }
    }
}

#[cfg(test)]
mod tests;
