//! `calculate`: arithmetic that a model need not do in its head.
//!
//! Whole numbers stay exact as long as they fit into 128 bits. Nothing is
//! executed: the expression is read by a parser of its own, with a bound depth.

use super::arguments::Arguments;
use super::{Outcome, Refusal};
use outlast_journal::limits::{EXPRESSION_CHARS_MAX, EXPRESSION_DEPTH_MAX};
use serde_json::{Value, json};
use std::fmt;

pub(super) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": {"expression": {"type": "string", "minLength": 1}},
        "required": ["expression"],
        "additionalProperties": false,
    })
}

pub(super) fn calculate(arguments: &Arguments) -> Result<Outcome, Refusal> {
    let expression = arguments.required("expression");
    let value = evaluate(expression)
        .map_err(|what| Refusal::new("bad_expression", format!("`{expression}`: {what}")))?;
    let brief = format!("calculate {expression} = {value}");
    Ok(Outcome::done(format!("{value}\n"), &brief))
}

/// A number: whole and exact, or not.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Number {
    Whole(i128),
    Real(f64),
}

impl Number {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a real number is what is asked for"
    )]
    fn real(self) -> f64 {
        match self {
            Self::Whole(number) => number as f64,
            Self::Real(number) => number,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Whole(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
        }
    }
}

/// Returns the value of an expression, or what is wrong with it.
fn evaluate(expression: &str) -> Result<Number, String> {
    if expression.chars().count() > EXPRESSION_CHARS_MAX {
        return Err(format!(
            "it is longer than {EXPRESSION_CHARS_MAX} characters"
        ));
    }
    let mut parser = Parser {
        letters: expression.chars().collect(),
        at: 0,
        depth: 0,
    };
    let value = parser.sum()?;
    match parser.peek() {
        None => finite(value),
        Some(letter) => Err(format!("`{letter}` is not expected here")),
    }
}

struct Parser {
    letters: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    /// Returns the next letter that is no blank, and goes there.
    fn peek(&mut self) -> Option<char> {
        while self.here().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
        self.here()
    }

