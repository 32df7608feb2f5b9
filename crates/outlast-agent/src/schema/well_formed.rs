//! Whether a value is a schema that can be kept.

use super::SchemaError;
use outlast_journal::limits;
use serde_json::{Map, Value};

/// Keywords that only describe.
const DESCRIBING: [&str; 12] = [
    "$comment",
    "$id",
    "$schema",
    "default",
    "deprecated",
    "description",
    "examples",
    "format",
    "readOnly",
    "title",
    "writeOnly",
    "contentMediaType",
];

/// Names of types.
const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "integer", "string",
];

/// What stands behind a keyword.
#[derive(Clone, Copy)]
enum Form {
    Schema,
    Schemas,
    NamedSchemas,
    Number,
    Count,
    Flag,
    Names,
    Values,
    Type,
    Pattern,
    Reference,
    Any,
}

fn form(keyword: &str) -> Option<Form> {
    Some(match keyword {
        "items" | "additionalProperties" | "not" | "propertyNames" | "contains" => Form::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Form::Schemas,
        "properties" | "patternProperties" | "$defs" | "definitions" => Form::NamedSchemas,
        "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
            Form::Number
        }
        "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => {
            Form::Count
        }
        "uniqueItems" => Form::Flag,
        "required" => Form::Names,
        "enum" => Form::Values,
        "type" => Form::Type,
        "pattern" => Form::Pattern,
        "$ref" => Form::Reference,
        "const" => Form::Any,
        describing if DESCRIBING.contains(&describing) => Form::Any,
        _ => return None,
    })
}

/// Checks a schema, and every schema within it.
pub(super) fn check(schema: &Value) -> Result<(), SchemaError> {
    if schema.to_string().len() > limits::SCHEMA_BYTES_MAX {
        return Err(too_large(&format!("{} bytes", limits::SCHEMA_BYTES_MAX)));
    }
    let mut open = vec![(String::new(), schema, 0)];
    while let Some((at, schema, depth)) = open.pop() {
        if depth > limits::SCHEMA_DEPTH_MAX {
            let bound = format!("{} schemas in one another", limits::SCHEMA_DEPTH_MAX);
            return Err(too_large(&bound));
        }
        let members = match schema {
            Value::Bool(_) => continue,
            Value::Object(members) => members,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return Err(no_schema(&at, "there is neither an object nor a boolean"));
            }
        };
        for (keyword, value) in members {
            let below = format!("{at}/{}", keyword.replace('~', "~0").replace('/', "~1"));
            let Some(form) = form(keyword) else {
                return Err(SchemaError::Unsupported {
                    at,
                    keyword: keyword.clone(),
                });
            };
            keyword_is_good(form, value).map_err(|what| no_schema(&below, &what))?;
            match (form, value) {
                (Form::Schema, value) => open.push((below, value, depth + 1)),
                (Form::Schemas, Value::Array(values)) => {
                    let values = values.iter().enumerate();
                    open.extend(
                        values.map(|(index, value)| (format!("{below}/{index}"), value, depth + 1)),
                    );
                }
                (Form::NamedSchemas, Value::Object(values)) => {
                    open.extend(
                        values
                            .iter()
                            .map(|(name, value)| (format!("{below}/{name}"), value, depth + 1)),
                    );
                }
                _ => {}
            }
        }
    }
    references_lead_somewhere(schema)
}

fn keyword_is_good(form: Form, value: &Value) -> Result<(), String> {
    let is_good = match form {
        Form::Schema => value.is_object() || value.is_boolean(),
        Form::Schemas => value.as_array().is_some_and(|all| !all.is_empty()),
        Form::NamedSchemas => value.is_object(),
        Form::Number => value.is_number(),
        Form::Count => value.as_u64().is_some(),
        Form::Flag => value.is_boolean(),
        Form::Names => value
            .as_array()
            .is_some_and(|all| all.iter().all(Value::is_string)),
        Form::Values => value.as_array().is_some_and(|all| !all.is_empty()),
        Form::Type => is_type(value),
        Form::Pattern => {
            let pattern = value.as_str().ok_or("a text has to stand there")?;
            return super::keep::pattern(pattern)
                .map(drop)
                .ok_or_else(|| "the pattern cannot be understood".to_owned());
        }
        Form::Reference => value
            .as_str()
            .is_some_and(|to| to == "#" || to.starts_with("#/")),
        Form::Any => true,
    };
    let wanted = match form {
        Form::Schema => "a schema has to stand there",
        Form::Schemas => "a list of schemas has to stand there",
        Form::NamedSchemas => "an object of schemas has to stand there",
        Form::Number => "a number has to stand there",
        Form::Count => "a whole number has to stand there",
        Form::Flag => "true or false has to stand there",
        Form::Names => "a list of names has to stand there",
        Form::Values => "a list of values has to stand there",
        Form::Type => "the name of a type, or a list of them, has to stand there",
        Form::Reference => "a reference within the schema has to stand there, as `#/$defs/NAME`",
        Form::Pattern | Form::Any => "",
    };
    if is_good {
        Ok(())
    } else {
        Err(wanted.to_owned())
    }
}

fn is_type(value: &Value) -> bool {
    let is_name = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    match value {
        Value::String(_) => is_name(value),
        Value::Array(names) => !names.is_empty() && names.iter().all(is_name),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

/// Checks that each reference leads to a schema and none leads only to references.
fn references_lead_somewhere(root: &Value) -> Result<(), SchemaError> {
    let mut open = vec![root];
    while let Some(value) = open.pop() {
        if let Some(first) = reference(value) {
            let mut to = first;
            let mut seen = Vec::new();
            loop {
                if seen.contains(&to) {
                    return Err(no_schema(first, "the reference leads back to itself"));
                }
                seen.push(to);
                let target = super::keep::target(root, to);
                let Some(target) = target.filter(|one| one.is_object() || one.is_boolean()) else {
                    return Err(no_schema(to, "the reference leads nowhere"));
                };
                match reference(target) {
                    Some(next) => to = next,
                    None => break,
                }
            }
        }
        match value {
            Value::Array(values) => open.extend(values),
            Value::Object(members) => open.extend(members.values()),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    Ok(())
}

fn reference(value: &Value) -> Option<&str> {
    value
        .as_object()
        .and_then(|members: &Map<String, Value>| members.get("$ref").and_then(Value::as_str))
}

fn no_schema(at: &str, what: &str) -> SchemaError {
    SchemaError::NotASchema {
        at: if at.is_empty() {
            "/".to_owned()
        } else {
            at.to_owned()
        },
        what: what.to_owned(),
    }
}

fn too_large(bound: &str) -> SchemaError {
    SchemaError::TooLarge {
        bound: bound.to_owned(),
    }
}
