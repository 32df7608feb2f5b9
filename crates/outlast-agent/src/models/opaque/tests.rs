//! What was kept of an answer can be read as long as its form is known.

use super::*;

/// As version 0.1.0 wrote it.
const FIRST_FORM: &str = r#"{"form":1,"provider":"anthropic","parts":[
    {"ThoughtSignature":"sig=="},{"ReasoningContent":"hm"},{"Text":"I look."},
    {"ToolCall":{"call_id":"a","fn_name":"look","fn_arguments":{"text":"x"},
        "thought_signatures":["sig=="]}},
    {"Custom":{"model_iden":null,"data":{"type":"redacted_thinking","data":"…"}}}]}"#;

#[test]
fn parts_of_the_first_form_are_read() {
    let kept: Value = serde_json::from_str(FIRST_FORM).expect("JSON");
    let read = parts(Provider::Anthropic, &kept).expect("parts");
    assert_eq!(read.len(), 5);
    assert_eq!(read[0].as_thought_signature(), Some("sig=="));
    assert_eq!(read[2].as_text(), Some("I look."));
    let call = read[3].as_tool_call().expect("a call");
    assert_eq!(
        (call.call_id.as_str(), call.fn_name.as_str()),
        ("a", "look")
    );
    assert_eq!(keep(Provider::Anthropic, read), kept);
}

#[test]
fn parts_of_another_provider_or_form_are_not() {
    let mut kept: Value = serde_json::from_str(FIRST_FORM).expect("JSON");
    assert!(parts(Provider::Gemini, &kept).is_none());
    kept["form"] = 2.into();
    assert!(parts(Provider::Anthropic, &kept).is_none());
    assert!(parts(Provider::Anthropic, &Value::Null).is_none());
    kept["form"] = 1.into();
    kept["parts"] = json!([{"Nonesuch": 1}]);
    assert!(parts(Provider::Anthropic, &kept).is_none());
}
