//! Which schemas are taken, and which answers keep them.

use super::*;
use serde_json::json;

#[test]
fn what_is_no_schema_is_refused_where_it_is_wrong() {
    let refused = [
        (json!("x"), "schema_invalid", "/"),
        (json!([]), "schema_invalid", "/"),
        (json!({"type": "thing"}), "schema_invalid", "/type"),
        (json!({"type": []}), "schema_invalid", "/type"),
        (
            json!({"properties": {"a": 1}}),
            "schema_invalid",
            "/properties/a",
        ),
        (json!({"required": "a"}), "schema_invalid", "/required"),
        (json!({"minimum": "1"}), "schema_invalid", "/minimum"),
        (json!({"maxItems": -1}), "schema_invalid", "/maxItems"),
        (json!({"pattern": "("}), "schema_invalid", "/pattern"),
        (json!({"$ref": "#/$defs/a"}), "schema_invalid", "#/$defs/a"),
        (json!({"$ref": "http://x/y"}), "schema_invalid", "/$ref"),
        (
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
            "schema_invalid",
            "#/$defs/a",
        ),
        (
            json!({"unevaluatedProperties": false}),
            "schema_unsupported",
            "unevaluatedProperties",
        ),
        (json!({"items": {"if": {}}}), "schema_unsupported", "/items"),
    ];
    for (schema, code, place) in refused {
        let error = check_schema(&schema).expect_err("refused");
        assert_eq!(error.code(), code, "{schema}");
        assert!(error.to_string().contains(place), "{error}");
    }
    let mut deep = json!({});
    for _ in 0..40 {
        deep = json!({"items": deep});
    }
    assert_eq!(
        check_schema(&deep).expect_err("deep").code(),
        "schema_too_large"
    );
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of cases")]
fn answers_are_held_against_each_keyword() {
    let cases = [
        (
            json!({"type": "integer"}),
            vec![json!(1), json!(2.0)],
            vec![json!(1.5), json!("1")],
        ),
        (
            json!({"type": ["string", "null"]}),
            vec![json!("a"), json!(null)],
            vec![json!(1)],
        ),
        (
            json!({"enum": ["a", 1]}),
            vec![json!("a"), json!(1.0)],
            vec![json!("b")],
        ),
        (
            json!({"const": {"a": 1}}),
            vec![json!({"a": 1})],
            vec![json!({"a": 2})],
        ),
        (
            json!({"required": ["a"]}),
            vec![json!({"a": 1}), json!(3)],
            vec![json!({"b": 1})],
        ),
        (
            json!({"properties": {"a": {"type": "string"}}, "additionalProperties": false}),
            vec![json!({"a": "x"}), json!({})],
            vec![json!({"a": 1}), json!({"a": "x", "b": 1})],
        ),
        (
            json!({"patternProperties": {"^n": {"type": "number"}}, "additionalProperties": {"type": "string"}}),
            vec![json!({"n1": 1, "x": "y"})],
            vec![json!({"n1": "1"}), json!({"x": 1})],
        ),
        (
            json!({"items": {"type": "number"}}),
            vec![json!([1, 2])],
            vec![json!([1, "2"])],
        ),
        (
            json!({"prefixItems": [{"type": "string"}], "items": {"type": "number"}}),
            vec![json!(["a", 1])],
            vec![json!([1, 1]), json!(["a", "b"])],
        ),
        (
            json!({"minItems": 1, "maxItems": 2}),
            vec![json!([1])],
            vec![json!([]), json!([1, 2, 3])],
        ),
        (
            json!({"uniqueItems": true}),
            vec![json!([1, 2])],
            vec![json!([1, 1.0])],
        ),
        (
            json!({"contains": {"const": 1}}),
            vec![json!([0, 1])],
            vec![json!([0])],
        ),
        (
            json!({"minLength": 2, "maxLength": 3}),
            vec![json!("äö")],
            vec![json!("a"), json!("abcd")],
        ),
        (
            json!({"pattern": "^a+$"}),
            vec![json!("aa")],
            vec![json!("ab")],
        ),
        (
            json!({"minimum": 1, "exclusiveMaximum": 2}),
            vec![json!(1)],
            vec![json!(0), json!(2)],
        ),
        (
            json!({"multipleOf": 0.1}),
            vec![json!(0.3)],
            vec![json!(0.35)],
        ),
        (
            json!({"anyOf": [{"type": "string"}, {"minimum": 3}]}),
            vec![json!("a"), json!(4)],
            vec![json!(1)],
        ),
        (
            json!({"oneOf": [{"minimum": 1}, {"minimum": 3}]}),
            vec![json!(2)],
            vec![json!(4), json!(0)],
        ),
        (
            json!({"allOf": [{"minimum": 1}, {"maximum": 3}]}),
            vec![json!(2)],
            vec![json!(4)],
        ),
        (
            json!({"not": {"type": "string"}}),
            vec![json!(1)],
            vec![json!("a")],
        ),
        (
            json!({"propertyNames": {"maxLength": 1}}),
            vec![json!({"a": 1})],
            vec![json!({"ab": 1})],
        ),
        (
            json!({"$ref": "#/$defs/tree", "$defs": {"tree": {"type": "object",
                "properties": {"below": {"items": {"$ref": "#/$defs/tree"}}}}}}),
            vec![json!({"below": [{"below": []}]})],
            vec![json!({"below": [{"below": [1]}]})],
        ),
        (json!(false), vec![], vec![json!(1)]),
        (json!(true), vec![json!(1)], vec![]),
    ];
    for (schema, good, bad) in cases {
        check_schema(&schema).expect("a schema");
        for value in good {
            assert_eq!(
                faults(&schema, &value),
                Vec::<String>::new(),
                "{schema} {value}"
            );
        }
        for value in bad {
            assert!(!faults(&schema, &value).is_empty(), "{schema} {value}");
        }
    }
}

#[test]
fn a_fault_says_where_and_what_in_words() {
    let schema = json!({"type": "object", "required": ["n", "who"],
        "properties": {"n": {"type": "integer", "minimum": 1}}});
    assert_eq!(
        faults(&schema, &json!({"n": 0})),
        [
            "the answer: `who` is missing",
            "/n: it has to be at least 1"
        ]
    );
}

#[test]
fn a_schema_that_grows_without_end_is_bounded() {
    let schema = json!({"anyOf": [{"$ref": "#"}, {"$ref": "#"}]});
    assert!(!faults(&schema, &json!(1)).is_empty());
}
