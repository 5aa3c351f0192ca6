//! Names that people take for one another. A guard for questions to people, no boundary: rules name
//! the true name, and a look-alike is never covered by the rules of the other.

use std::collections::HashMap;

use crate::clean::skeleton;

/// Pairs of different names that look alike: each with the first that looks the same.
pub(crate) fn lookalikes<'a>(names: impl IntoIterator<Item = &'a str>) -> Vec<(&'a str, &'a str)> {
    let mut seen: HashMap<String, &str> = HashMap::new();
    let mut pairs = Vec::new();
    for name in names {
        let first = *seen.entry(skeleton(name)).or_insert(name);
        if first != name {
            pairs.push((first, name));
        }
    }
    pairs
}
