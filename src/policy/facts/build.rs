//! Collects the entities of one request, each once, and short forms of Cedar's values.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use cedar_policy_core::ast::{
    Entity, EntityType, EntityUID, Expr, ExprKind, Literal, PartialValue, Var,
};
use cedar_policy_core::entities::{Entities as Store, NoEntitiesSchema, TCComputation};
use cedar_policy_core::extensions::Extensions;

use crate::policy::members::Members;
use crate::policy::vocabulary::{TYPES, Vocabulary, uid};

use super::shape;
use super::steady::{Recent, Steady};

pub(super) type Value = cedar_policy_core::ast::Value;

/// A fact could not be put into Cedar's form. Cedar's own words would repeat the facts, and with them
/// secrets that stand in arguments.
#[derive(Debug)]
pub(crate) struct FactError(Cow<'static, str>);

impl std::fmt::Display for FactError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Cow::Borrowed(part) => {
                write!(f, "the {part} of this request do not fit the schema")
            }
            Cow::Owned(why) => f.write_str(why),
        }
    }
}

impl std::error::Error for FactError {}

impl FactError {
    /// What does not fit.
    pub(super) fn of(what: &'static str) -> Self {
        Self(Cow::Borrowed(what))
    }

    /// A tool that policies name as an action, or what it is given, is another: the whole reason in
    /// words, without any fact that may be a secret.
    pub(super) fn of_tool(why: String) -> Self {
        Self(Cow::Owned(why))
    }

    /// Whether it is about a tool that policies name as an action.
    pub(crate) fn is_of_tool(&self) -> bool {
        matches!(self.0, Cow::Owned(_))
    }
}

/// Turns any failure of Cedar into an error that says at what it happened.
pub(super) fn unfit<E>(what: &'static str) -> impl FnOnce(E) -> FactError {
    move |_| FactError::of(what)
}

/// Entities put into a store, with the ancestors that they name and no others. Cedar could add the
/// ancestors of ancestors, but a path is in its own place alone: `.git/config` is in `project-vcs`,
/// and must not be in `project` as well when the same call also names the project's root.
fn stored(
    store: Store,
    entities: impl IntoIterator<Item = Arc<Entity>>,
) -> Result<Store, FactError> {
    let none = None::<&NoEntitiesSchema>;
    let complete = TCComputation::AssumeAlreadyComputed;
    let all = Extensions::all_available();
    let stored = store.add_entities(entities, none, complete, all);
    stored.map_err(unfit("entities"))
}

