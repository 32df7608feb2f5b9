//! What an address means, and that nothing else is one.

use super::*;

#[test]
fn an_address_means_a_run_or_its_output_and_nothing_else() {
    let id = RunId::parse("hwbw5d3m7spj0mak").expect("an id");
    let parse = |text: &str| Address::parse(text);
    assert_eq!(
        parse("outlast://run/hwbw5d3m7spj0mak"),
        Some(Address::Record(id))
    );
    assert_eq!(
        parse("outlast://run/hwbw5d3m7spj0mak/output"),
        Some(Address::Output(id))
    );
    for wrong in [
        "outlast://run/",
        "outlast://run//output",
        "outlast://run/hwbw5d3m7spj0mak/",
        "outlast://run/hwbw5d3m7spj0mak/journal",
        "outlast://run/../../etc/passwd",
        "outlast://run/hwbw",
        "file:///etc/passwd",
        "",
    ] {
        assert_eq!(parse(wrong), None, "{wrong}");
    }
}
