//! Words of postures are stable, and tiers are in their order.

use super::*;

#[test]
fn tiers_are_ordered_by_their_rights() {
    assert!(Tier::ReadOnly < Tier::SandboxEdit && Tier::SandboxEdit < Tier::FullAccess);
    for tier in [Tier::ReadOnly, Tier::SandboxEdit, Tier::FullAccess] {
        assert_eq!(Tier::from_word(tier.word()), Some(tier));
        assert_eq!(Tier::from_name(tier.as_str()), Some(tier));
    }
    assert_eq!(
        (Tier::from_word("full"), Tier::from_name("Wide")),
        (None, None)
    );
}

#[test]
fn a_guarantee_is_known_by_its_name_alone() {
    for one in Guarantee::ALL {
        assert_eq!(Guarantee::from_name(one.as_str()), Some(one));
        let written = serde_json::to_string(&one).expect("a word");
        assert_eq!(written, format!("\"{one}\""));
    }
    assert_eq!(Guarantee::from_name("all"), None);
}

#[test]
fn what_is_wanted_follows_from_what_is_asked() {
    let edit = Containment::new(Tier::SandboxEdit);
    assert!(edit.wanted().contains(&Guarantee::NetNone));
    assert!(!edit.wanted().contains(&Guarantee::MemLimit));
    let wide = Containment {
        network: Network::Full,
        memory_bytes_max: Some(1),
        ..edit
    };
    assert!(!wide.wanted().contains(&Guarantee::NetNone));
    assert!(wide.wanted().contains(&Guarantee::MemLimit));
}

#[test]
fn a_posture_says_in_one_line_what_holds_and_what_does_not() {
    let mut asked = Containment::new(Tier::SandboxEdit);
    asked.network = Network::Allow(vec!["a.example".to_owned()]);
    let mut posture = Posture::asked(&asked);
    assert_eq!(
        posture.line(),
        "to be contained, tier SandboxEdit, network allow:a.example"
    );
    posture.backend = Some("native".to_owned());
    posture.guarantees = vec!["write_boundary".to_owned(), "net_none".to_owned()];
    posture.missing = vec!["mem_limit".to_owned()];
    posture.fallback_notice = Some("less than asked".to_owned());
    assert_eq!(
        posture.line(),
        "contained by native, tier SandboxEdit, network allow:a.example; holds write_boundary, \
         net_none; does not hold mem_limit; less than asked"
    );
}

#[test]
fn an_uncontained_posture_is_written_as_it_always_was() {
    let written = serde_json::to_string(&Posture::host()).expect("string keys");
    assert_eq!(
        written,
        r#"{"mode":"host","tier":"FullAccess","network":"full"}"#
    );
    let read: Posture = serde_json::from_str(&written).expect("a posture");
    assert_eq!(read, Posture::host());
}
