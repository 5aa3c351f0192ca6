//! The shortest told request that still shows something.

use serde_json::{Map, Value as Json};

/// A told request.
pub(super) type Words = Map<String, Json>;

/// Leaves out whatever is not needed, word by word and member by member.
pub(super) fn shortest(mut words: Words, shows: &dyn Fn(&Words) -> bool) -> Words {
    let names: Vec<String> = words.keys().cloned().collect();
    for name in names.iter().filter(|name| *name != "action") {
        let Some(value) = words.shift_remove(name) else {
            continue;
        };
        if shows(&words) {
            continue;
        }
        let value = match value {
            Json::Object(members) => Json::Object(smallest((&words, name), members, shows)),
            other => other,
        };
        words.insert(name.clone(), value);
    }
    words
}

fn smallest(
    (words, name): (&Words, &str),
    mut members: Words,
    shows: &dyn Fn(&Words) -> bool,
) -> Words {
    let names: Vec<String> = members.keys().cloned().collect();
    for member in names {
        let mut fewer = members.clone();
        fewer.shift_remove(&member);
        let mut tried = words.clone();
        tried.insert(name.to_owned(), Json::Object(fewer.clone()));
        if shows(&tried) {
            members = fewer;
        }
    }
    members
}
