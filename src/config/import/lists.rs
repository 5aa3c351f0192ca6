//! What a client's lists of tools say, before it is a policy: tools that are off, the only ones that
//! are on, those that are asked about, those that need no question.

use serde_json::{Map, Value};

use crate::clean;

use super::Remark;
use super::client::Client;

/// What becomes of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// They are forbidden.
    Off,
    /// All others of the server are forbidden.
    Only,
    /// A person is asked each time, whatever else permits them.
    Ask,
    /// A person is asked about all others of the server.
    AskOthers,
    /// They need no question: the only effect that widens anything.
    Permit,
}

/// One list of one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolRule {
    /// The server's name in Creance.
    pub(crate) server: String,
    /// What becomes of its tools.
    pub(crate) effect: Effect,
    /// Their names; none means every tool of the server.
    pub(crate) tools: Vec<String>,
    /// Whose list it is.
    pub(crate) client: Client,
    /// The field that says it.
    pub(crate) field: String,
}

/// A list before its server has a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) effect: Effect,
    pub(super) tools: Vec<String>,
    pub(super) field: String,
}

impl Listed {
    pub(super) fn new(effect: Effect, tools: Vec<String>, field: &str) -> Self {
        Self {
            effect,
            tools,
            field: field.to_owned(),
        }
    }

    pub(super) fn of(self, server: &str, client: Client) -> ToolRule {
        ToolRule {
            server: server.to_owned(),
            effect: self.effect,
            tools: self.tools,
            client,
            field: self.field,
        }
    }
}

/// The lists of one entry; `None` when this key is none.
pub(super) fn list(
    client: Client,
    (key, value): (&str, &Value),
    remarks: &mut Vec<Remark>,
) -> Option<Vec<Listed>> {
    let effect = match (client, key) {
        (Client::Codex, "enabled_tools") | (Client::Gemini, "includeTools") => Effect::Only,
        (Client::Codex, "disabled_tools")
        | (Client::Gemini, "excludeTools")
        | (_, "disabledTools") => Effect::Off,
        (_, "alwaysAllow" | "autoApprove") => Effect::Permit,
        (Client::Codex, "default_tools_approval_mode") => {
            return Some(mode(value, Vec::new(), key, remarks).into_iter().collect());
        }
        (Client::Codex, "tools") => return Some(codex_tools(value, remarks)),
        (Client::Gemini, "trust") => {
            let trusted = value.as_bool().unwrap_or(false);
            let permit = Listed::new(Effect::Permit, Vec::new(), key);
            return Some(trusted.then_some(permit).into_iter().collect());
        }
        _ => return None,
    };
    let tools = names(client, value, key, remarks);
    // An empty list of tools that are off, or permitted, says nothing; every tool is another rule.
    let empty = tools.is_empty() && effect != Effect::Only;
    Some(if empty {
        Vec::new()
    } else {
        vec![Listed::new(effect, tools, key)]
    })
}

fn names(client: Client, value: &Value, key: &str, remarks: &mut Vec<Remark>) -> Vec<String> {
    let Some(items) = value.as_array() else {
        remarks.push(Remark::new(key, "is no list of tools: left out"));
        return Vec::new();
    };
    let mut names = Vec::new();
    for item in items {
        let name = item.as_str().unwrap_or_default();
        // Gemini CLI may name arguments too; a rule about the tool is what is left of that.
        let bare = match client {
            Client::Gemini => name.split('(').next().unwrap_or_default(),
            _ => name,
        };
        if bare != name {
            let what = "names arguments of a tool: the rule is about the tool";
            remarks.push(Remark::new(key, what));
        }
        if is_tool(bare) {
            names.push(bare.to_owned());
        } else {
            let what = "holds something that is no tool's name: left out";
            remarks.push(Remark::new(key, what));
        }
    }
    names.sort();
    names.dedup();
    names
}

/// Whether a text can be the name of a tool.
fn is_tool(name: &str) -> bool {
    !name.is_empty()
        && name.chars().count() <= 200
        && !name.contains('/')
        && !name
            .chars()
            .any(|c| c.is_control() || clean::is_invisible(c))
}

