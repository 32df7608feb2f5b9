//! Whether a value keeps a schema, and what is wrong where it does not.

use outlast_journal::{limits, text};
use regex::Regex;
use serde_json::{Map, Value};

/// Returns what of `value` is against `schema`, in words for the model; none when it keeps it.
///
/// `schema` was checked. At most `SCHEMA_FAULTS_MAX` faults are told.
pub(crate) fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let mut look = Look {
        root: schema,
        faults: Vec::new(),
        steps: 0,
    };
    look.keep(schema, value, "", 0);
    look.faults
}

/// Returns the pattern, if it can be understood and is not too large.
pub(super) fn pattern(text: &str) -> Option<Regex> {
    regex::RegexBuilder::new(text)
        .size_limit(limits::SCHEMA_PATTERN_BYTES_MAX)
        .build()
        .ok()
}

/// Returns what a reference leads to.
pub(super) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    root.pointer(pointer)
}

struct Look<'a> {
    root: &'a Value,
    faults: Vec<String>,
    /// Schemas that were held against values.
    steps: usize,
}

impl Look<'_> {
    fn say(&mut self, at: &str, what: &str) {
        if self.faults.len() < limits::SCHEMA_FAULTS_MAX {
            let at = if at.is_empty() { "the answer" } else { at };
            self.faults.push(format!("{at}: {what}"));
        }
    }

    /// Returns whether `value` keeps `schema`, without a word.
    fn is_kept(&mut self, schema: &Value, value: &Value, depth: usize) -> bool {
        let before = std::mem::take(&mut self.faults);
        self.keep(schema, value, "", depth);
        let is_kept = self.faults.is_empty();
        self.faults = before;
        is_kept
    }

    fn keep(&mut self, schema: &Value, value: &Value, at: &str, depth: usize) {
        self.steps += 1;
        if self.steps > limits::SCHEMA_STEPS_MAX || depth > limits::SCHEMA_ANSWER_DEPTH_MAX {
            self.say(at, "it is too large to be checked; give a smaller answer");
            return;
        }
        let members = match schema {
            Value::Bool(false) => return self.say(at, "nothing may stand here"),
            Value::Object(members) => members,
            Value::Bool(true)
            | Value::Null
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => return,
        };
        if let Some(to) = members.get("$ref").and_then(Value::as_str)
            && let Some(schema) = target(self.root, to)
        {
            self.keep(schema, value, at, depth + 1);
        }
        self.keep_value(members, value, at);
        self.keep_combinations(members, value, at, depth);
        match value {
            Value::Object(object) => self.keep_object(members, object, at, depth),
            Value::Array(list) => self.keep_list(members, list, at, depth),
            Value::String(text) => self.keep_text(members, text, at),
            Value::Number(_) => self.keep_number(members, value, at),
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn keep_value(&mut self, schema: &Map<String, Value>, value: &Value, at: &str) {
        let names: Vec<&str> = match schema.get("type") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        if !names.is_empty() && !names.iter().any(|name| is_of_type(name, value)) {
            let what = format!("it has to be of type {}", names.join(" or "));
            self.say(at, &what);
        }
        if let Some(Value::Array(values)) = schema.get("enum")
            && !values.iter().any(|one| is_equal(one, value))
        {
            let values = Value::from(values.clone()).to_string();
            let what = format!("it has to be one of {}", text::cut_chars(&values, 200));
            self.say(at, &what);
        }
        if let Some(constant) = schema.get("const")
            && !is_equal(constant, value)
        {
            let constant = text::cut_chars(&constant.to_string(), 200);
            self.say(at, &format!("it has to be {constant}"));
        }
    }

    fn keep_combinations(
        &mut self,
        schema: &Map<String, Value>,
        value: &Value,
        at: &str,
        depth: usize,
    ) {
        let list = |name: &str| schema.get(name).and_then(Value::as_array).cloned();
        for one in list("allOf").unwrap_or_default() {
            self.keep(&one, value, at, depth + 1);
        }
        if let Some(all) = list("anyOf")
            && !all.iter().any(|one| self.is_kept(one, value, depth + 1))
        {
            self.say(at, "it keeps none of the forms of `anyOf`");
        }
        if let Some(all) = list("oneOf") {
            let mut kept = 0;
            for one in &all {
                kept += usize::from(self.is_kept(one, value, depth + 1));
            }
            if kept != 1 {
                self.say(at, &format!("it keeps {kept} forms of `oneOf`, not one"));
            }
        }
        if let Some(not) = schema.get("not")
            && self.is_kept(not, value, depth + 1)
        {
            self.say(at, "it is of a form that `not` excludes");
        }
    }

    fn keep_object(
        &mut self,
        schema: &Map<String, Value>,
        object: &Map<String, Value>,
        at: &str,
        depth: usize,
    ) {
        let required = schema.get("required").and_then(Value::as_array);
        for name in required.into_iter().flatten().filter_map(Value::as_str) {
            if !object.contains_key(name) {
                self.say(at, &format!("`{name}` is missing"));
            }
        }
        self.keep_count(schema, ("minProperties", "maxProperties"), object.len(), at);
        let properties = schema.get("properties").and_then(Value::as_object);
        let patterns: Vec<(Regex, &Value)> = schema
            .get("patternProperties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
            .filter_map(|(name, below)| Some((pattern(name)?, below)))
            .collect();
        for (name, value) in object {
            let below = format!("{at}/{name}");
            let mut is_named = false;
            if let Some(named) = properties.and_then(|all| all.get(name)) {
                is_named = true;
                self.keep(named, value, &below, depth + 1);
            }
            for (_, schema) in patterns
                .iter()
                .filter(|(pattern, _)| pattern.is_match(name))
            {
                is_named = true;
                self.keep(schema, value, &below, depth + 1);
            }
            match schema.get("additionalProperties") {
                Some(Value::Bool(false)) if !is_named => {
                    self.say(&below, "there is no such property");
                }
                Some(others) if !is_named => self.keep(others, value, &below, depth + 1),
                Some(_) | None => {}
            }
            if let Some(names) = schema.get("propertyNames") {
                self.keep(names, &Value::from(name.as_str()), &below, depth + 1);
            }
        }
    }

    fn keep_list(&mut self, schema: &Map<String, Value>, list: &[Value], at: &str, depth: usize) {
        self.keep_count(schema, ("minItems", "maxItems"), list.len(), at);
        let first = schema.get("prefixItems").and_then(Value::as_array);
        for (index, value) in list.iter().enumerate() {
            let below = format!("{at}/{index}");
            let own = first.and_then(|all| all.get(index));
            if let Some(schema) = own.or_else(|| schema.get("items")) {
                self.keep(schema, value, &below, depth + 1);
            }
        }
        if let Some(contains) = schema.get("contains")
            && !list
                .iter()
                .any(|value| self.is_kept(contains, value, depth + 1))
        {
            self.say(at, "it has no item of the form of `contains`");
        }
        let is_unique = schema.get("uniqueItems") == Some(&Value::Bool(true));
        let is_twice = |(index, value): (usize, &Value)| {
            list.iter().take(index).any(|other| is_equal(other, value))
        };
        if is_unique
            && list.len() <= limits::SCHEMA_UNIQUE_MAX
            && list.iter().enumerate().any(is_twice)
        {
            self.say(at, "its items have to differ");
        }
    }

    fn keep_text(&mut self, schema: &Map<String, Value>, value: &str, at: &str) {
        self.keep_count(
            schema,
            ("minLength", "maxLength"),
            value.chars().count(),
            at,
        );
        if let Some(source) = schema.get("pattern").and_then(Value::as_str)
            && pattern(source).is_some_and(|pattern| !pattern.is_match(value))
        {
            self.say(at, &format!("it has to match `{source}`"));
        }
    }

    fn keep_number(&mut self, schema: &Map<String, Value>, value: &Value, at: &str) {
        let Some(number) = value.as_f64() else {
            return;
        };
        let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
        if let Some(least) = bound("minimum").filter(|least| number < *least) {
            self.say(at, &format!("it has to be at least {least}"));
        }
        if let Some(most) = bound("maximum").filter(|most| number > *most) {
            self.say(at, &format!("it has to be at most {most}"));
        }
        if let Some(least) = bound("exclusiveMinimum").filter(|least| number <= *least) {
            self.say(at, &format!("it has to be more than {least}"));
        }
        if let Some(most) = bound("exclusiveMaximum").filter(|most| number >= *most) {
            self.say(at, &format!("it has to be less than {most}"));
        }
        if let Some(step) = bound("multipleOf").filter(|step| *step > 0.0) {
            let times = number / step;
            if (times - times.round()).abs() > 1e-9 {
                self.say(at, &format!("it has to be a multiple of {step}"));
            }
        }
    }

    fn keep_count(
        &mut self,
        schema: &Map<String, Value>,
        (least, most): (&str, &str),
        count: usize,
        at: &str,
    ) {
        let count = u64::try_from(count).unwrap_or(u64::MAX);
        let bound = |name: &str| schema.get(name).and_then(Value::as_u64);
        if let Some(bound) = bound(least).filter(|bound| count < *bound) {
            self.say(at, &format!("{count} are fewer than `{least}`: {bound}"));
        }
        if let Some(bound) = bound(most).filter(|bound| count > *bound) {
            self.say(at, &format!("{count} are more than `{most}`: {bound}"));
        }
    }
}

fn is_of_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => {
            value.is_i64()
                || value.is_u64()
                || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => false,
    }
}

/// Returns whether two values are the same; 1 and 1.0 are.
#[expect(
    clippy::float_cmp,
    reason = "two texts of the same number become the same float"
)]
fn is_equal(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        _ => one == other,
    }
}
