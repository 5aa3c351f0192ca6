//! From a told request to what is judged.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, UNIX_EPOCH};

use cedar_policy_core::ast::EntityUID;
use serde_json::{Map, Value as Json};

use crate::digest::Digest;
use crate::policy::facts::build::{Entities, Mentioned, Value};
use crate::policy::facts::question::{self, Judged, Terms};
use crate::policy::facts::{host, path, typed, who};
use crate::policy::vocabulary::{TYPES, Vocabulary, uid};
use crate::request::{
    Action, Agent, Answer, CallTool, EnvFacts, GetPrompt, NetworkWish, Places, Project,
    ReadResource, Run, Trigger, Wish,
};

use super::context;
use super::given::{Given, SceneError};
use super::resource;
use super::shape::{ActionShape, SHAPES, action_names};

/// A told request, ready to be judged.
pub(in crate::policy) struct Scene {
    pub(in crate::policy) judged: Judged,
    /// `tool.call user/files/read_text_file`
    pub(in crate::policy) what: String,
    /// The answer on file.
    pub(in crate::policy) held: Answer,
    /// Whether somebody can be asked.
    pub(in crate::policy) attended: bool,
}

/// Words that every action knows.
const COMMON: &[&str] = &[
    "action",
    "by",
    "agent",
    "user",
    "groups",
    "held",
    "attended",
    "trigger",
    "now",
    "dry_run",
    "project",
    "project_trusted",
    "server",
];

/// Sets up a told request.
pub(in crate::policy) fn scene(
    words: &Map<String, Json>,
    mentioned: Mentioned<'_>,
    (members, vocabulary, steady): Terms<'_>,
) -> Result<Scene, SceneError> {
    let given = Given::new(words);
    let told = given
        .text("action")?
        .ok_or_else(|| SceneError::new("`action` is missing"))?;
    // A tool's own action: a call of this tool.
    let own = vocabulary.typed().get_key_value(told);
    let action = own.map_or(told, |_| CallTool::NAME);
    let shape = SHAPES.action(action).ok_or_else(|| no_action(action))?;
    let run = run(&given)?;
    let project = (run.project.id != "none").then(|| run.project.id.clone());
    let places = resource::places(project);
    let named = resource::named_paths(&given, &places);
    let named = named.iter().map(String::as_str).collect();
    let mut set = Set {
        entities: Entities::new((mentioned, members, steady), named),
        given,
        places,
        own: own.map(|(name, _)| name.as_str()),
        vocabulary,
    };
    let principal = set.principal(action, shape)?;
    let (resource, filled) = set.resource(action, shape)?;
    // Only a tool's own action has an input.
    let name = match filled.contains_key("input") {
        true => AsRef::<str>::as_ref(resource.eid()),
        false => action,
    };
    let name = uid(&TYPES.action, name);
    let told = (&set.given, &set.places);
    let mut context = context::fill(&mut set.entities, told, &shape.context, filled)?;
    context.insert("run".to_owned(), context::run(&mut set.entities, &run)?);
    let held = held(&set.given)?;
    let mut known: Vec<String> = shape.context.keys().cloned().collect();
    known.extend(resource::names(COMMON));
    known.extend(resource::names(words_of(shape)));
    set.given.all_read(action, &known)?;
    let what = format!("{action} {}", AsRef::<str>::as_ref(resource.eid()));
    let parts = (principal, name, resource);
    let judged = Judged::new(parts, context.into_iter(), (set.entities, vocabulary))
        .map_err(|error| SceneError::new(error.to_string()))?;
    Ok(Scene {
        judged,
        what,
        held,
        attended: run.attended,
    })
}

fn no_action(action: &str) -> SceneError {
    let known: Vec<&str> = action_names().collect();
    SceneError::new(format!(
        "there is no action `{action}`; there are {}",
        known.join(", ")
    ))
}

/// Words that tell the resource.
fn words_of(shape: &ActionShape) -> &'static [&'static str] {
    match shape.resources.first().map(String::as_str) {
        Some("Path") => &["path"],
        Some("Host" | "Network") => &["host", "url"],
        Some("Program") => &["program"],
        Some("Tool") => &["tool", "arguments", "input", "paths"],
        Some("Prompt") => &["prompt", "arguments"],
        Some("McpResource") => &["uri"],
        Some("EnvVar") => &["variable"],
        Some("Secret") => &["secret"],
        Some("Plugin") => &["plugin"],
        Some("DevTool") => &["dev_tool"],
        Some("SearchProvider") => &["provider"],
        Some("Issuer") => &["issuer"],
        Some("Model") => &["model"],
        _ => &[],
    }
}

