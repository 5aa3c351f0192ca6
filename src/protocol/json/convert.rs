//! To and from `serde_json::Value`, which other floors judge and schemas are checked with. Its
//! numbers are machine words: what does not fit is said, never silently rounded.

use serde_json::Value;

use super::number::{Number, decimal};
use super::value::{Json, Object};

/// A `serde_json` value, and how much of it is not exact.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Converted {
    /// The value. A number beyond the range of a double became a string of its text.
    pub(crate) value: Value,
    /// How many numbers were rounded or became text.
    pub(crate) inexact: usize,
}

impl Json {
    /// The same value for `serde_json`.
    pub(crate) fn to_value(&self) -> Converted {
        let mut inexact = 0;
        let value = value_of(self, &mut inexact);
        Converted { value, inexact }
    }

    /// The tree of a `serde_json` value. Nothing is lost on this way.
    pub(crate) fn from_value(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(truth) => Self::Bool(*truth),
            Value::Number(number) => number_of(number),
            Value::String(text) => Self::String(text.clone()),
            Value::Array(elements) => Self::Array(elements.iter().map(Self::from_value).collect()),
            Value::Object(members) => Self::Object(Object::from_unique(
                members
                    .iter()
                    .map(|(key, value)| (key.clone(), Self::from_value(value)))
                    .collect(),
            )),
        }
    }
}

fn value_of(json: &Json, inexact: &mut usize) -> Value {
    match json {
        Json::Null => Value::Null,
        Json::Bool(truth) => Value::Bool(*truth),
        Json::Number(number) => {
            let (value, exact) = word_of(number);
            *inexact += usize::from(!exact);
            value
        }
        Json::String(text) => Value::String(text.clone()),
        Json::Array(elements) => {
            Value::Array(elements.iter().map(|e| value_of(e, inexact)).collect())
        }
        Json::Object(object) => Value::Object(
            object
                .iter()
                .map(|(key, value)| (key.to_owned(), value_of(value, inexact)))
                .collect(),
        ),
    }
}

/// The nearest value that `serde_json` holds, and whether it is the number itself.
fn word_of(number: &Number) -> (Value, bool) {
    if let Some(whole) = number.as_i64() {
        return (Value::from(whole), true);
    }
    let text = number.text();
    if let Ok(whole) = text.parse::<u64>() {
        return (Value::from(whole), true);
    }
    let double = text.parse::<f64>().ok().filter(|d| d.is_finite());
    match double.and_then(serde_json::Number::from_f64) {
        Some(word) => {
            // Halfway between two shortest texts of a double, printers differ in the one they take.
            let ours = double.map(|d| format!("{d:e}")).unwrap_or_default();
            let shortest = [ours, word.to_string()];
            let written = decimal(&text);
            let exact = shortest.iter().any(|text| decimal(text) == written);
            (Value::Number(word), exact)
        }
        None => (Value::String(text.into_owned()), false),
    }
}

fn number_of(number: &serde_json::Number) -> Json {
    let text = number.to_string();
    // `serde_json` prints JSON numbers only; were it not so, the text is still all there is.
    Number::parse(&text).map_or(Json::String(text), Json::Number)
}
