//! The circumstances of a told request: each fact of the action has a value, told or plain.

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use crate::address::{HostName, judge};
use crate::policy::facts::build::{Entities, Value, number, reference, text};
use crate::policy::facts::{host, who};
use crate::policy::polarity::FLAGS;
use crate::policy::vocabulary::TYPES;
use crate::request::Places;

use super::given::{Given, SceneError};
use super::resource::{self, Url};
use super::shape::Shape;
use super::value::{entity_type, extension, plain, told};

/// What is filled elsewhere: the answers and the run.
pub(super) fn is_told_elsewhere(name: &str) -> bool {
    FLAGS.contains(&name) || name == "run"
}

/// Fills the context. `filled` is what the resource itself says (arguments of a call); what is told
/// by the fact's own name wins over it.
pub(super) fn fill(
    entities: &mut Entities<'_>,
    (given, places): (&Given<'_>, &Places),
    facts: &BTreeMap<String, Shape>,
    mut filled: HashMap<String, Value>,
) -> Result<HashMap<String, Value>, SceneError> {
    let url = Url::told(given)?;
    for (name, shape) in facts.iter().filter(|(name, _)| !is_told_elsewhere(name)) {
        let value = match shape {
            Shape::Entity(kind) => match entity(entities, (given, places), (name, kind))? {
                Some(value) => value,
                None => continue,
            },
            _ => match given.get(name) {
                Some(value) => told(name, shape, value)?,
                None if filled.contains_key(name) => continue,
                None => match derived(name, given, url.as_ref())? {
                    Some(value) => value,
                    None => plain(name, shape)?,
                },
            },
        };
        filled.insert(name.clone(), value);
    }
    Ok(filled)
}

/// An entity that the context names; `None` when the resource has filled it.
fn entity(
    entities: &mut Entities<'_>,
    (given, places): (&Given<'_>, &Places),
    (name, kind): (&str, &str),
) -> Result<Option<Value>, SceneError> {
    Ok(match kind {
        "Program" => Some(reference(resource::program(entities, given)?)),
        "Server" => Some(resource::server_value(entities, given)?),
        "Host" => {
            let host: HostName = resource::host_name(given, name)?;
            Some(reference(host::add(entities, &host)))
        }
        "Path" => {
            let path = given.text_or(name, ".")?;
            Some(reference(resource::path_value(entities, places, &path)?))
        }
        _ => None,
    })
}

/// What follows from other words.
fn derived(
    name: &str,
    given: &Given<'_>,
    url: Option<&Url<'_>>,
) -> Result<Option<Value>, SceneError> {
    if name == "command_line" {
        return Ok(Some(text(command_line(given)?)));
    }
    if matches!(name, "query_length") {
        let query = given.text("query")?.unwrap_or_default();
        return Ok(Some(number(query.chars().count() as u64)));
    }
    if name == "scope_count" {
        return Ok(Some(number(given.texts("scopes")?.len() as u64)));
    }
    Ok(url.and_then(|url| of_url(name, url)))
}

fn command_line(given: &Given<'_>) -> Result<String, SceneError> {
    let program = match given.get("program") {
        Some(Json::String(path)) => path.as_str(),
        _ => "/usr/bin/git",
    };
    let mut words = vec![program.rsplit('/').next().unwrap_or_default().to_owned()];
    words.extend(given.texts("args")?);
    Ok(words.join(" "))
}

fn of_url(name: &str, url: &Url<'_>) -> Option<Value> {
    let longest = || {
        let words = url.text.split(|c: char| !c.is_ascii_alphanumeric());
        words.map(str::len).max().unwrap_or_default() as u64
    };
    Some(match name {
        "url" => text(url.text),
        "url_length" => number(url.text.len() as u64),
        "longest_token" => number(longest()),
        "port" => number(u64::from(url.port)),
        "scheme" => {
            let known = ["https", "http", "ws", "wss", "ssh", "git"];
            let known = known.into_iter().find(|scheme| *scheme == url.scheme);
            let kind = entity_type("Scheme").ok()?;
            crate::policy::facts::build::member(&kind, known.unwrap_or("other"))
        }
        "ip_class" => {
            let host: HostName = url.host.parse().ok()?;
            let class = host
                .address()
                .map_or("public", |address| judge(address).class.name());
            crate::policy::facts::build::member(&TYPES.ip_class, class)
        }
        "ip" => {
            let host: HostName = url.host.parse().ok()?;
            extension("ip", &host.address()?.to_string()).ok()?
        }
        _ => return None,
    })
}

/// Puts the run in.
pub(super) fn run(
    entities: &mut Entities<'_>,
    run: &crate::request::Run,
) -> Result<Value, SceneError> {
    who::run(entities, run).map_err(|error| SceneError::new(error.to_string()))
}
