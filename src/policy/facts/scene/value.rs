//! Facts as told, in Cedar's form: each has the type that the schema gives it.

use std::collections::BTreeMap;

use cedar_policy::EntityTypeName;
use cedar_policy_core::ast::{EntityType, RestrictedExpr};
use cedar_policy_core::evaluator::RestrictedEvaluator;
use cedar_policy_core::extensions::Extensions;
use serde_json::Value as Json;

use crate::policy::facts::build::{Value, literal, reference, text};
use crate::policy::vocabulary::{SCHEMA, uid};

use super::given::{SceneError, wrong};
use super::shape::Shape;

/// A fact as told.
pub(super) fn told(word: &str, shape: &Shape, value: &Json) -> Result<Value, SceneError> {
    let wrong = |want: &str| wrong(word, want, value);
    match shape {
        Shape::Bool => value
            .as_bool()
            .map(literal)
            .ok_or_else(|| wrong("true or false")),
        Shape::Long => value
            .as_i64()
            .map(literal)
            .ok_or_else(|| wrong("a whole number")),
        Shape::Text => value.as_str().map(text).ok_or_else(|| wrong("a text")),
        Shape::Ip => {
            let address = value
                .as_str()
                .filter(|text| text.parse::<std::net::IpAddr>().is_ok());
            extension("ip", address.ok_or_else(|| wrong("an address"))?)
        }
        Shape::Time => {
            let time = value
                .as_str()
                .filter(|text| humantime::parse_rfc3339(text).is_ok());
            let time = time.ok_or_else(|| wrong("a time such as 2026-11-30T10:00:00Z"))?;
            extension("datetime", time)
        }
        Shape::Set(element) => {
            let list = value.as_array().ok_or_else(|| wrong("a list"))?;
            let each = list.iter().map(|item| told(word, element, item));
            Ok(Value::set(each.collect::<Result<Vec<_>, _>>()?, None))
        }
        Shape::Closed(kind, words) => {
            let known = value
                .as_str()
                .filter(|text| words.iter().any(|word| word == text));
            let known = known.ok_or_else(|| wrong(&format!("one of {}", words.join(", "))))?;
            member(kind, known)
        }
        Shape::Record(_) => record(word, shape, Some(value)),
        Shape::Entity(kind) => Err(SceneError::new(format!(
            "`{word}` is a {kind}, which is told otherwise"
        ))),
    }
}

/// A record: what is not told of it has the plainest value.
fn record(word: &str, shape: &Shape, value: Option<&Json>) -> Result<Value, SceneError> {
    let Shape::Record(fields) = shape else {
        return Err(SceneError::new(format!("`{word}` is no record")));
    };
    let told_of = match value {
        None => None,
        Some(Json::Object(members)) => Some(members),
        Some(other) => return Err(wrong(word, "an object", other)),
    };
    if let Some(unknown) = told_of
        .into_iter()
        .flatten()
        .find(|(name, _)| !fields.contains_key(*name))
    {
        return Err(SceneError::new(format!("`{word}` has no `{}`", unknown.0)));
    }
    let mut members = BTreeMap::new();
    for (name, shape) in fields {
        let value = match told_of.and_then(|members| members.get(name)) {
            Some(value) => told(&format!("{word}.{name}"), shape, value)?,
            None => plain(name, shape)?,
        };
        members.insert(name.clone(), value);
    }
    Ok(Value::record(members, None))
}

fn member(kind: &str, id: &str) -> Result<Value, SceneError> {
    Ok(reference(uid(&entity_type(kind)?, id)))
}

/// A type of the schema by its name.
pub(super) fn entity_type(name: &str) -> Result<EntityType, SceneError> {
    let declared = SCHEMA.entity_types().find(|kind| kind.basename() == name);
    let declared: Option<&EntityTypeName> = declared;
    declared
        .map(|kind| kind.as_ref().clone())
        .ok_or_else(|| SceneError::new(format!("the schema has no {name}")))
}

/// A value that Cedar makes of a text: an address, a time.
pub(super) fn extension(function: &str, written: &str) -> Result<Value, SceneError> {
    let unfit = || SceneError::new(format!("`{written}` is no {function}"));
    let function = function.parse().map_err(|_| unfit())?;
    let call = RestrictedExpr::call_extension_fn(function, [RestrictedExpr::val(written)]);
    RestrictedEvaluator::new(Extensions::all_available())
        .interpret(call.as_borrowed())
        .map_err(|_| unfit())
}

/// Truths of an ordinary request; all others are false.
const TRUE: &[&str] = &[
    "args_complete",
    "args_valid",
    "artefact_pinned",
    "client_verified",
    "during_call",
    "existed",
    "issuer_matches_server",
    "listed",
    "paths_resolved",
    "pkce",
    "same_site_as_server",
    "sandboxed",
];

/// Numbers of an ordinary request; all others are 0.
const NUMBERS: &[(&str, i64)] = &[
    ("bytes", 100),
    ("input_bytes", 1000),
    ("max_tokens", 1000),
    ("memory_mib", 16),
    ("port", 443),
    ("timeout_s", 60),
];

/// Words of an ordinary request; all others are the first of their vocabulary.
const WORDS: &[(&str, &str)] = &[
    ("IpClass", "public"),
    ("FsOp", "modify"),
    ("Scheme", "https"),
    ("Source", "user"),
    ("ToolKind", "formatter"),
    ("Trigger", "agent"),
];

/// The plainest value of a fact.
pub(super) fn plain(name: &str, shape: &Shape) -> Result<Value, SceneError> {
    Ok(match shape {
        Shape::Bool => literal(TRUE.contains(&name)),
        Shape::Long => {
            let number = NUMBERS.iter().find(|(known, _)| *known == name);
            literal(number.map_or(0, |(_, number)| *number))
        }
        Shape::Text => text(if name == "method" { "GET" } else { "" }),
        Shape::Ip => extension("ip", "93.184.216.34")?,
        Shape::Time => extension("datetime", "2026-11-30T10:00:00Z")?,
        Shape::Set(_) => Value::set([], None),
        Shape::Record(_) => record(name, shape, None)?,
        Shape::Closed(kind, words) => {
            let first = words.first().map_or("", String::as_str);
            let word = WORDS.iter().find(|(known, _)| known == kind);
            member(kind, word.map_or(first, |(_, word)| word))?
        }
        Shape::Entity(kind) => {
            return Err(SceneError::new(format!(
                "`{name}` is a {kind} and has to be told"
            )));
        }
    })
}
