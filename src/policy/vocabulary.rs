//! The schema and the names of its types, parsed once; and the schema of a store whose policies name
//! tools as actions.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;
use std::sync::{Arc, LazyLock, RwLock};

use cedar_policy::{EntityTypeName, EntityUid, Schema, Validator};
use cedar_policy_core::ast::{Eid, Entity, EntityType, EntityUID};
use cedar_policy_core::entities::{
    Dereference, Entities, NoEntitiesSchema, Schema as _, TCComputation,
};
use cedar_policy_core::extensions::Extensions;
use cedar_policy_core::validator::CoreSchema;
use serde_json::{Value, json};

use crate::request::{Action, CallTool, ToolFacts};

use super::typed::{LockedTool, record_json};

/// The schema as people read and write it.
pub(super) const TEXT: &str = include_str!("../../schemas/creance.cedarschema");

/// The same in Cedar's JSON form, which is read several times faster.
pub(super) const JSON: &str = include_str!("../../schemas/creance.cedarschema.json");

#[expect(
    clippy::expect_used,
    reason = "a constant of this crate, held by the tests"
)]
pub(super) static SCHEMA: LazyLock<Schema> =
    LazyLock::new(|| Schema::from_json_str(JSON).expect("the embedded schema is valid"));

macro_rules! types {
    ($($field:ident: $name:literal,)*) => {
        /// The names of the entity types.
        pub(super) struct Types {
            $(pub(super) $field: EntityType,)*
        }

        pub(super) static TYPES: LazyLock<Types> = LazyLock::new(|| {
            // Found and not parsed: Cedar makes a parser of its own for each name.
            let declared = SCHEMA.entity_types().chain(SCHEMA.actions().map(EntityUid::type_name));
            let declared: Vec<&EntityTypeName> = declared.collect();
            let kind = |name: &str| -> EntityType {
                let mut declared = declared.iter();
                let found = declared.find(|kind| kind.basename() == name);
                found.expect("a type name of the schema").as_ref().clone()
            };
            Types {
                $($field: kind($name),)*
            }
        });
    };
}

types! {
    action: "Action",
    group: "Group",
    user: "User",
    agent: "Agent",
    source: "Source",
    pin: "Pin",
    transport: "Transport",
    trigger: "Trigger",
    place: "Place",
    runner: "Runner",
    risk: "Risk",
    level: "Level",
    network: "Network",
    ip_class: "IpClass",
    scheme: "Scheme",
    auth_kind: "AuthKind",
    include_context: "IncludeContext",
    provider: "Provider",
    model: "Model",
    project: "Project",
    path: "Path",
    paths: "Paths",
    program: "Program",
    domain: "Domain",
    host: "Host",
    env_var: "EnvVar",
    server: "Server",
    tool: "Tool",
    prompt: "Prompt",
    mcp_resource: "McpResource",
    args: "Args",
    numbers: "Numbers",
    arg_paths: "ArgPaths",
    issuer: "Issuer",
}

/// An entity's name.
pub(super) fn uid(kind: &EntityType, id: &str) -> EntityUID {
    EntityUID::from_components(kind.clone(), Eid::new(id), None)
}

/// What a store's policies are written in: the schema, with the actions of the tools that they name.
pub(super) struct Vocabulary {
    /// Holds the schema.
    pub(super) validator: Validator,
    /// The actions with their groups.
    pub(super) actions: Entities,
    each_action: HashMap<EntityUID, Arc<Entity>>,
    typed: BTreeMap<String, TypedTool>,
    /// Shapes of requests that fit this schema.
    pub(super) fitting: RwLock<HashSet<Vec<u8>>>,
}

/// A tool with an action of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypedTool {
    pub(super) tool: LockedTool,
    /// Its lock file.
    pub(super) lock: String,
    /// The first policy that names it, `file:line`.
    pub(super) named: String,
}

#[expect(
    clippy::expect_used,
    reason = "a constant of this crate, held by the tests"
)]
static BASE: LazyLock<Arc<Vocabulary>> = LazyLock::new(|| {
    let base = Vocabulary::of(SCHEMA.clone(), BTreeMap::new());
    Arc::new(base.expect("each action stands in the schema once"))
});

