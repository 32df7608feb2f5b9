//! Ids spell their bits, and a prefix means what a person means by it.

use super::{RunId, shortest_unique};

fn id(text: &str) -> RunId {
    RunId::parse(text).unwrap()
}

#[test]
fn an_id_spells_all_of_its_bits() {
    assert_eq!(RunId::from_bits([0; 10]).as_str(), "0000000000000000");
    assert_eq!(RunId::from_bits([255; 10]).as_str(), "zzzzzzzzzzzzzzzz");
    let one_bit = RunId::from_bits([0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(one_bit.as_str(), "0000000000000001");
    let first = RunId::from_bits([0b0000_1000, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(first.as_str(), "1000000000000000");
}

#[test]
fn only_whole_ids_in_written_form_parse() {
    assert!(RunId::parse("0123456789abcdef").is_ok());
    for bad in [
        "",
        "0123",
        "0123456789abcdeu",
        "0123456789ABCDEF",
        "0123456789abcdef0",
    ] {
        assert!(RunId::parse(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_typed_prefix_forgives_case_and_look_alikes() {
    assert_eq!(RunId::normalise_prefix("M3QD").as_deref(), Some("m3qd"));
    assert_eq!(RunId::normalise_prefix("lOi").as_deref(), Some("101"));
    assert_eq!(RunId::normalise_prefix("build-1"), None);
    assert_eq!(RunId::normalise_prefix(""), None);
}

#[test]
fn the_shortest_unique_prefix_tells_neighbours_apart() {
    let runs = [
        id("abcd000000000000"),
        id("abce000000000000"),
        id("z000000000000000"),
    ];
    let lengths: Vec<_> = runs
        .iter()
        .map(|run| shortest_unique(run, runs, 1))
        .collect();
    assert_eq!(lengths, [4, 4, 1]);
    assert_eq!(shortest_unique(&runs[2], runs, 4), 4);
}