/// `tools.NAME.approval_mode`.
fn codex_tools(value: &Value, remarks: &mut Vec<Remark>) -> Vec<Listed> {
    let mut lists = Vec::new();
    for (name, settings) in value.as_object().into_iter().flatten() {
        let field = format!("tools.{}.approval_mode", clean::line(name, 100));
        if !is_tool(name) {
            remarks.push(Remark::new(
                "tools",
                "holds something that is no tool's name: left out",
            ));
            continue;
        }
        for (key, value) in settings.as_object().into_iter().flatten() {
            match key.as_str() {
                "approval_mode" => lists.extend(mode(value, vec![name.clone()], &field, remarks)),
                "enabled" if value == &Value::Bool(false) => {
                    lists.push(Listed::new(Effect::Off, vec![name.clone()], &field));
                }
                "enabled" => {}
                other => remarks.push(Remark::new(
                    format!(
                        "tools.{}.{}",
                        clean::line(name, 100),
                        clean::line(other, 100)
                    ),
                    NO_COUNTERPART,
                )),
            }
        }
    }
    lists
}

/// An approval mode of Codex. `auto` believes what a server says about its own tools, which Creance
/// never does: it asks.
fn mode(
    value: &Value,
    tools: Vec<String>,
    field: &str,
    remarks: &mut Vec<Remark>,
) -> Option<Listed> {
    match value.as_str() {
        Some("approve") => Some(Listed::new(Effect::Permit, tools, field)),
        Some("prompt" | "writes") => Some(Listed::new(Effect::Ask, tools, field)),
        Some("auto") => {
            let what = "is `auto`, which believes what a server says about its tools: Creance asks";
            remarks.push(Remark::new(field, what));
            None
        }
        _ => {
            remarks.push(Remark::new(
                field,
                "is no approval mode that is known: left out",
            ));
            None
        }
    }
}

/// Why a key is left out that Creance has nothing for.
pub(super) const NO_COUNTERPART: &str = "has no counterpart in Creance: left out";

/// Permissions of Claude Code in the same file: `permissions.allow|ask|deny` and `allowedTools`, each
/// `mcp__SERVER` or `mcp__SERVER__TOOL`, for the server that Claude Code calls so.
pub(super) fn permissions(root: &Map<String, Value>, at: &str) -> Vec<(String, Listed)> {
    let mut found = Vec::new();
    let named = root.get("permissions").and_then(Value::as_object);
    let lists = [
        ("allow", Effect::Permit),
        ("ask", Effect::Ask),
        ("deny", Effect::Off),
    ];
    let lists = lists.iter().filter_map(|(key, effect)| {
        Some((format!("{at}permissions.{key}"), *effect, named?.get(*key)?))
    });
    let allowed = root.get("allowedTools");
    let allowed = allowed.map(|list| (format!("{at}allowedTools"), Effect::Permit, list));
    for (field, effect, list) in lists.chain(allowed) {
        for item in list.as_array().into_iter().flatten() {
            let Some(name) = item.as_str().and_then(|item| item.strip_prefix("mcp__")) else {
                continue;
            };
            let (server, tool) = name.split_once("__").unwrap_or((name, ""));
            let tools: Vec<String> = match tool {
                "" | "*" => Vec::new(),
                tool if is_tool(tool) => vec![tool.to_owned()],
                _ => continue,
            };
            found.push((server.to_owned(), Listed::new(effect, tools, &field)));
        }
    }
    found
}

/// A server that asks about every tool, and has tools that need no question: it asks about the others.
pub(super) fn settle(lists: &mut [Listed]) {
    let free: Vec<String> = lists
        .iter()
        .filter(|list| list.effect == Effect::Permit)
        .flat_map(|list| list.tools.clone())
        .collect();
    for list in lists {
        if list.effect == Effect::Ask && list.tools.is_empty() && !free.is_empty() {
            list.effect = Effect::AskOthers;
            list.tools.clone_from(&free);
        }
    }
}

/// A server's name as Claude Code writes it in the names of tools.
pub(super) fn claude_name(name: &str) -> String {
    let kept = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    name.chars()
        .map(|c| if kept(c) { c } else { '_' })
        .collect()
}
