//! One client's file: its servers, each on its own, and what is to be said about the file.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value};

use crate::clean;

use super::Remark;
use super::client::{Client, Scope};
use super::entry::Ground;
use super::lists::{Effect, ToolRule, claude_name, permissions};
use super::name::{slug, variable};
use super::references::References;
use super::tree::{self, CLIENT_FILE_MAX, Tree};

/// A file that was read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ClientText<'a> {
    /// Whose it is.
    pub(crate) client: Client,
    /// Whose word it is.
    pub(crate) scope: Scope,
    /// Its place, for people.
    pub(crate) file: &'a Path,
    /// What stands in it.
    pub(crate) text: &'a str,
    /// The project in which Creance runs.
    pub(crate) project: Option<&'a str>,
}

/// What a file says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Read {
    /// Its servers in the order of the file.
    pub(crate) servers: Vec<Imported>,
    /// What is to be said beside them.
    pub(crate) remarks: Vec<Remark>,
}

/// A server of another client.
#[derive(Clone, Debug)]
pub(crate) struct Imported {
    /// Its name there.
    pub(crate) name: String,
    /// Its name in Creance, unless that is taken.
    pub(crate) slug: String,
    /// Where it stands, `mcpServers.NAME`.
    pub(crate) field: String,
    /// The client.
    pub(crate) client: Client,
    /// Whose word the file is.
    pub(crate) scope: Scope,
    /// Its file, for people.
    pub(crate) file: String,
    /// Creance's entry, secrets still in it: not to be shown.
    pub(crate) entry: Map<String, Value>,
    /// What is not carried over, or otherwise.
    pub(crate) remarks: Vec<Remark>,
    /// What its lists of tools say.
    pub(crate) rules: Vec<ToolRule>,
    /// Why it cannot be a server of Creance.
    pub(crate) refused: Option<String>,
}

/// The most servers of one file.
const SERVERS_MAX: usize = 200;

/// Reads one file.
///
/// # Errors
/// Where and why nothing of it can be read, without its text.
pub(crate) fn read(source: &ClientText<'_>) -> Result<Read, String> {
    if source.text.len() > CLIENT_FILE_MAX {
        return Err(format!("is larger than {} MiB", CLIENT_FILE_MAX >> 20));
    }
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(source.text);
    let tree = if source.client.writes_toml() {
        tree::of_toml(text)?
    } else {
        tree::of_json(text)?
    };
    let mut file = File {
        source,
        tree: &tree,
        references: References::default(),
        read: Read::default(),
    };
    let root = match &tree.root {
        Value::Object(root) => root,
        Value::Null => return Ok(Read::default()),
        _ => return Err("holds no object".to_owned()),
    };
    file.references = file.references(root);
    file.servers(root, &[source.client.servers_key()], None)?;
    if source.client == Client::ClaudeCode {
        file.claude_projects(root)?;
        file.permit_lists(root, "");
    }
    if source.client == Client::Gemini {
        file.gemini_lists(root);
    }
    if source.scope == Scope::Project {
        file.only_tighten();
    }
    Ok(file.read)
}

struct File<'a> {
    source: &'a ClientText<'a>,
    tree: &'a Tree,
    references: References,
    read: Read,
}

