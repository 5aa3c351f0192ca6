//! The facts of queries as they are kept in the audit log: masked. Of calls, which are most of all
//! records, what is the same from call to call is put into JSON, and masked, once for each store.

use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use crate::audit::Facts;
use crate::clean;
use crate::request::{Act, Agent, CallTool, Project, Query, ServerFacts, ToolClaims};

use super::facts::{Recent, action_name, named_resource, principal_name};
use super::set::PolicySet;

/// Masked parts of records, by what they were made of.
#[derive(Default)]
pub(crate) struct Kept {
    agents: Recent<Agent, Value>,
    servers: Recent<ServerFacts, Value>,
    claims: Recent<ToolClaims, Value>,
    projects: Recent<Project, Value>,
}

impl PolicySet {
    /// The facts of all queries of one action, with no secret in them.
    pub(crate) fn kept(&self, queries: &[Query<'_>]) -> Facts {
        match queries {
            [query]
                if let Act::CallTool(call) = query.act
                    && call.arguments.is_object() =>
            {
                Facts::list(vec![self.kept_call(query, call)])
            }
            _ => {
                let facts = queries.iter().map(|query| self.facts(query)).collect();
                Facts::from(clean::mask_value(Value::Array(facts)))
            }
        }
    }

    /// Part by part what [`PolicySet::facts`] gives, masked. No two texts beside each other are in
    /// different parts, so none is a secret only together with another's.
    fn kept_call(&self, query: &Query<'_>, call: &CallTool) -> Facts {
        let kept = &self.0.kept;
        let names = json!([
            principal_name(query),
            action_name(&query.act),
            named_resource(&query.act)
        ]);
        let mut names = items(clean::mask_value(names));
        let mut name = || Facts::from(names.next().unwrap_or_default());
        let mut parts = vec![
            ("principal", name()),
            ("action", name()),
            ("resource", name()),
            ("agent", shared(&kept.agents, query.agent)),
            (
                "run",
                Facts::members(vec![
                    ("now_ms", plain(&query.run.now_ms)),
                    ("project", shared(&kept.projects, &query.run.project)),
                    ("trigger", plain(&query.run.trigger)),
                    ("attended", plain(&query.run.attended)),
                    ("dry_run", plain(&query.run.dry_run)),
                ]),
            ),
            (
                "facts",
                Facts::members(vec![
                    ("server", shared(&kept.servers, &call.tool.server)),
                    ("tool_digest", plain(&call.tool.digest)),
                    ("claims", shared(&kept.claims, &call.tool.claims)),
                    ("arguments", masked(&call.arguments)),
                    ("arguments_digest", plain(&call.arguments_digest)),
                    ("arguments_bytes", plain(&call.arguments_bytes)),
                    ("valid", plain(&call.valid)),
                    ("secrets", plain(&call.secrets)),
                    ("paths", masked(&call.paths)),
                    ("option_like", masked(&call.option_like)),
                    ("calls_this_session", plain(&call.calls_this_session)),
                ]),
            ),
        ];
        if let Some(name) = self.own_action(call) {
            parts.push(("typed_action", masked(&name)));
        }
        Facts::members(parts)
    }
}

fn items(value: Value) -> impl Iterator<Item = Value> {
    match value {
        Value::Array(items) => items.into_iter(),
        _ => Vec::new().into_iter(),
    }
}

/// Numbers, digests and words of our own: nothing to mask.
fn plain(value: &impl Serialize) -> Facts {
    Facts::from(json!(value))
}

fn masked(value: &impl Serialize) -> Facts {
    Facts::from(clean::mask_value(json!(value)))
}

fn shared<F: Clone + PartialEq + Serialize>(recent: &Recent<F, Value>, facts: &F) -> Facts {
    let known = recent.find(facts).unwrap_or_else(|| {
        let value = Arc::new(clean::mask_value(json!(facts)));
        recent.keep(facts, &value);
        value
    });
    Facts::shared(known)
}