impl Vocabulary {
    /// The schema as it is, for policies that name no tool as an action.
    pub(super) fn base() -> Arc<Self> {
        Arc::clone(&BASE)
    }

    /// The schema with the actions of these tools, by their source-qualified names.
    pub(super) fn with(tools: BTreeMap<String, TypedTool>) -> Result<Arc<Self>, String> {
        if tools.is_empty() {
            return Ok(Self::base());
        }
        let schema = json_with(&tools)?;
        let schema = Schema::from_json_value(schema).map_err(|error| error.to_string())?;
        Self::of(schema, tools).map(Arc::new)
    }

    /// Holds the schema with this action and its groups alone; `None` where there is no such action.
    pub(super) fn narrowed(&self, action: &EntityUid) -> Option<Validator> {
        let mut schema = json_with(&self.typed).ok()?;
        let actions = schema.pointer_mut("//actions")?.as_object_mut()?;
        let mut kept = HashSet::from([action.id().unescaped().to_owned()]);
        actions.get(action.id().unescaped())?;
        if let Dereference::Data(entity) = self.actions.entity(action.as_ref()) {
            let above = entity
                .ancestors()
                .map(|above| -> &str { above.eid().as_ref() });
            kept.extend(above.map(str::to_owned));
        }
        actions.retain(|name, _| kept.contains(name));
        Schema::from_json_value(schema).ok().map(Validator::new)
    }

    fn of(schema: Schema, typed: BTreeMap<String, TypedTool>) -> Result<Self, String> {
        let actions: Vec<Arc<Entity>> =
            CoreSchema::new(schema.as_ref()).action_entities().collect();
        let each_action = actions.iter();
        let each_action = each_action.map(|action| (action.uid().clone(), Arc::clone(action)));
        let each_action = each_action.collect();
        let none = None::<&NoEntitiesSchema>;
        let complete = TCComputation::AssumeAlreadyComputed;
        let all = Extensions::all_available();
        let stored = Entities::new().add_entities(actions, none, complete, all);
        Ok(Self {
            actions: stored.map_err(|error| error.to_string())?,
            each_action,
            validator: Validator::new(schema),
            typed,
            fitting: RwLock::default(),
        })
    }

    /// An action with its groups.
    pub(super) fn action(&self, name: &EntityUID) -> Option<Arc<Entity>> {
        self.each_action.get(name).map(Arc::clone)
    }

    pub(super) fn schema(&self) -> &Schema {
        self.validator.schema()
    }

    /// The tools with an action of their own.
    pub(super) fn typed(&self) -> &BTreeMap<String, TypedTool> {
        &self.typed
    }

    /// The tool that is called, if it has an action of its own.
    pub(super) fn typed_tool(&self, tool: &ToolFacts) -> Option<(&str, &TypedTool)> {
        if self.typed.is_empty() {
            return None;
        }
        let name = format!("{}/{}", tool.server.id, tool.name);
        let found = self.typed.get_key_value(&name);
        found.map(|(name, typed)| (name.as_str(), typed))
    }
}

/// The schema with the actions of these tools.
fn json_with(tools: &BTreeMap<String, TypedTool>) -> Result<Value, String> {
    let mut schema: Value = serde_json::from_str(JSON).map_err(|error| error.to_string())?;
    let actions = schema
        .pointer_mut("//actions")
        .and_then(Value::as_object_mut);
    let actions = actions.ok_or("the schema has no actions")?;
    let general = actions.get(CallTool::NAME).cloned().unwrap_or_default();
    for (name, typed) in tools {
        let mut action = general.clone();
        let of = action.pointer_mut("/appliesTo/context/attributes");
        let of = of.and_then(Value::as_object_mut);
        let of = of.ok_or("the general action has no context")?;
        of.insert("input".to_owned(), record_json(&typed.tool.input));
        if let Some(members) = action.as_object_mut() {
            members.insert("memberOf".to_owned(), json!([{ "id": CallTool::NAME }]));
        }
        actions.insert(name.clone(), action);
    }
    Ok(schema)
}

impl fmt::Debug for Vocabulary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vocabulary")
            .field("typed", &self.typed)
            .finish_non_exhaustive()
    }
}
