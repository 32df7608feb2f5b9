//! Which ids of calls make a key.

use super::*;

#[test]
fn only_an_id_that_was_drawn_at_random_makes_a_key() {
    for random in [
        "call_kXq8Zr2vN4hT6wYbL9sDfGjM",
        "toolu_01A09q90qw90lq917835lq9",
        "0190b6c2-7d3e-7a51-9f7e-3c2b1a0d9e8f",
    ] {
        assert!(is_random(random), "{random}");
    }
    for counted in [
        "",
        "call_0",
        "call_17",
        "functions.bash:12",
        "call_00000000000000000001",
        "toolu_aaaaaaaaaaaaaaaaaaaaaaaa",
        "background_run",
        "call_mock_tool_call_id",
    ] {
        assert!(!is_random(counted), "{counted}");
    }
}

#[test]
fn a_key_holds_for_one_thread_of_one_host() {
    let caller = |host: &str, thread: &str| Caller {
        host: Some(host.to_owned()),
        thread: Some(thread.to_owned()),
        call: Some("call_kXq8Zr2vN4hT6wYbL9sDfGjM".to_owned()),
        ..Caller::default()
    };
    let one = of_call(&caller("codex", "t1"));
    assert_eq!(
        one.as_deref(),
        Some("call/codex/t1/call_kXq8Zr2vN4hT6wYbL9sDfGjM")
    );
    assert_ne!(one, of_call(&caller("codex", "t2")));
    assert_ne!(one, of_call(&caller("other", "t1")));
    assert_eq!(of_call(&caller("codex", &"t".repeat(600))), None);
    assert_eq!(of_call(&Caller::default()), None);
}