fn run(given: &Given<'_>) -> Result<Run, SceneError> {
    let now = given.text_or("now", "2026-11-30T10:00:00Z")?;
    let now = humantime::parse_rfc3339(&now)
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .as_ref()
        .map(Duration::as_millis)
        .and_then(|ms| i64::try_from(ms).ok());
    Ok(Run {
        now_ms: now
            .ok_or_else(|| SceneError::new("`now` is a time such as 2026-11-30T10:00:00Z"))?,
        project: Project {
            id: given.text_or("project", "/home/u/project")?,
            trusted: given.flag("project_trusted")?.unwrap_or(true),
        },
        trigger: given.word_or("trigger", Trigger::Agent)?,
        attended: given.flag("attended")?.unwrap_or(true),
        dry_run: given.flag("dry_run")?.unwrap_or_default(),
    })
}

fn held(given: &Given<'_>) -> Result<Answer, SceneError> {
    match given.text("held")? {
        None => Ok(Answer::None),
        Some(word) => {
            answer(word).ok_or_else(|| SceneError::new("`held` is always, session or once"))
        }
    }
}

/// The answer that a word says.
pub(in crate::policy) fn answer(word: &str) -> Option<Answer> {
    match word {
        "always" | "remembered" => Some(Answer::Remembered),
        "session" => Some(Answer::Session),
        "once" => Some(Answer::Once),
        _ => None,
    }
}

/// A request being set up.
struct Set<'a> {
    entities: Entities<'a>,
    given: Given<'a>,
    places: Places,
    /// The tool whose own action is told.
    own: Option<&'a str>,
    vocabulary: &'a Vocabulary,
}

type Filled = (EntityUID, HashMap<String, Value>);

