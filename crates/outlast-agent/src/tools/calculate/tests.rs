//! What expressions come to.

use super::evaluate;
use proptest::prelude::*;

fn value(expression: &str) -> String {
    evaluate(expression).map_or_else(|what| format!("! {what}"), |value| value.to_string())
}

#[test]
fn arithmetic_keeps_its_order() {
    for (expression, result) in [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("2 ^ 3 ^ 2", "512"),
        ("-2 ^ 2", "-4"),
        ("2 ** 10", "1024"),
        ("2 ^ -1", "0.5"),
        ("10 - 4 - 3", "3"),
        ("7 / 2", "3.5"),
        ("6 / 2", "3"),
        ("-7 % 3", "-1"),
        ("1_000 * 1e3", "1000000"),
        ("0.1 + 0.2", "0.30000000000000004"),
        (
            "170141183460469231731687303715884105727",
            "170141183460469231731687303715884105727",
        ),
        ("2^100 + 1", "1267650600228229401496703205377"),
        ("sqrt(16) + abs(-3)", "7"),
        ("max(1, 2.5, 2) - min(4, 3)", "-0.5"),
        ("round(2.5) + floor(-1.5) + ceil(1.2)", "3"),
        ("log10(1000)", "3"),
    ] {
        assert_eq!(value(expression), result, "{expression}");
    }
}

#[test]
fn what_means_nothing_is_told() {
    for (expression, what) in [
        ("", "! it ends too early"),
        ("1 +", "! it ends too early"),
        ("1 2", "! `2` is not expected here"),
        ("2 pi", "! `p` is not expected here"),
        ("(1", "! a `)` is missing"),
        ("1 / 0", "! a division by zero"),
        ("1 % 0", "! a division by zero"),
        ("x", "! `x` is not known"),
        ("system(1)", "! there is no function `system`"),
        ("sqrt(1, 2)", "! there is no function `sqrt` of 2 values"),
        ("sqrt(-1)", "! the result is too large, or no real number"),
        ("10 ^ 400", "! the result is too large, or no real number"),
        ("1.2.3", "! `1.2.3` is no number"),
        ("1; 2", "! `;` is not expected here"),
    ] {
        assert_eq!(value(expression), what, "{expression}");
    }
    let deep = format!("{}1{}", "(".repeat(200), ")".repeat(200));
    assert_eq!(value(&deep), "! it is nested deeper than 64");
    assert!(value(&"1+".repeat(600)).contains("longer than"));
}

proptest! {
    #[test]
    fn no_text_breaks_it(expression in "[-+*/%^()0-9.,e a-z]{0,60}") {
        drop(evaluate(&expression));
    }

    #[test]
    fn whole_numbers_stay_exact(left in any::<i64>(), right in any::<i64>()) {
        let (left, right) = (i128::from(left), i128::from(right));
        prop_assert_eq!(value(&format!("{left} * ({right})")), (left * right).to_string());
        prop_assert_eq!(value(&format!("{left} - ({right})")), (left - right).to_string());
    }
}
