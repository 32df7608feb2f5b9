//! Words for containment mean one thing each.

use super::*;

#[test]
fn a_network_is_none_full_or_a_list_of_hosts() {
    assert_eq!(network("none"), Ok(Network::None));
    assert_eq!(network("full"), Ok(Network::Full));
    let hosts = vec!["a.example".to_owned(), "b.example".to_owned()];
    assert_eq!(
        network("allow:a.example,b.example"),
        Ok(Network::Allow(hosts))
    );
}

#[test]
fn what_is_no_network_is_refused() {
    for text in ["", "None", "allow:", "allow:a,", "allow"] {
        let expected = ValueError::Network {
            text: text.to_owned(),
        };
        assert_eq!(network(text), Err(expected), "{text}");
    }
}