impl File<'_> {
    /// The inputs of VS Code become variables; what a password stands for has no default.
    fn references(&self, root: &Map<String, Value>) -> References {
        let mut inputs = BTreeMap::new();
        let listed = root.get("inputs").and_then(Value::as_array);
        for input in listed.into_iter().flatten() {
            let Some(id) = input.get("id").and_then(Value::as_str) else {
                continue;
            };
            let secret = input.get("password") == Some(&Value::Bool(true));
            let default = input.get("default").and_then(Value::as_str);
            let default = default.filter(|text| !secret && !text.contains(['}', '$']));
            let name = variable(id);
            let name = match default {
                Some(default) => format!("{name}:-{default}"),
                None => name,
            };
            inputs.insert(id.to_owned(), name);
        }
        let own = self.source.scope == Scope::Project;
        References {
            inputs,
            workspace: self.source.project.filter(|_| own).map(str::to_owned),
        }
    }

    fn servers(
        &mut self,
        root: &Map<String, Value>,
        path: &[&str],
        only_for: Option<&str>,
    ) -> Result<(), String> {
        let Some(key) = path.last() else {
            return Ok(());
        };
        let Some(all) = root.get(*key) else {
            return Ok(());
        };
        let place = clean::line(&path.join("."), 300);
        let twice = |twice: &Vec<String>| {
            twice.len() <= path.len() && twice.iter().zip(path).all(|(key, part)| key == part)
        };
        if self.tree.twice.iter().any(twice) {
            return Err(format!(
                "`{place}` stands twice: which one is meant cannot be known"
            ));
        }
        let Some(all) = all.as_object() else {
            return Err(format!("`{place}` is no object of servers by name"));
        };
        if all.len() > SERVERS_MAX {
            let what = format!("holds more than {SERVERS_MAX} servers; the first are read");
            self.read.remarks.push(Remark::new(&place, what));
        }
        for (name, value) in all.iter().take(SERVERS_MAX) {
            let whole: Vec<&str> = path.iter().copied().chain([name.as_str()]).collect();
            let mut server = self.server(name, value, &place);
            if self.tree.is_doubtful(&whole) {
                let why = "it has a key that stands twice: which one is meant cannot be known";
                server.refused = Some(why.to_owned());
            }
            if let Some(folder) = only_for {
                let folder = clean::line(folder, 300);
                let what = format!("was for {folder} alone; here it is for every folder");
                server.remarks.insert(0, Remark::new("", what));
            }
            self.read.servers.push(server);
        }
        Ok(())
    }

    fn server(&self, name: &str, value: &Value, place: &str) -> Imported {
        let ground = Ground {
            client: self.source.client,
            references: &self.references,
        };
        let entry = ground.entry(value);
        let slug = slug(name);
        let rules = entry.lists.into_iter();
        let rules = rules.map(|list| list.of(&slug, self.source.client));
        Imported {
            field: format!("{place}.{}", clean::line(name, 100)),
            name: name.to_owned(),
            client: self.source.client,
            scope: self.source.scope,
            file: clean::line(&self.source.file.to_string_lossy(), 1_000),
            entry: entry.members,
            remarks: entry.remarks,
            rules: rules.collect(),
            refused: entry.refused,
            slug,
        }
    }

    /// The local scope of Claude Code: servers of the user for one project.
    fn claude_projects(&mut self, root: &Map<String, Value>) -> Result<(), String> {
        let Some(projects) = root.get("projects").and_then(Value::as_object) else {
            return Ok(());
        };
        let mut others = 0;
        for (folder, settings) in projects {
            let Some(settings) = settings.as_object() else {
                continue;
            };
            let servers = settings.get("mcpServers").and_then(Value::as_object);
            let count = servers.map_or(0, Map::len);
            if self.source.project != Some(folder) {
                others += count;
                continue;
            }
            let path = ["projects", folder, "mcpServers"];
            self.servers(settings, &path, Some(folder))?;
            self.permit_lists(settings, "projects.….");
            self.no_permit_elsewhere();
        }
        if others > 0 {
            let noun = if others == 1 { "server" } else { "servers" };
            let what = format!("{others} {noun} of other projects: import them from there");
            self.read.remarks.push(Remark::new("", what));
        }
        Ok(())
    }

    /// What was approved for one project would be permitted in every other one here.
    fn no_permit_elsewhere(&mut self) {
        for server in &mut self.read.servers {
            let wide = |rule: &ToolRule| {
                rule.effect == Effect::Permit && rule.field.starts_with("projects.")
            };
            if server.rules.iter().any(wide) {
                server.rules.retain(|rule| !wide(rule));
                let what = "is left out: what was approved for one project would hold in all";
                server.remarks.push(Remark::new("allowedTools", what));
            }
        }
    }

    fn permit_lists(&mut self, root: &Map<String, Value>, at: &str) {
        let client = self.source.client;
        for (name, list) in permissions(root, at) {
            let mut servers = self.read.servers.iter_mut();
            match servers.find(|server| claude_name(&server.name) == name) {
                Some(server) => {
                    let rule = list.of(&server.slug, client);
                    server.rules.push(rule);
                }
                None => self.read.remarks.push(Remark::new(
                    list.field,
                    format!(
                        "names a server `{}` that is not in this file",
                        clean::line(&name, 100)
                    ),
                )),
            }
        }
    }

    /// `mcp.allowed` and `mcp.excluded`: what is not used there is off here.
    fn gemini_lists(&mut self, root: &Map<String, Value>) {
        let names = |key: &str| -> Option<Vec<&str>> {
            let list = root.get("mcp")?.get(key)?.as_array()?;
            Some(list.iter().filter_map(Value::as_str).collect())
        };
        let (allowed, excluded) = (names("allowed"), names("excluded").unwrap_or_default());
        for server in &mut self.read.servers {
            let name = server.name.as_str();
            let kept = allowed.as_ref().is_none_or(|all| all.contains(&name));
            if !kept || excluded.contains(&name) {
                server.entry.insert("enabled".to_owned(), false.into());
                let what = "keeps it out there: it is off here too";
                server.remarks.push(Remark::new("mcp", what));
            }
        }
    }

    /// What a cloned repository says may take away and never give.
    fn only_tighten(&mut self) {
        for server in &mut self.read.servers {
            for key in ["network", "writePaths", "readPaths"] {
                let opened = server.entry.shift_remove(key);
                let what = "is left out: a project's file opens nothing";
                (server.remarks).extend(opened.map(|_| Remark::new(key, what)));
            }
            let before = server.rules.len();
            server.rules.retain(|rule| rule.effect != Effect::Permit);
            if server.rules.len() < before {
                let what = "approvals are left out: a project's file permits nothing";
                server.remarks.push(Remark::new("", what));
            }
        }
    }
}
