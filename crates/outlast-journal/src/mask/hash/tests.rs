//! SipHash gives the published results, and the rolling hash rolls.

use super::{PRIME, Rolling, keyed_hash, step};
use proptest::prelude::*;

/// 0, 1, 2 …, as in the tables that come with SipHash.
fn counting<const COUNT: usize>() -> [u8; COUNT] {
    std::array::from_fn(|index| u8::try_from(index).unwrap())
}

#[test]
fn siphash_gives_the_published_results() {
    let bytes: [u8; 64] = counting();
    for (length, hash) in [
        (0, "a3817f04ba25a8e66df67214c7550293"),
        (1, "da87c1d86b99af44347659119b22fc45"),
        (7, "a1f1ebbed8dbc153c0b84aa61ff08239"),
        (8, "3b62a9ba6258f5610f83e264f31497b4"),
        (9, "264499060ad9baabc47f8b02bb6d71ed"),
        (16, "6ee2a4ca67b054bbfd3315bf85230577"),
        (63, "5150d1772f50834a503e069a973fbd7c"),
    ] {
        assert_eq!(keyed_hash(&counting(), &bytes[..length]), hash);
    }
    let hash = keyed_hash(&counting(), &[b'x'; 300]);
    assert_eq!(hash, "b1560076ee446f8e3620dfbf5976bc47");
}

#[test]
fn the_halves_of_the_key_serve_one_hash_each() {
    let key: [u8; 32] = counting();
    let mut other = key;
    other[31] ^= 1;
    assert_eq!(keyed_hash(&key, b"value"), keyed_hash(&other, b"value"));
    assert_ne!(Rolling::new(&key).base, Rolling::new(&other).base);
    other = key;
    other[0] ^= 1;
    assert_ne!(keyed_hash(&key, b"value"), keyed_hash(&other, b"value"));
    assert_eq!(Rolling::new(&key).base, Rolling::new(&other).base);
}

/// What a store keeps must be found by every later version.
#[test]
fn the_sealed_hash_stays_as_it_is() {
    let rolling = Rolling::new(&counting());
    let hash = keyed_hash(&counting(), b"sk-test-0123456789abcdef");
    let sealed = rolling.sealed(b"sk-test-0123456789abcdef", &hash);
    assert_eq!(hash, "d869fdbd2e006453ba72f7054dc0e93d");
    assert_eq!(sealed, 471_738_874_935_471_353);
}

/// Numbers up to the prime itself, which the way back from a seal may pass.
fn residue() -> impl Strategy<Value = u64> {
    prop_oneof![0..=PRIME, 0..4_u64, PRIME - 4..=PRIME]
}

proptest! {
    #[test]
    fn arithmetic_is_that_of_residues(
        left in residue(), right in residue(), one in residue(), other in residue(),
    ) {
        let [wide_left, wide_right] = [left, right].map(u128::from);
        let sum = wide_left * wide_right + u128::from(one) + u128::from(other);
        let result = u128::from(step(left, right, [one, other]));
        prop_assert_eq!(result, sum % u128::from(PRIME));
    }

    #[test]
    fn what_rolls_is_the_hash_of_each_window(
        bytes in prop::collection::vec(any::<u8>(), 0..80),
        length in 1..20_usize,
        key in any::<[u8; 32]>(),
    ) {
        let rolling = Rolling::new(&key);
        let rolled: Vec<(usize, u64)> = rolling.windows(&bytes, length).collect();
        let each = bytes.windows(length).map(|window| rolling.of(window));
        prop_assert_eq!(rolled, each.enumerate().collect::<Vec<_>>());
    }

    #[test]
    fn what_is_sealed_opens(value in any::<Vec<u8>>(), hash in any::<String>()) {
        let rolling = Rolling::new(&counting());
        let sealed = rolling.sealed(&value, &hash);
        prop_assert!(sealed < PRIME);
        prop_assert_eq!(rolling.opened(sealed, &hash), rolling.of(&value));
    }
}
