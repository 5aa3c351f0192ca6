//! Masks JSON by copying it, and looks at every string anew for each question about it.

use serde_json::{Map, Value};

use super::find::find;
use super::name::is_secret_key;
use crate::clean::find::Depth;
use crate::clean::mask::covered;

fn holds_secret(text: &str) -> bool {
    !find(text, Depth::Outer).is_empty()
}

/// Free text with every secret masked.
pub(in crate::clean) fn mask(text: &str) -> String {
    covered(text, find(text, Depth::Outer)).into_owned()
}

/// JSON with every known secret masked. Keys, order and the sizes of lists stay; below a secret
/// key every string and number becomes `[secret:named:N characters]`.
pub(in crate::clean) fn mask_value(value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(mask(text)),
        Value::Array(items) => Value::Array(masked_items(items)),
        Value::Object(members) => Value::Object(masked_members(members)),
        other => other.clone(),
    }
}

/// A text that was cut in two among neighbours is whole again when they are joined; then both are
/// masked.
fn masked_items(items: &[Value]) -> Vec<Value> {
    let split = split_secrets(items.iter());
    let item = |(at, item): (usize, &Value)| match split.contains(&at) {
        true => hidden(item),
        false => mask_value(item),
    };
    items.iter().enumerate().map(item).collect()
}

fn masked_members(members: &Map<String, Value>) -> Map<String, Value> {
    let split = split_secrets(members.values());
    let member = |(at, (key, value)): (usize, (&String, &Value))| {
        let named = is_secret_key(key) && !is_count(key, value);
        let value = match named || split.contains(&at) {
            true => hidden(value),
            false => mask_value(value),
        };
        (mask(key), value)
    };
    members.iter().enumerate().map(member).collect()
}

/// Numbers under `tokens` are counts.
fn is_count(key: &str, value: &Value) -> bool {
    value.is_number() && key.to_ascii_lowercase().contains("token")
}

/// The places of strings that hold no secret alone but do with the next one.
fn split_secrets<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<usize> {
    let mut split = Vec::new();
    let mut before: Option<&str> = None;
    for (at, value) in values.enumerate() {
        let text = value
            .as_str()
            .filter(|text| (1..=256).contains(&text.len()));
        if let (Some(a), Some(b)) = (before, text)
            && !a.contains(char::is_whitespace)
            && !b.contains(char::is_whitespace)
            && holds_secret(&format!("{a}{b}"))
            && !holds_secret(a)
            && !holds_secret(b)
        {
            split.extend([at - 1, at]);
        }
        before = text;
    }
    split
}

/// Everything below a secret key.
fn hidden(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) => value.clone(),
        Value::Number(_) => Value::String("[secret:number]".to_owned()),
        Value::String(text) if text.is_empty() => value.clone(),
        Value::String(text) => match mask(text) {
            // A known key keeps its hash.
            known if known.starts_with("[secret:") && known.find(']') == Some(known.len() - 1) => {
                Value::String(known)
            }
            _ => Value::String(format!(
                "[secret:named:{} characters]",
                text.chars().count()
            )),
        },
        Value::Array(items) => Value::Array(items.iter().map(hidden).collect()),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| (mask(key), hidden(value));
            Value::Object(members.iter().map(member).collect())
        }
    }
}

/// Whether a tool's arguments hold key material, a secret of a known shape, or a value under a
/// secret name (fact `secrets_in_args`).
pub(in crate::clean) fn has_secret(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => holds_secret(text),
        Value::Array(items) => {
            !split_secrets(items.iter()).is_empty() || items.iter().any(has_secret)
        }
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| {
                holds_secret(key)
                    || has_secret(value)
                    || (is_secret_key(key) && !is_count(key, value) && hidden(value) != *value)
            };
            !split_secrets(members.values()).is_empty() || members.iter().any(member)
        }
    }
}
