//! The schema check, done once for each shape. Whether an entity or a request fits the schema depends
//! on the types that stand in it, on the names of its fields and on the members of closed
//! vocabularies, never on a text or a number. So Cedar checks the first of each shape, and those of
//! the same shape fit as that one did.

use std::collections::HashSet;
use std::sync::{LazyLock, PoisonError, RwLock};

use cedar_policy::{Entities, Entity as Public};
use cedar_policy_core::ast::{
    Context, Entity, EntityType, EntityUID, EntityUIDEntry, Literal, PartialValue, Request, Value,
    ValueKind,
};
use cedar_policy_core::extensions::Extensions;
use cedar_policy_core::validator::ValidatorEntityTypeKind;

use crate::policy::vocabulary::{SCHEMA, Vocabulary};

/// Does not fit the schema.
#[derive(Debug)]
pub(super) struct Misfit;

/// More shapes than any honest use has; what comes later is checked each time.
const SHAPES_MAX: usize = 4_096;

/// Shapes that fit.
type Fitting = RwLock<HashSet<Vec<u8>>>;

/// Shapes of entities: their types are the same in each vocabulary.
static FITTING: LazyLock<Fitting> = LazyLock::new(RwLock::default);

/// Checks an entity with its ancestors.
pub(super) fn check_entity(entity: &Entity) -> Result<(), Misfit> {
    once(&FITTING, Shape::of_entity(entity), || {
        let entity = Public::from(entity.clone());
        Entities::from_entities([entity], Some(&SCHEMA)).is_ok()
    })
}

/// Checks a request against the schema of a store.
pub(super) fn check_request(request: &Request, vocabulary: &Vocabulary) -> Result<(), Misfit> {
    once(&vocabulary.fitting, Shape::of_request(request), || {
        let part = |entry: &EntityUIDEntry| Some((entry.uid()?.clone(), None));
        let (Some(principal), Some(action), Some(resource), Some(context)) = (
            part(request.principal()),
            part(request.action()),
            part(request.resource()),
            request.context().cloned(),
        ) else {
            return false;
        };
        let schema = Some(vocabulary.schema().as_ref());
        let all = Extensions::all_available();
        Request::new(principal, action, resource, context, schema, all).is_ok()
    })
}

/// Checks what has no shape, or one that was not seen yet.
fn once(
    known_to_fit: &Fitting,
    shape: Option<Shape>,
    fits: impl Fn() -> bool,
) -> Result<(), Misfit> {
    let known = |shape: &Shape| {
        let fitting = known_to_fit.read().unwrap_or_else(PoisonError::into_inner);
        fitting.contains(&shape.0)
    };
    if shape.as_ref().is_some_and(known) {
        debug_assert!(fits(), "what has the shape of something fitting fits too");
        return Ok(());
    }
    if !fits() {
        return Err(Misfit);
    }
    if let Some(shape) = shape {
        let mut fitting = known_to_fit.write().unwrap_or_else(PoisonError::into_inner);
        if fitting.len() < SHAPES_MAX {
            fitting.insert(shape.0);
        }
    }
    Ok(())
}

/// What of an entity or a request the schema minds, unambiguously as bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Shape(Vec<u8>);

impl Shape {
    /// `None` when it is not all known.
    pub(super) fn of_entity(entity: &Entity) -> Option<Self> {
        let mut shape = Self(Vec::with_capacity(256));
        shape.0.push(b'E');
        shape.name(entity.uid());
        for (key, value) in entity.attrs() {
            shape.text(b'.', key);
            shape.partial(value)?;
        }
        shape.all(b'^', entity.ancestors().map(Self::of_name).collect());
        let mut tags = Vec::new();
        for (_, value) in entity.tags() {
            let mut tag = Self::default();
            tag.partial(value)?;
            tags.push(tag);
        }
        shape.all(b'#', tags);
        Some(shape)
    }

    /// `None` when it is not all known.
    pub(super) fn of_request(request: &Request) -> Option<Self> {
        let mut shape = Self(Vec::with_capacity(512));
        shape.0.push(b'R');
        for part in [request.principal(), request.action(), request.resource()] {
            shape.name(part.uid()?);
        }
        let Context::Value(fields) = request.context()? else {
            return None;
        };
        for (key, value) in fields.iter() {
            shape.text(b'.', key);
            shape.value(value);
        }
        Some(shape)
    }

    fn of_name(name: &EntityUID) -> Self {
        let mut shape = Self::default();
        shape.name(name);
        shape
    }

    /// The type, and which one it is where the schema says which ones there are.
    fn name(&mut self, name: &EntityUID) {
        let kind = name.entity_type();
        match kind.name() {
            plain if plain.is_unqualified() => {
                self.text(b'e', plain.basename_as_ref().as_ref());
            }
            long => self.text(b'e', &long.to_string()),
        }
        if kind.is_action() || is_closed(kind) {
            self.text(b'=', name.eid().as_ref());
        }
    }

    fn partial(&mut self, value: &PartialValue) -> Option<()> {
        match value {
            PartialValue::Value(value) => {
                self.value(value);
                Some(())
            }
            PartialValue::Residual(_) => None,
        }
    }

    fn value(&mut self, value: &Value) {
        match &value.value {
            ValueKind::Lit(Literal::Bool(_)) => self.0.push(b'b'),
            ValueKind::Lit(Literal::Long(_)) => self.0.push(b'l'),
            ValueKind::Lit(Literal::String(_)) => self.0.push(b's'),
            ValueKind::Lit(Literal::EntityUID(name)) => self.name(name),
            ValueKind::Set(set) => {
                let members = set.iter().map(|member| {
                    let mut shape = Self::default();
                    shape.value(member);
                    shape
                });
                self.all(b'[', members.collect());
            }
            ValueKind::Record(fields) => {
                self.0.push(b'{');
                for (key, value) in fields.iter() {
                    self.text(b'.', key);
                    self.value(value);
                }
                self.0.push(b'}');
            }
            ValueKind::ExtensionValue(value) => self.text(b'x', &value.typename().to_string()),
        }
    }

    /// How often a shape stands in a set does not matter, nor its place.
    fn all(&mut self, mark: u8, mut shapes: Vec<Self>) {
        shapes.sort_unstable();
        shapes.dedup();
        self.0.push(mark);
        for shape in shapes {
            self.bytes(b',', &shape.0);
        }
        self.0.push(b';');
    }

    fn text(&mut self, mark: u8, text: &str) {
        self.bytes(mark, text.as_bytes());
    }

    fn bytes(&mut self, mark: u8, bytes: &[u8]) {
        self.0.push(mark);
        self.0.extend_from_slice(&bytes.len().to_le_bytes());
        self.0.extend_from_slice(bytes);
    }
}

fn is_closed(kind: &EntityType) -> bool {
    let described = SCHEMA.as_ref().get_entity_type(kind);
    described.is_some_and(|it| matches!(it.kind, ValidatorEntityTypeKind::Enum(_)))
}

#[cfg(test)]
#[path = "shape_tests.rs"]
mod tests;
