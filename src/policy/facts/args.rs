//! Arguments of a call, flattened to leaves: text for all, numbers for integers.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value as Json;

/// More leaves than this are not looked at.
const MOST_LEAVES: usize = 512;
/// Deeper values are not looked at.
const DEEPEST: usize = 12;

/// Flattened arguments.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Flat<'a> {
    /// Every scalar leaf as text.
    pub(super) texts: BTreeMap<String, Cow<'a, str>>,
    /// Integer leaves.
    pub(super) numbers: BTreeMap<String, i64>,
    /// Something was left out, or two leaves have one name.
    pub(super) cut: bool,
}

impl<'a> Flat<'a> {
    pub(super) fn of(arguments: &'a Json) -> Self {
        let mut flat = Self::default();
        flat.visit(arguments, String::new(), 0);
        flat
    }

    fn visit(&mut self, value: &'a Json, name: String, depth: usize) {
        if depth > DEEPEST || self.texts.len() >= MOST_LEAVES {
            self.cut = true;
            return;
        }
        match value {
            Json::Object(members) => {
                for (key, member) in members {
                    self.visit(member, join(&name, key), depth + 1);
                }
            }
            Json::Array(members) => {
                for (index, member) in members.iter().enumerate() {
                    self.visit(member, join(&name, &index.to_string()), depth + 1);
                }
            }
            Json::String(text) => self.leaf(name, text.as_str().into()),
            Json::Number(number) => {
                if let Some(whole) = number.as_i64() {
                    self.numbers.insert(name.clone(), whole);
                }
                self.leaf(name, number.to_string().into());
            }
            Json::Bool(truth) => self.leaf(name, truth.to_string().into()),
            Json::Null => self.leaf(name, "null".into()),
        }
    }

    /// `{"a.b": 1}` and `{"a": {"b": 2}}` give one name: whichever a policy saw, the server might
    /// use the other, so such arguments count as incomplete.
    fn leaf(&mut self, name: String, text: Cow<'a, str>) {
        if self.texts.insert(name, text).is_some() {
            self.cut = true;
        }
    }
}

fn join(parent: &str, key: &str) -> String {
    if parent.is_empty() {
        key.to_owned()
    } else {
        format!("{parent}.{key}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn leaves_are_named_by_their_way() {
        let arguments = json!({"a": "x", "f": [{"p": 1}, true], "n": null, "d": 1.5});
        let flat = Flat::of(&arguments);
        let texts: Vec<_> = flat.texts.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(texts, ["a=x", "d=1.5", "f.0.p=1", "f.1=true", "n=null"]);
        assert_eq!(flat.numbers, BTreeMap::from([("f.0.p".to_owned(), 1)]));
        assert!(!flat.cut);
    }

    #[test]
    fn what_cannot_be_shown_is_said() {
        let mut deep = json!(1);
        for _ in 0..13 {
            deep = json!([deep]);
        }
        let many = |count: usize| json!((0..count).collect::<Vec<_>>());
        for (arguments, cut) in [
            (json!({}), false),
            (deep, true),
            (many(512), false),
            (many(513), true),
            (json!({"a.b": 1, "a": {"b": 2}}), true),
        ] {
            assert_eq!(Flat::of(&arguments).cut, cut, "{arguments}");
        }
    }
}
