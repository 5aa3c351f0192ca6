//! The schema and the names of its types, parsed once.

use std::sync::LazyLock;

use cedar_policy::{EntityTypeName, EntityUid, Schema};
use cedar_policy_core::ast::{Eid, EntityType, EntityUID};

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
}

/// An entity's name.
pub(super) fn uid(kind: &EntityType, id: &str) -> EntityUID {
    EntityUID::from_components(kind.clone(), Eid::new(id), None)
}
