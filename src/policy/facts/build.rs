//! Collects the entities of one request, each once, and short forms of Cedar's values.

use std::collections::{HashMap, HashSet};

use cedar_policy::{Entity, EntityTypeName, EntityUid, RestrictedExpression};

use crate::policy::vocabulary::{TYPES, uid};

pub(super) type Value = RestrictedExpression;

/// A fact could not be put into Cedar's form. Cedar's own words would repeat the facts, and with them
/// secrets that stand in arguments.
#[derive(Debug)]
pub(crate) struct FactError(&'static str);

impl std::fmt::Display for FactError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the {} of this request do not fit the schema", self.0)
    }
}

impl std::error::Error for FactError {}

/// Turns any failure of Cedar into an error that says at what it happened.
pub(super) fn unfit<E>(what: &'static str) -> impl FnOnce(E) -> FactError {
    move |_| FactError(what)
}

/// The entities of one request.
#[derive(Default)]
pub(super) struct Entities(HashMap<EntityUid, Pending>);

/// What will be an entity once all of the request are known.
#[derive(Default)]
struct Pending {
    attributes: Vec<(String, Value)>,
    parents: HashSet<EntityUid>,
    tags: Vec<(String, Value)>,
}

impl Entities {
    /// Puts an entity in.
    pub(super) fn add(
        &mut self,
        name: &EntityUid,
        attributes: impl IntoIterator<Item = (&'static str, Value)>,
        parents: HashSet<EntityUid>,
    ) {
        let attributes = attributes
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value));
        let pending = Pending {
            attributes: attributes.collect(),
            parents,
            tags: Vec::new(),
        };
        self.0.insert(name.clone(), pending);
    }

    /// Puts an entity in that holds tags only.
    pub(super) fn add_tagged(
        &mut self,
        kind: &EntityTypeName,
        tags: impl IntoIterator<Item = (String, Value)>,
    ) -> Value {
        let name = uid(kind, "call");
        let pending = Pending {
            tags: tags.into_iter().collect(),
            ..Pending::default()
        };
        self.0.insert(name.clone(), pending);
        reference(name)
    }

    pub(super) fn has(&self, name: &EntityUid) -> bool {
        self.0.contains_key(name)
    }

    /// The entities. A path is in every folder above it, but only two kinds of folders can stand on
    /// the right of an `in`: those that a policy names, and those that this request names, which are
    /// all entities here. The others would be checked at a cost and never looked at.
    pub(super) fn finish(self, mentioned: Mentioned<'_>) -> Result<Vec<Entity>, FactError> {
        let named: HashSet<EntityUid> = self.0.keys().cloned().collect();
        let counts = |above: &EntityUid| {
            *above.type_name() != TYPES.path || mentioned.has(above) || named.contains(above)
        };
        let entity = |(name, pending): (EntityUid, Pending)| {
            let parents = pending.parents.into_iter().filter(&counts);
            Entity::new_with_tags(name, pending.attributes, parents, pending.tags)
                .map_err(unfit("entities"))
        };
        self.0.into_iter().map(entity).collect()
    }
}

/// Which folders policies name.
#[derive(Clone, Copy)]
pub(crate) enum Mentioned<'a> {
    /// Any: nothing is left out.
    #[cfg(test)]
    Any,
    /// These.
    Only(&'a HashSet<EntityUid>),
}

impl Mentioned<'_> {
    fn has(self, folder: &EntityUid) -> bool {
        match self {
            #[cfg(test)]
            Self::Any => true,
            Self::Only(folders) => folders.contains(folder),
        }
    }
}

pub(super) fn text(value: impl Into<String>) -> Value {
    Value::new_string(value.into())
}

/// A number; one too large for Cedar becomes the largest.
pub(super) fn number(value: u64) -> Value {
    Value::new_long(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn reference(name: EntityUid) -> Value {
    Value::new_entity_uid(name)
}

/// A member of a closed vocabulary.
pub(super) fn member(kind: &EntityTypeName, id: &str) -> Value {
    reference(uid(kind, id))
}

pub(super) fn texts<T: Into<String>>(values: impl IntoIterator<Item = T>) -> Value {
    Value::new_set(values.into_iter().map(text))
}

pub(super) fn record(
    fields: impl IntoIterator<Item = (&'static str, Value)>,
) -> Result<Value, FactError> {
    let fields = fields
        .into_iter()
        .map(|(key, value)| (key.to_owned(), value));
    Value::new_record(fields).map_err(unfit("records"))
}
