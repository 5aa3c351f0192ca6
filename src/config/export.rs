//! The gateway in the place of a client's servers: the text of its file in, the new text out. What
//! else stands there, comments too, stays as it is.

use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Value, json};
use toml_edit::{DocumentMut, Item, Table, value};

use super::fields::SYNTAX;
use super::import::Client;

/// The name of the gateway in clients' files.
pub(crate) const GATEWAY: &str = "creance";

/// The new text, and the servers that it does not have any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exported {
    /// The new text.
    pub(crate) text: String,
    /// The names of the servers that were taken out.
    pub(crate) removed: Vec<String>,
}

/// Puts the gateway, started by this command, in the place of the servers of these names.
///
/// # Errors
/// When the file cannot be edited without changing other parts of it.
pub(crate) fn exported(
    client: Client,
    text: &str,
    command: &str,
    out: &[String],
) -> Result<Exported, String> {
    let (mark, text) = match text.strip_prefix('\u{feff}') {
        Some(text) => ("\u{feff}", text),
        None => ("", text),
    };
    let exported = if client.writes_toml() {
        toml(text, command, out)?
    } else {
        json_text(client, text, command, out)?
    };
    Ok(Exported {
        text: format!("{mark}{}", exported.text),
        removed: exported.removed,
    })
}

fn json_text(
    client: Client,
    text: &str,
    command: &str,
    out: &[String],
) -> Result<Exported, String> {
    let text = if text.trim().is_empty() {
        "{\n}\n"
    } else {
        text
    };
    let root = CstRootNode::parse(text, &SYNTAX).map_err(|error| {
        let (line, column) = (error.line_display(), error.column_display());
        format!("line {line}, column {column}: not JSON: {}", error.kind())
    })?;
    let key = client.servers_key();
    let mut want = root.to_serde_value().unwrap_or_else(|| json!({}));
    let object = root.object_value_or_create();
    let servers = object.and_then(|object| object.object_value_or_create(key));
    let servers =
        servers.ok_or_else(|| format!("must be an object with `{key}`, an object, in it"))?;
    let entry = gateway(client, command);
    let same = servers
        .get(GATEWAY)
        .and_then(|property| property.to_serde_value());
    let there = want.pointer(&format!("/{key}/{GATEWAY}")) == Some(&entry) && same.is_some();
    let removed = remove(&servers, out);
    if !there && let Some(other) = servers.get(GATEWAY) {
        other.remove();
    }
    if !there {
        servers.append(GATEWAY, input(&entry));
    }
    let text = root.to_string();
    if let Some(all) = want.as_object_mut() {
        let servers = all.entry(key).or_insert_with(|| json!({}));
        if let Some(servers) = servers.as_object_mut() {
            for name in &removed {
                servers.shift_remove(name);
            }
            servers.insert(GATEWAY.to_owned(), entry);
        }
    }
    let read = CstRootNode::parse(&text, &SYNTAX).ok();
    if read.and_then(|root| root.to_serde_value()) != Some(want) {
        return Err(BY_HAND.to_owned());
    }
    Ok(Exported { text, removed })
}

/// Takes servers out.
fn remove(servers: &CstObject, out: &[String]) -> Vec<String> {
    let mut removed = Vec::new();
    for property in servers.properties() {
        let Some(name) = property.decoded_name() else {
            continue;
        };
        if name != GATEWAY && out.contains(&name) {
            property.remove();
            removed.push(name);
        }
    }
    removed
}

fn toml(text: &str, command: &str, out: &[String]) -> Result<Exported, String> {
    let mut document: DocumentMut = text.parse().map_err(|_| "is not TOML".to_owned())?;
    let key = Client::Codex.servers_key();
    let mut implicit = Table::new();
    implicit.set_implicit(true);
    let servers = document.entry(key).or_insert(Item::Table(implicit));
    let servers = servers.as_table_like_mut();
    let servers = servers.ok_or_else(|| format!("must have `{key}`, a table, in it"))?;
    let mut removed = Vec::new();
    let mut comments = String::new();
    for name in out.iter().filter(|name| *name != GATEWAY) {
        if let Some(server) = servers.remove(name) {
            removed.push(name.clone());
            comments.push_str(&above(&server));
        }
    }
    let there = servers.get(GATEWAY).and_then(|entry| entry.as_table_like());
    let same = there.is_some_and(|entry| {
        let text = |key: &str| {
            entry
                .get(key)
                .map(|item| item.to_string().trim().to_owned())
        };
        entry.len() == 2
            && text("command") == Some(value(command).to_string().trim().to_owned())
            && text("args").as_deref() == Some("[\"serve\"]")
    });
    if !same {
        let mut entry = Table::new();
        entry.insert("command", value(command));
        entry.insert("args", value(toml_edit::Array::from_iter(["serve"])));
        if !comments.is_empty() {
            entry.decor_mut().set_prefix(format!("\n{comments}"));
        }
        servers.insert(GATEWAY, Item::Table(entry));
    }
    let text = document.to_string();
    let read: Result<DocumentMut, _> = text.parse();
    match read {
        Ok(_) => Ok(Exported { text, removed }),
        Err(_) => Err(BY_HAND.to_owned()),
    }
}

/// The comments above a table: they may be about more than it.
fn above(item: &Item) -> String {
    let prefix = item.as_table().and_then(|table| table.decor().prefix());
    let prefix = prefix
        .and_then(|prefix| prefix.as_str())
        .unwrap_or_default();
    let lines = prefix
        .lines()
        .filter(|line| line.trim_start().starts_with('#'));
    lines.map(|line| format!("{line}\n")).collect()
}

/// What a client starts.
fn gateway(client: Client, command: &str) -> Value {
    let args = json!(["serve"]);
    match client {
        Client::ClaudeCode | Client::Cursor => {
            json!({ "type": "stdio", "command": command, "args": args })
        }
        Client::VsCode => json!({
            "type": "stdio", "command": command, "args": args, "cwd": "${workspaceFolder}"
        }),
        Client::Zed => json!({ "command": command, "args": args, "env": {} }),
        _ => json!({ "command": command, "args": args }),
    }
}

/// A value for the editor of a JSON text.
pub(crate) fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}

const BY_HAND: &str = "cannot be edited without changing other parts of it; edit it by hand";
