//! What a told request is about, as entities.

use std::collections::HashSet;

use cedar_policy_core::ast::EntityUID;
use serde_json::Value as Json;

use crate::address::HostName;
use crate::digest::Digest;
use crate::policy::facts::build::{Entities, reference};
use crate::policy::facts::{host, path, who};
use crate::policy::vocabulary::{TYPES, Vocabulary, uid};
use crate::request::{
    ArgPath, PathFacts, Pin, Places, ProgramFacts, ServerFacts, ServerId, Source, ToolClaims,
    ToolFacts, Transport,
};

use super::given::{Given, SceneError};
use super::shape::SHAPES;
use super::value::{entity_type, plain, told};

/// The home folder of every told request.
const HOME: &str = "/home/u";

/// Where everything lies, for a project.
pub(super) fn places(project: Option<String>) -> Places {
    Places {
        home: HOME.to_owned(),
        project,
        temp: vec!["/tmp".to_owned(), "/var/tmp".to_owned()],
        cache: vec![format!("{HOME}/.cache")],
        own: vec![
            format!("{HOME}/.config/creance"),
            format!("{HOME}/.local/state/creance"),
        ],
    }
}

/// A path as told: absolute, below `~`, or below the project.
pub(super) fn path_facts(places: &Places, told: &str) -> Result<PathFacts, SceneError> {
    let project = places.project.as_deref().unwrap_or(HOME);
    let absolute = match told {
        "." => project.to_owned(),
        _ => match told.strip_prefix("~/") {
            Some(rest) => format!("{HOME}/{rest}"),
            None if told.starts_with('/') => told.to_owned(),
            None => format!("{project}/{}", told.strip_prefix("./").unwrap_or(told)),
        },
    };
    let resolved = absolute == "/"
        || absolute
            .split('/')
            .skip(1)
            .all(|part| !matches!(part, "" | "." | ".."));
    if resolved {
        Ok(places.facts(absolute))
    } else {
        Err(SceneError::new(format!(
            "`{told}` is not a resolved path: leave out `..`, `.` and empty parts, which are gone before a policy sees a path"
        )))
    }
}

/// The texts of the paths that a request tells, where they can be read at all.
pub(super) fn named_paths(given: &Given<'_>, places: &Places) -> Vec<String> {
    let told = ["path", "cwd"]
        .into_iter()
        .filter_map(|word| given.peek(word));
    let arguments = given.peek("paths").and_then(Json::as_object);
    let told = told.chain(arguments.into_iter().flat_map(|paths| paths.values()));
    told.filter_map(Json::as_str)
        .filter_map(|told| path_facts(places, told).ok())
        .map(|facts| facts.text)
        .collect()
}

/// The arguments that name paths: `"paths": {"path": "docs/a.md", "to": null}`.
pub(super) fn arg_paths(given: &Given<'_>, places: &Places) -> Result<Vec<ArgPath>, SceneError> {
    let told = given.named("paths")?;
    let one = |(arg, value): (&String, &Json)| {
        let path = match value {
            Json::Null => None,
            Json::String(text) => Some(path_facts(places, text)?),
            other => {
                return Err(super::given::wrong(
                    arg,
                    "a path, or null where it leads nowhere",
                    other,
                ));
            }
        };
        Ok(ArgPath {
            arg: arg.clone(),
            path,
        })
    };
    told.iter().map(one).collect()
}

/// A server as told: `"user/files"`, or an object.
pub(super) fn server(given: &Given<'_>) -> Result<ServerFacts, SceneError> {
    server_of(given, None)
}

/// Server and tool of a qualified name; a tool's own name may hold slashes.
fn split(qualified: &str) -> (&str, &str) {
    let slashes = qualified.match_indices('/');
    let second = slashes.map(|(at, _)| at).nth(1);
    let parts = second.and_then(|at| qualified.split_at_checked(at));
    parts.map_or(("", qualified), |(server, tool)| {
        (server, tool.strip_prefix('/').unwrap_or(tool))
    })
}