/// An entity's name, attributes and ancestors.
pub(super) type Made<const N: usize> = (EntityUID, [(&'static str, Value); N], HashSet<EntityUID>);

/// The entities of one request.
pub(super) struct Entities<'a> {
    entities: HashMap<EntityUID, Arc<Entity>>,
    /// Those that were checked already.
    checked: Vec<Arc<Entity>>,
    steady: &'a Steady,
    mentioned: Mentioned<'a>,
    /// The paths that this request names.
    named: HashSet<&'a str>,
    /// Who is in which set.
    members: &'a Members,
}

impl<'a> Entities<'a> {
    /// None yet, for a request that names these paths.
    pub(super) fn new(
        (mentioned, members, steady): (Mentioned<'a>, &'a Members, &'a Steady),
        named: HashSet<&'a str>,
    ) -> Self {
        Self {
            entities: HashMap::new(),
            checked: Vec::new(),
            steady,
            mentioned,
            named,
            members,
        }
    }

    /// Puts an entity in, with all of its ancestors.
    pub(super) fn add(
        &mut self,
        name: &EntityUID,
        attributes: impl IntoIterator<Item = (&'static str, Value)>,
        ancestors: HashSet<EntityUID>,
    ) {
        self.add_owned(name, attributes.into_iter(), ancestors);
    }

    /// The same with names of attributes that are not known beforehand.
    pub(super) fn add_owned(
        &mut self,
        name: &EntityUID,
        attributes: impl Iterator<Item = (impl AsRef<str>, Value)>,
        ancestors: HashSet<EntityUID>,
    ) {
        let entity = self.entity(name, attributes, ancestors);
        self.put(entity);
    }

    fn entity(
        &self,
        name: &EntityUID,
        attributes: impl Iterator<Item = (impl AsRef<str>, Value)>,
        ancestors: HashSet<EntityUID>,
    ) -> Entity {
        let attributes =
            attributes.map(|(key, value)| (key.as_ref().into(), PartialValue::Value(value)));
        Entity::new_with_attr_partial_value(
            name.clone(),
            attributes,
            HashSet::new(),
            self.joined(name, ancestors),
            [],
        )
    }

    /// Puts an entity in that is the same as long as its facts are; made by `make` when it is not known.
    pub(super) fn add_steady<F: Clone + PartialEq, const N: usize>(
        &mut self,
        recent: fn(&Steady) -> &Recent<F>,
        facts: &F,
        make: impl FnOnce() -> Made<N>,
    ) -> EntityUID {
        let recent = recent(self.steady);
        if let Some(known) = recent.find(facts) {
            let name = known.uid().clone();
            if !self.has(&name) {
                self.checked.push(known);
            }
            return name;
        }
        let (name, attributes, ancestors) = make();
        if self.has(&name) {
            return name;
        }
        let entity = Arc::new(self.entity(&name, attributes.into_iter(), ancestors));
        // One that does not fit is found when all is put together.
        if shape::check_entity(&entity).is_ok() {
            recent.keep(facts, &entity);
        }
        self.entities.insert(name.clone(), entity);
        name
    }

    /// What an entity is in, with the sets that it, or anything it is in, belongs to.
    fn joined(&self, name: &EntityUID, mut ancestors: HashSet<EntityUID>) -> HashSet<EntityUID> {
        if !self.members.is_empty() {
            let inherited = ancestors.iter().flat_map(|above| self.members.above(above));
            let sets: Vec<EntityUID> = self.members.above(name).chain(inherited).cloned().collect();
            ancestors.extend(sets);
        }
        ancestors
    }

    /// Puts an entity in that holds tags only.
    pub(super) fn add_tagged(
        &mut self,
        kind: &EntityType,
        tags: impl IntoIterator<Item = (String, Value)>,
    ) -> Value {
        let name = uid(kind, "call");
        let tags = tags.into_iter();
        let tags = tags.map(|(key, value)| (key.into(), PartialValue::Value(value)));
        self.put(Entity::new_with_attr_partial_value(
            name.clone(),
            [],
            HashSet::new(),
            HashSet::new(),
            tags,
        ));
        reference(name)
    }

    fn put(&mut self, entity: Entity) {
        self.entities.insert(entity.uid().clone(), Arc::new(entity));
    }

    pub(super) fn has(&self, name: &EntityUID) -> bool {
        self.entities.contains_key(name) || self.checked.iter().any(|it| it.uid() == name)
    }

    /// Whether a folder may be looked at. A path is in every folder above it, but only two kinds of
    /// folders can stand on the right of an `in`: those that a policy names, and those that this
    /// request names. The others would be put in at a cost and never looked at.
    pub(super) fn counts(&self, folder: &str) -> bool {
        self.named.contains(folder) || self.mentioned.folder(folder)
    }

    /// Whether a policy may read this field of the context, or of the run in it.
    pub(super) fn reads(&self, field: &str) -> bool {
        self.mentioned.field(field)
    }

    /// The store with this action, each entity checked against the schema.
    pub(super) fn finish(self, action: &EntityUID, of: &Vocabulary) -> Result<Store, FactError> {
        for entity in self.entities.values() {
            shape::check_entity(entity).map_err(unfit("entities"))?;
        }
        let entities = self.entities.into_values().chain(self.checked);
        match (self.mentioned.actions(), of.action(action)) {
            (false, Some(action)) => stored(Store::new(), entities.chain([action])),
            _ => stored(of.actions.clone(), entities),
        }
    }
}

/// What policies look at.
#[derive(Clone, Debug, Default)]
pub(crate) struct Looks {
    /// The paths that stand in any policy, in its scope or in a condition.
    pub(crate) folders: HashSet<String>,
    /// The attributes that are read of anything.
    pub(crate) fields: HashSet<String>,
    /// The context, or the run in it, is used as a whole somewhere.
    pub(crate) whole_context: bool,
    /// An action stands in a condition: then others than the one at hand may be looked at.
    pub(crate) actions: bool,
}

/// What of a request is put into Cedar's form: all of it, or what can be looked at.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Mentioned<'a> {
    /// Nothing is left out.
    #[cfg(test)]
    Any,
    /// Only this is looked at.
    Only(&'a Looks),
}

impl Mentioned<'_> {
    fn folder(self, folder: &str) -> bool {
        match self {
            #[cfg(test)]
            Self::Any => true,
            Self::Only(looks) => looks.folders.contains(folder),
        }
    }

    fn field(self, field: &str) -> bool {
        match self {
            #[cfg(test)]
            Self::Any => true,
            Self::Only(looks) => looks.whole_context || looks.fields.contains(field),
        }
    }

    fn actions(self) -> bool {
        match self {
            #[cfg(test)]
            Self::Any => true,
            Self::Only(looks) => looks.actions,
        }
    }
}

impl Looks {
    /// Adds what a policy looks at: its scope and conditions as one, and its conditions alone.
    pub(crate) fn add(&mut self, whole: &Expr, conditions: Option<&Expr>) {
        // How often context and run stand there, and how often for one of their fields.
        let (mut records, mut fields) = (0, 0);
        for part in whole.subexpressions() {
            records += usize::from(is_record(part));
            match part.expr_kind() {
                ExprKind::Lit(Literal::EntityUID(name)) => self.literal(name),
                ExprKind::GetAttr { expr, attr } | ExprKind::HasAttr { expr, attr } => {
                    fields += usize::from(is_record(expr));
                    self.fields.insert(attr.to_string());
                }
                ExprKind::ExtHasAttr { expr, attrs } => {
                    fields += usize::from(is_record(expr));
                    self.fields.extend(attrs.iter().map(ToString::to_string));
                }
                _ => {}
            }
        }
        self.whole_context |= records > fields;
        let mut parts = conditions.into_iter().flat_map(Expr::subexpressions);
        self.actions |= parts.any(|part| match part.expr_kind() {
            ExprKind::Lit(Literal::EntityUID(name)) => name.is_action(),
            _ => false,
        });
    }

    fn literal(&mut self, name: &EntityUID) {
        let kind = name.entity_type();
        if *kind == TYPES.path {
            let folder: &str = name.eid().as_ref();
            self.folders.insert(folder.to_owned());
        }
        // Arguments can be named without the context that holds them.
        self.whole_context |= [&TYPES.args, &TYPES.numbers, &TYPES.arg_paths].contains(&kind);
    }
}

/// Whether this is the context, or the run in it: records of which fields may be left out.
fn is_record(of: &Expr) -> bool {
    let is_context = |of: &Expr| matches!(of.expr_kind(), ExprKind::Var(Var::Context));
    match of.expr_kind() {
        ExprKind::GetAttr { expr, attr } => attr == "run" && is_context(expr),
        _ => is_context(of),
    }
}

pub(super) fn text(value: impl AsRef<str>) -> Value {
    Value::from(value.as_ref())
}

/// A truth value or a number.
pub(super) fn literal(value: impl Into<Literal>) -> Value {
    Value::from(value)
}

/// A number; one too large for Cedar becomes the largest.
pub(super) fn number(value: u64) -> Value {
    literal(i64::try_from(value).unwrap_or(i64::MAX))
}

pub(super) fn reference(name: EntityUID) -> Value {
    Value::from(name)
}

/// A member of a closed vocabulary.
pub(super) fn member(kind: &EntityType, id: &str) -> Value {
    reference(uid(kind, id))
}

pub(super) fn texts<T: AsRef<str>>(values: impl IntoIterator<Item = T>) -> Value {
    let literals = values
        .into_iter()
        .map(|value| Literal::from(value.as_ref()));
    Value::set_of_lits(literals, None)
}

pub(super) fn record(fields: impl IntoIterator<Item = (&'static str, Value)>) -> Value {
    Value::record(fields, None)
}
