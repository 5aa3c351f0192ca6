//! One tool, as its server offers it.

use crate::digest::{Digest, DigestBuilder};
use crate::protocol::json::{Json, Object};
use crate::request::ToolClaims;

/// A tool as offered, or an odd item of the list with the reason why it is set aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OfferedTool {
    /// Its true name; empty when it has none. Raw: clean it before it is shown.
    pub(crate) name: String,
    /// The item, as it came.
    pub(crate) raw: Json,
    /// Digest of all that it says about itself but `_meta`: raw text, before any cleaning, so that
    /// a hidden change is a change. Neither the order of keys nor the spelling of numbers counts.
    pub(crate) digest: Digest,
    /// Its hints; where it gives none, what the protocol says to assume.
    pub(crate) claims: ToolClaims,
    /// Why it cannot be offered.
    pub(crate) problem: Option<String>,
}

impl OfferedTool {
    /// Reads an item of a list.
    pub(crate) fn from_item(raw: Json) -> Self {
        Self {
            name: raw
                .get("name")
                .and_then(Json::as_str)
                .unwrap_or("")
                .to_owned(),
            digest: digest(&raw),
            claims: claims(raw.get("annotations")),
            problem: problem(&raw),
            raw,
        }
    }

    /// The schema of its arguments.
    pub(crate) fn input_schema(&self) -> Option<&Json> {
        self.raw.get("inputSchema")
    }

    /// The schema of its structured results.
    pub(crate) fn output_schema(&self) -> Option<&Json> {
        self.raw.get("outputSchema")
    }
}

fn digest(raw: &Json) -> Digest {
    let mut builder = DigestBuilder::new("tool-definition/1");
    match raw {
        Json::Object(object) => {
            let mut members: Vec<_> = object.iter().filter(|(key, _)| *key != "_meta").collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in members {
                builder.field(key).field(value.canonical());
            }
        }
        other => {
            builder.field(other.canonical());
        }
    }
    builder.finish()
}

fn claims(annotations: Option<&Json>) -> ToolClaims {
    let hint = |key, assumed| {
        let given = annotations.and_then(|a| a.get(key)).and_then(Json::as_bool);
        given.unwrap_or(assumed)
    };
    ToolClaims {
        read_only: hint("readOnlyHint", false),
        destructive: hint("destructiveHint", true),
        idempotent: hint("idempotentHint", false),
        open_world: hint("openWorldHint", true),
    }
}

fn problem(raw: &Json) -> Option<String> {
    let Json::Object(item) = raw else {
        return Some(format!("a tool is an object, this is {}", raw.kind()));
    };
    match item.get("name").and_then(Json::as_str) {
        None => return Some("it has no name".to_owned()),
        Some("") => return Some("its name is empty".to_owned()),
        Some(name) if name.chars().count() > NAME_MAX => {
            return Some(format!("its name has more than {NAME_MAX} characters"));
        }
        Some(_) => {}
    }
    input_problem(item).or_else(|| output_problem(item))
}

fn input_problem(item: &Object) -> Option<String> {
    let schema = match item.get("inputSchema") {
        None => return Some("it has no `inputSchema`".to_owned()),
        Some(Json::Object(schema)) => schema,
        Some(other) => {
            return Some(format!(
                "its `inputSchema` is {}, not an object",
                other.kind()
            ));
        }
    };
    if schema.get("type").and_then(Json::as_str) != Some("object") {
        return Some("its `inputSchema` does not say `\"type\": \"object\"` at the top".to_owned());
    }
    size_problem("inputSchema", item.get("inputSchema")?)
}

fn output_problem(item: &Object) -> Option<String> {
    match item.get("outputSchema")? {
        schema @ Json::Object(_) => size_problem("outputSchema", schema),
        other => Some(format!(
            "its `outputSchema` is {}, not an object",
            other.kind()
        )),
    }
}

fn size_problem(key: &str, schema: &Json) -> Option<String> {
    if !shallow(schema, SCHEMA_DEPTH) {
        return Some(format!(
            "its `{key}` is nested deeper than {SCHEMA_DEPTH} levels"
        ));
    }
    let size = schema.to_string().chars().count();
    (size > SCHEMA_MAX)
        .then(|| format!("its `{key}` has {size} characters, at most {SCHEMA_MAX} are taken"))
}

fn shallow(json: &Json, levels: usize) -> bool {
    let deeper = |inner: &Json| levels > 0 && shallow(inner, levels - 1);
    match json {
        Json::Array(elements) => levels > 0 && elements.iter().all(deeper),
        Json::Object(object) => levels > 0 && object.iter().all(|(_, value)| deeper(value)),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => true,
    }
}

const NAME_MAX: usize = 1024;
const SCHEMA_DEPTH: usize = 32;
const SCHEMA_MAX: usize = 20_000;