/// A server as told, which must be this one.
fn server_of(given: &Given<'_>, is: Option<&str>) -> Result<ServerFacts, SceneError> {
    let mut words = given.named("server")?;
    if let Some(is) = is {
        let told = words.get("name").and_then(Json::as_str);
        if let Some(told) = told.filter(|told| *told != is) {
            let why = format!("`server` is `{told}`, and the tool is one of {is}");
            return Err(SceneError::new(why));
        }
        words.insert("name".to_owned(), Json::from(is));
    }
    if let Some(name) = words.get("name").and_then(Json::as_str)
        && let Some((source @ ("builtin" | "org" | "user" | "project"), rest)) =
            name.split_once('/')
    {
        let (source, rest) = (Json::from(source), Json::from(rest));
        words.insert("source".to_owned(), source);
        words.insert("name".to_owned(), rest);
    }
    let words = Given::new(&words);
    let id = ServerId::new(
        words.word_or("source", Source::User)?,
        words.text_or("name", "files")?,
    );
    let facts = ServerFacts {
        transport: words.word_or("transport", Transport::Stdio)?,
        pin: words.word_or("pin", Pin::Matched)?,
        tools_pin: words.word_or("tools_pin", Pin::Matched)?,
        sandboxed: words.flag("sandboxed")?.unwrap_or(true),
        subject: id.to_string(),
        itself: Digest::of("server"),
        tools: Digest::of("tools"),
        id,
    };
    words.all_read(
        "`server`",
        &names(&[
            "name",
            "source",
            "transport",
            "pin",
            "tools_pin",
            "sandboxed",
        ]),
    )?;
    Ok(facts)
}

pub(super) fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// The tool as told: by its own name, by its qualified one, or by an action of its own. It is the one
/// that was locked, where it has such an action.
pub(super) fn tool(
    given: &Given<'_>,
    own: Option<&str>,
    vocabulary: &Vocabulary,
) -> Result<ToolFacts, SceneError> {
    let mut words = given.named("tool")?;
    let told = words.get("name").and_then(Json::as_str).map(str::to_owned);
    let own = match (own, told) {
        (Some(own), None) => Some(own.to_owned()),
        (Some(own), Some(told)) if own != told => {
            let why = format!("`tool` is `{told}`, and the action is that of {own}");
            return Err(SceneError::new(why));
        }
        (_, told) => told.filter(|name| vocabulary.typed().contains_key(name)),
    };
    let mut of = None;
    if let Some(own) = own {
        let (server, name) = split(&own);
        words.insert("name".to_owned(), Json::from(name));
        of = Some(server.to_owned());
    }
    let words = Given::new(&words);
    let claims = ["read_only", "destructive", "idempotent", "open_world"];
    let claims_words: Vec<String> = claims
        .iter()
        .map(|claim| format!("claims_{claim}"))
        .collect();
    let mut facts = ToolFacts {
        server: server_of(given, of.as_deref())?,
        name: words.text_or("name", "read_text_file")?,
        digest: Digest::of("tool"),
        claims: ToolClaims {
            read_only: words.flag("claims_read_only")?.unwrap_or_default(),
            destructive: words.flag("claims_destructive")?.unwrap_or_default(),
            idempotent: words.flag("claims_idempotent")?.unwrap_or_default(),
            open_world: words.flag("claims_open_world")?.unwrap_or_default(),
        },
    };
    words.all_read("`tool`", &claims_words)?;
    if let Some((_, typed)) = vocabulary.typed_tool(&facts) {
        facts.digest = typed.tool.digest;
    }
    Ok(facts)
}

/// Puts the program in: `"program": "/usr/bin/git"`, `"program_pin": "changed"`.
pub(super) fn program(
    entities: &mut Entities<'_>,
    given: &Given<'_>,
) -> Result<EntityUID, SceneError> {
    let words = given.named("program")?;
    let words = Given::new(&words);
    let path = words.text_or("name", "/usr/bin/git")?;
    let facts = ProgramFacts {
        name: path.rsplit('/').next().unwrap_or_default().to_owned(),
        pin: words.word_or("pin", Pin::Matched)?,
        path,
    };
    words.all_read("`program`", &names(&["name", "pin"]))?;
    Ok(who::add_program(entities, &facts))
}

