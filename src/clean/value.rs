//! Secrets in JSON: by the names of keys, and in every string by shape.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::find::holds_secret;
use super::mask::mask;
use super::name::is_secret_key;

/// JSON with every known secret masked. Keys, order and the sizes of lists stay; below a secret
/// key every string and number becomes `[secret:named:N characters]`.
pub(crate) fn mask_value(mut value: Value) -> Value {
    mask_within(&mut value);
    value
}

/// A text that was cut in two among neighbours is whole again when they are joined; then both are
/// masked.
fn mask_within(value: &mut Value) {
    match value {
        Value::String(text) => mask_text(text),
        Value::Array(items) => {
            let split = split_secrets(items.iter());
            for (at, item) in items.iter_mut().enumerate() {
                match split.contains(&at) {
                    true => *item = hidden(item),
                    false => mask_within(item),
                }
            }
        }
        Value::Object(members) => {
            mask_members(members);
            if members.keys().any(|key| holds_secret(key)) {
                let all = std::mem::take(members).into_iter();
                members.extend(all.map(|(key, value)| (mask(&key).into_owned(), value)));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn mask_members(members: &mut Map<String, Value>) {
    let split = split_secrets(members.values());
    for (at, (key, value)) in members.iter_mut().enumerate() {
        let named = is_secret_key(key) && !is_count(key, value);
        match named || split.contains(&at) {
            true => *value = hidden(value),
            false => mask_within(value),
        }
    }
}

fn mask_text(text: &mut String) {
    if let Cow::Owned(masked) = mask(text) {
        *text = masked;
    }
}

/// Numbers under `tokens` are counts.
fn is_count(key: &str, value: &Value) -> bool {
    value.is_number() && key.to_ascii_lowercase().contains("token")
}

/// The places of strings that hold no secret alone but do with the next one.
fn split_secrets<'a>(values: impl Iterator<Item = &'a Value>) -> Vec<usize> {
    let mut split = Vec::new();
    let mut before: Option<&str> = None;
    let mut joined = String::new();
    for (at, value) in values.enumerate() {
        let text = value
            .as_str()
            .filter(|text| (1..=256).contains(&text.len()) && !text.contains(char::is_whitespace));
        if let (Some(a), Some(b)) = (before, text) {
            joined.clear();
            joined.push_str(a);
            joined.push_str(b);
            if holds_secret(&joined) && !holds_secret(a) && !holds_secret(b) {
                split.extend([at - 1, at]);
            }
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
                Value::String(known.into_owned())
            }
            _ => Value::String(format!(
                "[secret:named:{} characters]",
                text.chars().count()
            )),
        },
        Value::Array(items) => Value::Array(items.iter().map(hidden).collect()),
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| (mask(key).into_owned(), hidden(value));
            Value::Object(members.iter().map(member).collect())
        }
    }
}

/// Whether a tool's arguments hold key material, a secret of a known shape, or a value under a
/// secret name (fact `secrets_in_args`).
pub(crate) fn has_secret(value: &Value) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aud_01_no_secret_under_any_name() {
        for call in include_str!("../../tests/cases/AUD-01.calls.jsonl").lines() {
            let call: Value = serde_json::from_str(call).unwrap();
            let masked = mask_value(call.clone()).to_string();
            assert!(!masked.contains("FAKE-SECRET"), "{masked}");
            assert!(has_secret(&call));
            if call["name"] == "mail" {
                assert_eq!(masked.matches("keep-visible").count(), 2, "{masked}");
            }
            if call["name"] == "http" {
                assert!(
                    masked.contains("@api.example.test/?access_token=") && masked.contains("&q=1")
                );
            }
            assert_eq!(
                mask_value(mask_value(call.clone())),
                mask_value(call.clone())
            );
        }
    }

    #[test]
    fn aud_03_known_shapes_go_and_look_alikes_stay() {
        for call in include_str!("../../tests/cases/AUD-03.calls.jsonl").lines() {
            let call: Value = serde_json::from_str(call).unwrap();
            let masked = mask_value(call.clone());
            if call["arguments"]["keep"] == true {
                assert_eq!(masked, call);
                assert!(!has_secret(&call));
                continue;
            }
            let text = masked.to_string();
            for leak in ["FAKEFAKE", "FFFFFF", "eyJ", "4111", "QUtJ"] {
                assert!(!text.contains(leak), "{text}");
            }
            assert!(text.contains("[secret:"));
        }
    }

    #[test]
    fn a_key_in_two_arguments_is_found() {
        let args = serde_json::json!({"a": "AKIAFAKEFA", "b": "KEFAKE0001", "c": "x"});
        assert!(has_secret(&args));
        let masked = mask_value(args.clone());
        assert!(masked["a"] != args["a"] && masked["b"] != args["b"] && masked["c"] == args["c"]);
    }

    #[test]
    fn sec_01_key_material_in_arguments() {
        let call: Value =
            serde_json::from_str(include_str!("../../tests/cases/SEC-01.call.json")).unwrap();
        assert!(has_secret(&call["arguments"]));
        assert!(!has_secret(
            &serde_json::json!({"a": 1, "max_tokens": 5, "tokenizer": "x", "key": "Enter"})
        ));
    }
}