impl Set<'_> {
    fn principal(&mut self, action: &str, shape: &ActionShape) -> Result<EntityUID, SceneError> {
        let can = |kind: &str| shape.principals.iter().any(|principal| principal == kind);
        let usual = if can("Agent") { "agent" } else { "server" };
        let by = self.given.text_or("by", usual)?;
        let kind = match by.as_str() {
            "agent" => "Agent",
            "server" => "Server",
            "plugin" => "Plugin",
            _ => return Err(SceneError::new("`by` is agent, server or plugin")),
        };
        if !can(kind) {
            return Err(SceneError::new(format!("{action} is not asked by a {by}")));
        }
        match kind {
            "Agent" => {
                let agent = self.agent()?;
                Ok(who::add_agent(&mut self.entities, &agent))
            }
            "Server" => {
                let server = resource::server(&self.given)?;
                Ok(who::add_server(&mut self.entities, &server))
            }
            _ => resource::other(&mut self.entities, ("Plugin", "plugin"), &self.given),
        }
    }

    fn agent(&self) -> Result<Agent, SceneError> {
        let words = self.given.named("agent")?;
        let words = Given::new(&words);
        let name = words.text_or("name", "claude-code")?;
        let agent = Agent {
            user: self.given.text_or("user", "u")?,
            groups: self.given.texts("groups")?,
            client: words.text_or("client", &name)?,
            client_verified: words.flag("client_verified")?.unwrap_or(true),
            depth: u32::try_from(words.number_or("depth", 0)?).unwrap_or(u32::MAX),
            name,
        };
        let known = ["name", "client", "client_verified", "depth"];
        words.all_read("`agent`", &resource::names(&known))?;
        Ok(agent)
    }

    fn resource(&mut self, action: &str, shape: &ActionShape) -> Result<Filled, SceneError> {
        let kinds: Vec<&str> = shape.resources.iter().map(String::as_str).collect();
        match kinds.as_slice() {
            ["Tool"] => self.call(),
            ["Prompt"] => self.prompt(),
            [one] => Ok((self.plain_resource(one)?, HashMap::new())),
            _ if kinds.contains(&"Network") => Ok((self.network()?, HashMap::new())),
            _ => Err(SceneError::new(format!("{action} cannot be told"))),
        }
    }

    fn plain_resource(&mut self, kind: &str) -> Result<EntityUID, SceneError> {
        let (given, entities) = (&self.given, &mut self.entities);
        let (kind, word) = match kind {
            "Path" => {
                let told = given
                    .text("path")?
                    .ok_or_else(|| SceneError::new("`path` is missing"))?;
                return Ok(path::add(
                    entities,
                    &resource::path_facts(&self.places, told)?,
                ));
            }
            "Host" => return Ok(host::add(entities, &resource::host_name(given, "host")?)),
            "Program" => return resource::program(entities, given),
            "Server" => return Ok(who::add_server(entities, &resource::server(given)?)),
            "McpResource" => {
                let read = ReadResource {
                    server: resource::server(given)?,
                    uri: given.text_or("uri", "file:///home/u/project/a.md")?,
                };
                return Ok(question::add_resource(entities, &read));
            }
            "EnvVar" => return self.variable(),
            "User" => {
                let user = uid(&TYPES.user, &given.text_or("user", "u")?);
                entities.add(&user, [], HashSet::new());
                return Ok(user);
            }
            "Secret" => ("Secret", "secret"),
            "Plugin" => ("Plugin", "plugin"),
            "DevTool" => ("DevTool", "dev_tool"),
            "SearchProvider" => ("SearchProvider", "provider"),
            "Issuer" => ("Issuer", "issuer"),
            "Model" => ("Model", "model"),
            other => return Err(SceneError::new(format!("a {other} cannot be told"))),
        };
        resource::other(entities, (kind, word), given)
    }

    fn variable(&mut self) -> Result<EntityUID, SceneError> {
        let words = self.given.named("variable")?;
        let words = Given::new(&words);
        let wish = Wish::Env(EnvFacts {
            name: words.text_or("name", "LANG")?,
            looks_secret: words.flag("looks_secret")?.unwrap_or_default(),
        });
        words.all_read("`variable`", &resource::names(&["name", "looks_secret"]))?;
        Ok(question::wish(&mut self.entities, &wish).0)
    }

    /// One host and port where a host is told, else the whole network.
    fn network(&mut self) -> Result<EntityUID, SceneError> {
        let wish = match self.given.text("host")? {
            None => NetworkWish::Whole,
            Some(told) => {
                let port = self.given.number_or("port", 443)?;
                let port =
                    u16::try_from(port).map_err(|_| SceneError::new("`port` is at most 65535"))?;
                let (host, below) = match told.strip_prefix("*.") {
                    Some(domain) => (resource::parsed_host(domain)?, true),
                    None => (resource::parsed_host(told)?, false),
                };
                if below {
                    NetworkWish::Below { domain: host, port }
                } else {
                    NetworkWish::Host { host, port }
                }
            }
        };
        Ok(question::wish(&mut self.entities, &Wish::Network(wish)).0)
    }

    fn call(&mut self) -> Result<Filled, SceneError> {
        let (arguments, input) = (self.given.get("arguments"), self.given.get("input"));
        if arguments.is_some() && input.is_some() {
            let why = "`input` and `arguments` are two words for one thing";
            return Err(SceneError::new(why));
        }
        let arguments = arguments.or(input).cloned();
        let arguments = arguments.unwrap_or_else(|| Json::Object(Map::new()));
        let text = arguments.to_string();
        let call = CallTool {
            tool: resource::tool(&self.given, self.own, self.vocabulary)?,
            arguments_digest: Digest::of(&text),
            arguments_bytes: text.len() as u64,
            arguments,
            valid: true,
            secrets: false,
            paths: resource::arg_paths(&self.given, &self.places)?,
            option_like: Vec::new(),
            calls_this_session: 0,
        };
        let tool = question::add_tool(&mut self.entities, &call.tool);
        let mut fields = question::call(&mut self.entities, &call);
        let input = typed::input(self.vocabulary, &call.tool, &call.arguments)
            .map_err(|error| SceneError::new(error.to_string()))?;
        fields.extend(input.map(|(_, input)| ("input", input)));
        Ok((tool, owned(fields)))
    }

    fn prompt(&mut self) -> Result<Filled, SceneError> {
        let text = |(name, value): (String, Json)| match value {
            Json::String(text) => (name, text),
            other => (name, other.to_string()),
        };
        let get = GetPrompt {
            server: resource::server(&self.given)?,
            name: self.given.text_or("prompt", "review")?,
            arguments: self
                .given
                .named("arguments")?
                .into_iter()
                .map(text)
                .collect(),
        };
        let (prompt, fields) = question::prompt(&mut self.entities, &get);
        Ok((prompt, owned(fields)))
    }
}

fn owned(fields: Vec<(&'static str, Value)>) -> HashMap<String, Value> {
    let fields = fields.into_iter();
    fields
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}