/// A host as told, by itself or in the URL.
pub(super) fn host_name(given: &Given<'_>, word: &str) -> Result<HostName, SceneError> {
    let named = given.text(word)?;
    let url = Url::told(given)?;
    parsed_host(named.or(url.map(|url| url.host)).unwrap_or("example.com"))
}

pub(super) fn parsed_host(text: &str) -> Result<HostName, SceneError> {
    text.parse()
        .map_err(|error| SceneError::new(format!("`{text}`: {error}")))
}

/// The parts of a URL that facts come from.
pub(super) struct Url<'a> {
    pub(super) scheme: &'a str,
    pub(super) host: &'a str,
    pub(super) port: u16,
    pub(super) text: &'a str,
}

impl<'a> Url<'a> {
    pub(super) fn told(given: &Given<'a>) -> Result<Option<Self>, SceneError> {
        let Some(text) = given.text("url")? else {
            return Ok(None);
        };
        let no_url =
            || SceneError::new(format!("`{text}` is no URL such as https://example.com/a"));
        let (scheme, rest) = text.split_once("://").ok_or_else(no_url)?;
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        let usual = if scheme == "http" { 80 } else { 443 };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !authority.ends_with(']') => {
                (host, port.parse().map_err(|_| no_url())?)
            }
            _ => (authority, usual),
        };
        Ok(Some(Self {
            scheme,
            host,
            port,
            text,
        }))
    }
}

/// An entity of a feature to come, from its type's attributes in the schema.
pub(super) fn other(
    entities: &mut Entities<'_>,
    (kind, word): (&str, &str),
    given: &Given<'_>,
) -> Result<EntityUID, SceneError> {
    let words = given.named(word)?;
    let words = Given::new(&words);
    let shape = SHAPES.entity(kind);
    let shape = shape.ok_or_else(|| SceneError::new(format!("the schema has no {kind}")))?;
    let name = words.text_or("name", word)?;
    let (mut attributes, mut above) = (Vec::new(), HashSet::new());
    for (attribute, shape) in &shape.attributes {
        let value = match (words.get(attribute), attribute.as_str()) {
            (Some(value), _) => told(attribute, shape, value)?,
            (None, "name" | "url") => told(attribute, shape, &Json::from(name.as_str()))?,
            (None, _) => plain(attribute, shape)?,
        };
        attributes.push((attribute.clone(), value));
    }
    let known: Vec<String> = shape.attributes.keys().cloned().collect();
    if shape.parents.iter().any(|parent| parent == "Source") {
        let source: Source = words.word_or("source", Source::User)?;
        above.insert(uid(&TYPES.source, source.name()));
    }
    words.all_read(&format!("`{word}`"), &known)?;
    above.extend(above_by_name(kind, &name)?);
    let entity = uid(&entity_type(kind)?, &name);
    entities.add_owned(&entity, attributes.into_iter(), above);
    Ok(entity)
}

/// What an entity is in by its name: an issuer in the domains of its host, a model in its provider.
fn above_by_name(kind: &str, name: &str) -> Result<HashSet<EntityUID>, SceneError> {
    match kind {
        "Issuer" => match host::host_of_url(name) {
            Some(host) => Ok(host::domains(&host)),
            None => Err(SceneError::new(format!("`{name}` names no host"))),
        },
        "Model" => {
            let provider = name
                .split_once('/')
                .map_or("local", |(provider, _)| provider);
            let kind = entity_type("Provider")?;
            Ok(HashSet::from([uid(&kind, provider)]))
        }
        _ => Ok(HashSet::new()),
    }
}

/// Puts a path in, and gives it as a value.
pub(super) fn path_value(
    entities: &mut Entities<'_>,
    places: &Places,
    told: &str,
) -> Result<EntityUID, SceneError> {
    Ok(path::add(entities, &path_facts(places, told)?))
}

/// The server as a value.
pub(super) fn server_value(
    entities: &mut Entities<'_>,
    given: &Given<'_>,
) -> Result<crate::policy::facts::build::Value, SceneError> {
    Ok(reference(who::add_server(entities, &server(given)?)))
}
