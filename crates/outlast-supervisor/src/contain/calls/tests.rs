//! What an engine is handed says the same as our own filter.

use super::*;
use std::collections::BTreeSet;

#[test]
fn an_engine_refuses_every_call_that_our_own_filter_refuses() {
    let filter: Value = serde_json::from_str(&for_engines()).expect("it is JSON");
    let rules = filter["syscalls"].as_array().expect("a list");
    let whole = rules.iter().filter(|rule| rule["args"].is_null());
    let named: BTreeSet<&str> = whole
        .flat_map(|rule| rule["names"].as_array().expect("a list"))
        .filter_map(Value::as_str)
        .collect();
    let calls = REFUSED.iter().chain(&REFUSED_HERE).chain(&ABSENT);
    let wanted: BTreeSet<&str> = calls.map(Call::name).collect();
    assert_eq!(named, wanted);
    assert!(named.contains("mount") && named.contains("io_uring_setup"));
}

#[test]
fn an_engine_lets_the_families_of_sockets_be_that_a_run_may_make() {
    let filter: Value = serde_json::from_str(&for_engines()).expect("it is JSON");
    let rules = filter["syscalls"].as_array().expect("a list").iter();
    let rules: Vec<&Value> = rules.filter(|rule| rule["names"][0] == "socket").collect();
    let is_refused = |family: u64| {
        rules.iter().any(|rule| {
            let (condition, value) = (&rule["args"][0], rule["args"][0]["value"].as_u64());
            match condition["op"].as_str() {
                Some("SCMP_CMP_EQ") => value == Some(family),
                Some("SCMP_CMP_GT") => value.is_some_and(|value| family > value),
                _ => panic!("another condition: {condition}"),
            }
        })
    };
    let free: Vec<u64> = (0..128).filter(|family| !is_refused(*family)).collect();
    assert_eq!(free, [1, 2, 10, 16]);
    assert!(
        is_refused(0x1_0000_0028),
        "what is above 32 bits is not seen by the kernel"
    );
}