    fn here(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn take(&mut self, letter: char) -> bool {
        let is_next = self.peek() == Some(letter);
        self.at += usize::from(is_next);
        is_next
    }

    fn sum(&mut self) -> Result<Number, String> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value = add(value, self.product()?);
            } else if self.take('-') {
                value = add(value, negative(self.product()?));
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<Number, String> {
        let mut value = self.signed()?;
        loop {
            if self.take('*') {
                // Two stars are a power in many languages.
                value = if self.take('*') {
                    power(value, self.signed()?)?
                } else {
                    multiply(value, self.signed()?)
                };
            } else if self.take('/') {
                value = divide(value, self.signed()?)?;
            } else if self.take('%') {
                value = remainder(value, self.signed()?)?;
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self) -> Result<Number, String> {
        self.depth += 1;
        if self.depth > EXPRESSION_DEPTH_MAX {
            return Err(format!("it is nested deeper than {EXPRESSION_DEPTH_MAX}"));
        }
        let value = if self.take('-') {
            self.signed().map(negative)
        } else if self.take('+') {
            self.signed()
        } else {
            self.powered()
        };
        self.depth -= 1;
        value
    }

    fn powered(&mut self) -> Result<Number, String> {
        let base = self.single()?;
        if self.take('^') {
            return power(base, self.signed()?);
        }
        Ok(base)
    }

    fn single(&mut self) -> Result<Number, String> {
        if self.take('(') {
            let value = self.sum()?;
            return self.close().map(|()| value);
        }
        match self.peek() {
            Some(letter) if letter.is_ascii_digit() || letter == '.' => self.number(),
            Some(letter) if letter.is_ascii_alphabetic() => self.named(),
            Some(letter) => Err(format!("`{letter}` is not expected here")),
            None => Err("it ends too early".to_owned()),
        }
    }

    fn close(&mut self) -> Result<(), String> {
        if self.take(')') {
            Ok(())
        } else {
            Err("a `)` is missing".to_owned())
        }
    }

    fn word(&mut self, fits: impl Fn(char, char) -> bool) -> String {
        let mut word = String::new();
        while let Some(letter) = self.here() {
            let before = word.chars().next_back().unwrap_or(' ');
            if !fits(before, letter) {
                break;
            }
            word.push(letter);
            self.at += 1;
        }
        word
    }

    fn number(&mut self) -> Result<Number, String> {
        let word = self.word(|before, letter| {
            let is_exponent_sign = "+-".contains(letter) && "eE".contains(before);
            letter.is_ascii_digit() || "._eE".contains(letter) || is_exponent_sign
        });
        let plain = word.replace('_', "");
        let whole = plain.parse::<i128>().ok().map(Number::Whole);
        let read = whole.or_else(|| plain.parse::<f64>().ok().map(Number::Real));
        read.ok_or_else(|| format!("`{word}` is no number"))
    }

    fn named(&mut self) -> Result<Number, String> {
        let name = self.word(|_, letter| letter.is_ascii_alphanumeric());
        if !self.take('(') {
            return constant(&name).ok_or_else(|| format!("`{name}` is not known"));
        }
        let mut values = vec![self.sum()?];
        while self.take(',') {
            values.push(self.sum()?);
        }
        self.close()?;
        function(&name, &values)
    }
}

fn constant(name: &str) -> Option<Number> {
    match name {
        "pi" => Some(Number::Real(std::f64::consts::PI)),
        "e" => Some(Number::Real(std::f64::consts::E)),
        _ => None,
    }
}

fn function(name: &str, values: &[Number]) -> Result<Number, String> {
    let greater = |left: &Number, right: &Number| left.real().total_cmp(&right.real());
    match (name, values) {
        ("min", _) => Ok(values
            .iter()
            .copied()
            .min_by(greater)
            .unwrap_or(Number::Whole(0))),
        ("max", _) => Ok(values
            .iter()
            .copied()
            .max_by(greater)
            .unwrap_or(Number::Whole(0))),
        (_, [value]) => {
            of_one(name, *value).ok_or_else(|| format!("there is no function `{name}`"))
        }
        (_, values) => Err(format!(
            "there is no function `{name}` of {} values",
            values.len()
        )),
    }
}

fn of_one(name: &str, value: Number) -> Option<Number> {
    let real = value.real();
    let result = match name {
        "abs" => return Some(if real < 0.0 { negative(value) } else { value }),
        "floor" => return Some(rounded(value, real.floor())),
        "ceil" => return Some(rounded(value, real.ceil())),
        "round" => return Some(rounded(value, real.round())),
        "sqrt" => real.sqrt(),
        "exp" => real.exp(),
        "ln" => real.ln(),
        "log2" => real.log2(),
        "log10" | "log" => real.log10(),
        "sin" => real.sin(),
        "cos" => real.cos(),
        "tan" => real.tan(),
        _ => return None,
    };
    Some(Number::Real(result))
}

/// Returns the whole number that `rounded` is, if it is small enough to be one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "every whole number below 2^53 is one of both kinds"
)]
fn rounded(value: Number, rounded: f64) -> Number {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Number::Whole(_) => value,
        Number::Real(_) if rounded.abs() < EXACT => Number::Whole(rounded as i128),
        Number::Real(_) => Number::Real(rounded),
    }
}

fn exact(
    left: Number,
    right: Number,
    whole: impl Fn(i128, i128) -> Option<i128>,
    real: impl Fn(f64, f64) -> f64,
) -> Number {
    if let (Number::Whole(left), Number::Whole(right)) = (left, right)
        && let Some(value) = whole(left, right)
    {
        return Number::Whole(value);
    }
    Number::Real(real(left.real(), right.real()))
}

fn add(left: Number, right: Number) -> Number {
    exact(left, right, i128::checked_add, |left, right| left + right)
}

fn multiply(left: Number, right: Number) -> Number {
    exact(left, right, i128::checked_mul, |left, right| left * right)
}

fn negative(value: Number) -> Number {
    multiply(value, Number::Whole(-1))
}

fn divide(left: Number, right: Number) -> Result<Number, String> {
    if right.real() == 0.0 {
        return Err("a division by zero".to_owned());
    }
    let whole = |left: i128, right: i128| {
        let is_even = left.checked_rem(right) == Some(0);
        is_even.then(|| left.checked_div(right)).flatten()
    };
    Ok(exact(left, right, whole, |left, right| left / right))
}

fn remainder(left: Number, right: Number) -> Result<Number, String> {
    if right.real() == 0.0 {
        return Err("a division by zero".to_owned());
    }
    Ok(exact(left, right, i128::checked_rem, |left, right| {
        left % right
    }))
}

fn power(base: Number, exponent: Number) -> Result<Number, String> {
    let whole = |base: i128, exponent: i128| {
        let exponent = u32::try_from(exponent).ok()?;
        base.checked_pow(exponent)
    };
    finite(exact(base, exponent, whole, f64::powf))
}

fn finite(value: Number) -> Result<Number, String> {
    if value.real().is_finite() {
        Ok(value)
    } else {
        Err("the result is too large, or no real number".to_owned())
    }
}

#[cfg(test)]
mod tests;
