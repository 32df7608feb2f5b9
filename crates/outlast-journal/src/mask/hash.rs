//! The two hashes of a secret: one that is made of any bytes, one that rolls over them.

#[cfg(test)]
mod tests;

/// 2^61 - 1, a prime: sums of two residues fit, and the remainder needs no division.
const PRIME: u64 = (1 << 61) - 1;

/// Returns SipHash-2-4 of `bytes` with 128 bits, as 32 hex digits.
///
/// Its key is the first half of `key`; the second is that of the rolling hash.
pub fn keyed_hash(key: &[u8; 32], bytes: &[u8]) -> String {
    let [first, second, _, _] = words(key);
    let [low, high] = sip_hash([first, second], bytes);
    format!("{:016x}{:016x}", low.swap_bytes(), high.swap_bytes())
}

/// A polynomial hash modulo [`PRIME`], with a secret base.
pub(super) struct Rolling {
    key: [u64; 2],
    base: u64,
}

impl Rolling {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        let [_, _, first, second] = words(key);
        let key = [first, second];
        let [drawn, _] = sip_hash(key, b"base");
        // Neither 0 nor 1, with which the place of a byte would not count.
        let base = drawn % (PRIME - 2) + 2;
        Self { key, base }
    }

    /// Returns the hash of `value` as it is kept beside its other hash.
    ///
    /// The bare hash of a value that someone knows would give away the base,
    /// and with it a way to try values without the key.
    pub(super) fn sealed(&self, value: &[u8], hash: &str) -> u64 {
        step(1, self.of(value), [self.seal(hash), 0])
    }

    /// Returns the bare hash from what [`Rolling::sealed`] returned.
    pub(super) fn opened(&self, sealed: u64, hash: &str) -> u64 {
        step(1, sealed % PRIME, [PRIME - self.seal(hash), 0])
    }

    /// Returns the place and the hash of each run of `length` bytes, in order.
    pub(super) fn windows<'bytes>(
        &self,
        bytes: &'bytes [u8],
        length: usize,
    ) -> impl Iterator<Item = (usize, u64)> + use<'bytes> {
        let base = self.base;
        let weight = (0..length).fold(1, |weight, _| step(weight, base, [0; 2]));
        let mut leaving = [0; 256];
        for byte in 0..=u8::MAX {
            let share = step(u64::from(byte), weight, [0; 2]);
            leaving[usize::from(byte)] = (PRIME - share) % PRIME;
        }
        let (first, rest) = bytes.split_at_checked(length).unwrap_or_default();
        let begin = self.of(first);
        let mut hash = begin;
        let moved = bytes.iter().zip(rest).map(move |(left, entered)| {
            let terms = [u64::from(*entered), leaving[usize::from(*left)]];
            hash = step(hash, base, terms);
            hash
        });
        let whole = (first.len() == length).then_some(begin);
        whole.into_iter().chain(moved).enumerate()
    }

    fn of(&self, bytes: &[u8]) -> u64 {
        bytes
            .iter()
            .fold(0, |hash, byte| step(hash, self.base, [u64::from(*byte), 0]))
    }

    fn seal(&self, hash: &str) -> u64 {
        let [seal, _] = sip_hash(self.key, hash.as_bytes());
        seal % PRIME
    }
}

/// Returns `hash` times `base` plus two numbers less than [`PRIME`].
fn step(hash: u64, base: u64, terms: [u64; 2]) -> u64 {
    let (low, high) = hash.carrying_mul(base, 0);
    let [one, other] = terms;
    // Four numbers of 61 bits each, so their sum fits.
    let sum = (low & PRIME) + (high << 3 | low >> 61) + (one + other);
    let reduced = (sum & PRIME) + (sum >> 61);
    if reduced >= PRIME {
        reduced - PRIME
    } else {
        reduced
    }
}

fn words(key: &[u8; 32]) -> [u64; 4] {
    let (words, _) = key.as_chunks();
    std::array::from_fn(|index| u64::from_le_bytes(words[index]))
}

/// SipHash-2-4 as its authors specify it, with their extension to 128 bits.
fn sip_hash(key: [u64; 2], bytes: &[u8]) -> [u64; 2] {
    let [first, second] = key;
    let mut state = [
        first ^ 0x736f_6d65_7073_6575,
        second ^ 0x646f_7261_6e64_6f6d ^ 0xee,
        first ^ 0x6c79_6765_6e65_7261,
        second ^ 0x7465_6462_7974_6573,
    ];
    let (blocks, rest) = bytes.as_chunks::<8>();
    for block in blocks {
        absorb(&mut state, u64::from_le_bytes(*block));
    }
    let mut last = [0; 8];
    last[..rest.len()].copy_from_slice(rest);
    let [.., length] = (bytes.len() as u64).to_be_bytes();
    last[7] = length;
    absorb(&mut state, u64::from_le_bytes(last));
    state[2] ^= 0xee;
    let low = squeeze(&mut state);
    state[1] ^= 0xdd;
    let high = squeeze(&mut state);
    [low, high]
}

fn absorb(state: &mut [u64; 4], word: u64) {
    state[3] ^= word;
    round(state);
    round(state);
    state[0] ^= word;
}

fn squeeze(state: &mut [u64; 4]) -> u64 {
    for _ in 0..4 {
        round(state);
    }
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

fn round(state: &mut [u64; 4]) {
    let [mut v0, mut v1, mut v2, mut v3] = *state;
    v0 = v0.wrapping_add(v1);
    v1 = v1.rotate_left(13) ^ v0;
    v0 = v0.rotate_left(32);
    v2 = v2.wrapping_add(v3);
    v3 = v3.rotate_left(16) ^ v2;
    v0 = v0.wrapping_add(v3);
    v3 = v3.rotate_left(21) ^ v0;
    v2 = v2.wrapping_add(v1);
    v1 = v1.rotate_left(17) ^ v2;
    v2 = v2.rotate_left(32);
    *state = [v0, v1, v2, v3];
}
