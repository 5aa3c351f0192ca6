//! The schema's types, as far as a told request needs them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use crate::policy::vocabulary::JSON;

/// The type of a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    Bool,
    Long,
    Text,
    Ip,
    Time,
    Set(Box<Shape>),
    Record(BTreeMap<String, Shape>),
    /// A closed vocabulary: its name and its words.
    Closed(String, Vec<String>),
    /// Any other entity.
    Entity(String),
}

/// What an action applies to.
#[derive(Debug)]
pub(super) struct ActionShape {
    pub(super) principals: Vec<String>,
    pub(super) resources: Vec<String>,
    pub(super) context: BTreeMap<String, Shape>,
}

/// What an entity type has.
#[derive(Debug)]
pub(super) struct EntityShape {
    pub(super) attributes: BTreeMap<String, Shape>,
    pub(super) parents: Vec<String>,
}

/// The schema.
pub(super) struct Shapes {
    actions: BTreeMap<String, ActionShape>,
    entities: BTreeMap<String, EntityShape>,
}

pub(super) static SHAPES: LazyLock<Shapes> = LazyLock::new(|| {
    let schema: Json = serde_json::from_str(JSON).unwrap_or_default();
    Shapes::of(schema.get("").unwrap_or(&Json::Null))
});

/// The actions that something can be asked about, sorted.
pub(in crate::policy) fn action_names() -> impl Iterator<Item = &'static str> {
    SHAPES.actions.keys().map(String::as_str)
}

impl Shapes {
    fn of(schema: &Json) -> Self {
        let members = |name: &str| {
            let found = schema.get(name).and_then(Json::as_object);
            found.into_iter().flatten()
        };
        let reader = Reader { schema };
        let actions = members("actions")
            .filter_map(|(name, action)| Some((name.clone(), reader.action(action)?)));
        let entities =
            members("entityTypes").map(|(name, kind)| (name.clone(), reader.entity(kind)));
        Self {
            actions: actions.collect(),
            entities: entities.collect(),
        }
    }

    pub(super) fn action(&self, name: &str) -> Option<&ActionShape> {
        self.actions.get(name)
    }

    pub(super) fn entity(&self, name: &str) -> Option<&EntityShape> {
        self.entities.get(name)
    }
}

struct Reader<'a> {
    schema: &'a Json,
}

impl Reader<'_> {
    /// An action that applies to something; a group does not.
    fn action(&self, action: &Json) -> Option<ActionShape> {
        let applies = action.get("appliesTo")?;
        let resources = texts(applies.get("resourceTypes"));
        if resources.is_empty() {
            return None;
        }
        Some(ActionShape {
            principals: texts(applies.get("principalTypes")),
            resources,
            context: self.attributes(applies.get("context")),
        })
    }

    fn entity(&self, kind: &Json) -> EntityShape {
        EntityShape {
            attributes: self.attributes(kind.get("shape")),
            parents: texts(kind.get("memberOfTypes")),
        }
    }

    fn attributes(&self, record: Option<&Json>) -> BTreeMap<String, Shape> {
        let attributes = record.and_then(|record| record.get("attributes")?.as_object());
        let each = |(name, kind): (&String, &Json)| (name.clone(), self.shape(kind));
        attributes.into_iter().flatten().map(each).collect()
    }

    fn shape(&self, kind: &Json) -> Shape {
        let word = |name: &str| kind.get(name).and_then(Json::as_str).unwrap_or_default();
        match word("type") {
            "Set" => Shape::Set(Box::new(
                self.shape(kind.get("element").unwrap_or(&Json::Null)),
            )),
            "Record" => Shape::Record(self.attributes(Some(kind))),
            _ => self.named(word("name")),
        }
    }

    fn named(&self, name: &str) -> Shape {
        let in_schema = |part: &str| -> Option<&Map<String, Json>> {
            self.schema.get(part)?.get(name)?.as_object()
        };
        match name {
            "Bool" => Shape::Bool,
            "Long" => Shape::Long,
            "String" => Shape::Text,
            "ipaddr" => Shape::Ip,
            "datetime" => Shape::Time,
            _ => match (in_schema("commonTypes"), in_schema("entityTypes")) {
                (Some(common), _) => self.shape(&Json::Object(common.clone())),
                (None, Some(kind)) if kind.contains_key("enum") => {
                    Shape::Closed(name.to_owned(), texts(kind.get("enum")))
                }
                _ => Shape::Entity(name.to_owned()),
            },
        }
    }
}

fn texts(list: Option<&Json>) -> Vec<String> {
    let list = list.and_then(Json::as_array).into_iter().flatten();
    list.filter_map(|item| item.as_str().map(str::to_owned))
        .collect()
}
