//! What changed between the list that was agreed to and the list that is there.

use std::collections::BTreeMap;

use crate::digest::Digest;

/// Names of tools that differ, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ToolsDiff {
    /// New.
    pub(crate) added: Vec<String>,
    /// Gone.
    pub(crate) removed: Vec<String>,
    /// The same name with another description, schema, title or annotation.
    pub(crate) changed: Vec<String>,
}

impl ToolsDiff {
    /// Compares names and digests.
    pub(crate) fn between<'a>(
        old: impl IntoIterator<Item = (&'a str, Digest)>,
        new: impl IntoIterator<Item = (&'a str, Digest)>,
    ) -> Self {
        let (old, new) = (grouped(old), grouped(new));
        let mut diff = Self::default();
        for (name, digests) in &new {
            match old.get(name) {
                None => diff.added.push((*name).to_owned()),
                Some(before) if before != digests => diff.changed.push((*name).to_owned()),
                Some(_) => {}
            }
        }
        let gone = old.keys().filter(|name| !new.contains_key(*name));
        diff.removed = gone.map(|name| (*name).to_owned()).collect();
        diff
    }
}

/// A list may hold a name twice; the set of digests under a name is compared then.
fn grouped<'a>(
    tools: impl IntoIterator<Item = (&'a str, Digest)>,
) -> BTreeMap<&'a str, Vec<Digest>> {
    let mut map: BTreeMap<&str, Vec<Digest>> = BTreeMap::new();
    for (name, digest) in tools {
        let digests = map.entry(name).or_default();
        digests.push(digest);
        digests.sort_unstable();
    }
    map
}
