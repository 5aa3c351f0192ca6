//! What the client sees: the tools of all connected servers under unique names, described as
//! coming from their server and untrusted.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::clean;
use crate::enforce::{Line, Server, Tool, call, reply};
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::Era;
use crate::protocol::names::{self, CLIENT_PREFIX, NameMode, Renamed};
use crate::protocol::tools::param_fields;
use crate::request::{Action, Agent, ServerId, Source};

use super::member::Member;
use super::status;

/// One tool as it is offered.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Why its name has a hash, where it has one; to be said.
    pub(crate) renamed: Option<Renamed>,
    pub(crate) member: Arc<Member>,
    pub(crate) server: Arc<Server>,
    pub(crate) tool: Arc<Tool>,
}

/// All tools, as they are now.
#[derive(Clone, Debug, Default)]
pub(crate) struct Catalogue {
    entries: Vec<Entry>,
    /// Tools that are held back, by server: true name and why.
    left_out: Vec<(ServerId, Vec<(String, String)>)>,
    /// Names of tools of servers that are gone: their calls are answered with why.
    gone: BTreeMap<String, Gone>,
}

/// A tool that was there and is not now.
#[derive(Clone, Debug)]
pub(crate) struct Gone {
    pub(crate) member: Arc<Member>,
    /// Its true name.
    pub(crate) tool: String,
}

impl Catalogue {
    /// Gathers the tools of all connected servers. Names depend on server and tool alone, so they
    /// stay the same after a restart and in any order of configuration.
    pub(crate) fn gather(&self, members: &[Arc<Member>], mode: NameMode) -> Self {
        let mut found: Vec<(Arc<Member>, Arc<Server>, Arc<Tool>)> = Vec::new();
        let mut left_out = Vec::new();
        for member in members {
            let Some(server) = member.server() else {
                continue;
            };
            let book = server.tools();
            let mut left: Vec<(String, String)> = book.left_out;
            for tool in book.offered {
                match not_passed_on(&server, &tool) {
                    Some(why) => left.push((tool.name().to_owned(), why)),
                    None => found.push((Arc::clone(member), Arc::clone(&server), tool)),
                }
            }
            left_out.push((member.id().clone(), left));
        }
        let pairs = found
            .iter()
            .map(|(member, _, tool)| (listed_id(member.id(), members), tool.name().to_owned()))
            .collect();
        let entries: Vec<Entry> = names::expose(mode, CLIENT_PREFIX, pairs)
            .into_iter()
            .zip(found)
            .map(|(exposed, (member, server, tool))| Entry {
                name: exposed.name,
                renamed: exposed.renamed,
                member,
                server,
                tool,
            })
            .filter(|entry| entry.name != status::TOOL)
            .collect();
        let mut gone = self.gone.clone();
        for old in &self.entries {
            let tool = Gone {
                member: Arc::clone(&old.member),
                tool: old.tool.name().to_owned(),
            };
            gone.insert(old.name.clone(), tool);
        }
        for entry in &entries {
            gone.remove(&entry.name);
        }
        Self {
            entries,
            left_out,
            gone,
        }
    }

    /// The tool behind an exposed name.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The tools of one server.
    pub(crate) fn of(&self, member: &Member) -> impl Iterator<Item = &Entry> {
        let own = |entry: &&Entry| entry.member.id() == member.id();
        self.entries.iter().filter(own)
    }

    /// The tools of one server that are held back: true name and why.
    pub(crate) fn left_out(&self, member: &Member) -> impl Iterator<Item = &(String, String)> {
        let own = self.left_out.iter().filter(|(id, _)| id == member.id());
        own.flat_map(|(_, tools)| tools)
    }

    /// The tools of one server that are listed under a name with a hash: `(true name, listed name,
    /// why)`.
    pub(crate) fn renamed(&self, member: &Member) -> Vec<(&str, &str, String)> {
        let why = |renamed: &Renamed| match renamed {
            Renamed::Shortened => {
                "its own name is too long, or has no letter that clients take".to_owned()
            }
            Renamed::Clash(server, tool) => {
                let other = clean::line(&format!("{server}/{tool}"), 200);
                format!("it would be listed under the same name as {other}")
            }
        };
        self.of(member)
            .filter_map(|entry| {
                let renamed = entry.renamed.as_ref()?;
                Some((entry.tool.name(), entry.name.as_str(), why(renamed)))
            })
            .collect()
    }

    /// The tool of a server that was there and is not now.
    pub(crate) fn gone(&self, name: &str) -> Option<&Gone> {
        self.gone.get(name)
    }

    /// The items of `tools/list`: all but those that policy denies whatever their arguments.
    pub(crate) fn list(&self, line: &Line, agent: &Agent) -> Vec<Json> {
        self.entries
            .iter()
            .filter(|entry| !hopeless(line, agent, entry))
            .map(item)
            .collect()
    }
}

/// The identity that a server is listed under. A project's server with the name of another never has
/// that one's prefix, also while the other does not run: clients keep permissions by tool name.
pub(super) fn listed_id(id: &ServerId, members: &[Arc<Member>]) -> ServerId {
    let folded = id.name.to_lowercase();
    let taken = members
        .iter()
        .any(|other| other.id().source != id.source && other.id().name.to_lowercase() == folded);
    if id.source == Source::Project && taken {
        // No configured name holds a slash.
        return ServerId::new(Source::Project, format!("project/{}", id.name));
    }
    id.clone()
}

/// Whether policy denies a tool whatever its arguments.
fn hopeless(line: &Line, agent: &Agent, entry: &Entry) -> bool {
    let empty = Json::Object(Object::default());
    let Ok(action) = call::action(line, &entry.server, &entry.tool, &empty) else {
        return false;
    };
    let run = line.run();
    let store = line.point.store();
    action
        .queries(agent, &run)
        .iter()
        .any(|query| store.never_allows(query).is_some())
}

/// Why a tool is not passed on: it runs as a task only; or its schema marks arguments for fields of the
/// request in a way that MCP does not know, and its server is a modern one over HTTP.
fn not_passed_on(server: &Server, tool: &Tool) -> Option<String> {
    if wants_task(tool) {
        return Some("it runs as a task only, and tasks are not passed on".to_owned());
    }
    if server.elsewhere().is_none() || server.hello.era != Era::Modern {
        return None;
    }
    param_fields(tool.offered.input_schema()?).err()
}

/// Whether a tool can be called as a task only.
fn wants_task(tool: &Tool) -> bool {
    let execution = tool.offered.raw.get("execution");
    let support = execution.and_then(|execution| execution.get("taskSupport"));
    support.and_then(Json::as_str) == Some("required")
}

/// One item of `tools/list`: the server's own, with our name, marked and cleaned.
fn item(entry: &Entry) -> Json {
    let server = clean::line(&entry.member.id().name, 80);
    let mut item = entry.tool.offered.raw.clone();
    reply::clean_strings(&mut item);
    let Some(members) = item.as_object_mut() else {
        return item;
    };
    members.insert("name", Json::String(entry.name.clone()));
    let description = entry
        .tool
        .offered
        .raw
        .get("description")
        .and_then(Json::as_str)
        .unwrap_or_default();
    let described = clean::description(&server, description);
    members.insert("description", Json::String(described));
    if let Some(Json::Object(schema)) = members.get_mut("inputSchema") {
        schema.remove("$schema");
    }
    // Tasks are not passed on: a client that was told of them would make some.
    if let Some(Json::Object(execution)) = members.get_mut("execution") {
        execution.remove("taskSupport");
    }
    item
}
