//! One server of another client in Creance's form: each field is carried over, or said to be left
//! out and why.

use serde_json::{Map, Number, Value, json};

use crate::clean;

use super::Remark;
use super::client::Client;
use super::lists::{self, Listed, NO_COUNTERPART, list};
use super::opened::sandbox;
use super::references::References;

/// A server as far as it could be read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Entry {
    /// Creance's entry.
    pub(super) members: Map<String, Value>,
    pub(super) remarks: Vec<Remark>,
    pub(super) lists: Vec<Listed>,
    /// Why it cannot be a server of Creance.
    pub(super) refused: Option<String>,
    /// `${workspaceFolder}` is the folder in which it starts.
    here: bool,
}

/// Where an entry stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ground<'a> {
    pub(super) client: Client,
    pub(super) references: &'a References,
}

impl Ground<'_> {
    /// Reads one server.
    pub(super) fn entry(&self, value: &Value) -> Entry {
        let mut entry = Entry::default();
        let Some(object) = value.as_object() else {
            entry.refuse("", "is no object");
            return entry;
        };
        // An object in the place of the command is the older form of Zed.
        let older = object.get("command").and_then(Value::as_object);
        for (key, value) in object.iter().chain(older.into_iter().flatten()) {
            if !(key == "command" && value.is_object()) {
                self.field(&mut entry, key, value);
            }
        }
        self.close(object, &mut entry);
        entry
    }

    fn field(&self, entry: &mut Entry, key: &str, value: &Value) {
        match key {
            "command" | "path" if key == "command" || self.client == Client::Zed => {
                self.text(entry, "command", key, value);
            }
            "args" => self.args(entry, value),
            "env" => self.texts(entry, "env", key, value),
            "cwd" => self.text(entry, "cwd", key, value),
            "url" | "serverUrl" | "httpUrl" => self.url(entry, key, value),
            "headers" | "http_headers" => self.texts(entry, "headers", key, value),
            "type" | "transport" | "source" => Self::kind(entry, key, value),
            "enabled" => entry.flag(key, value, &Value::Bool(false)),
            "disabled" => entry.flag(key, value, &Value::Bool(true)),
            "sandbox" | "sandboxEnabled" | "description" | "title" | "icon" | "gallery"
            | "version" => {}
            "oauth" | "auth" | "authProviderType" | "scopes" | "oauth_resource" => {
                let what = "is left out: signing in is done anew, with Creance's own client";
                entry.remark(key, what);
            }
            "envFile" => entry.remark(key, "is not read: name its variables in `env`"),
            "headersHelper" => entry.remark(key, "is not run: name the headers themselves"),
            _ if self.client == Client::Codex && self.codex(entry, key, value) => {}
            "timeout" => match self.client {
                Client::Zed => entry.time("timeoutMs", key, value, 1_000.0),
                _ => entry.time("timeoutMs", key, value, 1.0),
            },
            _ => match list(self.client, (key, value), &mut entry.remarks) {
                Some(lists) => entry.lists.extend(lists),
                None => entry.remark(&clean::line(key, 100), NO_COUNTERPART),
            },
        }
    }

    /// What only Codex has.
    fn codex(&self, entry: &mut Entry, key: &str, value: &Value) -> bool {
        match key {
            "tool_timeout_sec" => entry.time("timeoutMs", key, value, 1_000.0),
            "startup_timeout_sec" => entry.time("startTimeoutMs", key, value, 1_000.0),
            "startup_timeout_ms" => entry.time("startTimeoutMs", key, value, 1.0),
            "bearer_token_env_var" => {
                let name = value.as_str().unwrap_or_default();
                entry.variable("headers", "Authorization", ("Bearer ", name), key);
            }
            "env_http_headers" => {
                for (header, name) in value.as_object().into_iter().flatten() {
                    let name = name.as_str().unwrap_or_default();
                    entry.variable("headers", header, ("", name), key);
                }
            }
            "env_vars" => {
                for item in value.as_array().into_iter().flatten() {
                    entry.passed(key, item);
                }
            }
            "bearer_token" => {
                entry.refuse(key, "holds a token, which Codex itself refuses there");
            }
            _ => return false,
        }
        true
    }

    /// A text with variables; without it the server would be another one.
    fn text(&self, entry: &mut Entry, to: &str, key: &str, value: &Value) {
        let Some(raw) = value.as_str() else {
            entry.refuse(key, "is no text");
            return;
        };
        match self.rewritten(entry, key, raw) {
            Ok(text) => {
                entry.members.insert(to.to_owned(), Value::String(text));
            }
            Err(why) => entry.refuse(key, &why),
        }
    }

    fn args(&self, entry: &mut Entry, value: &Value) {
        let Some(items) = value.as_array() else {
            entry.refuse("args", "is no list");
            return;
        };
        let mut args = Vec::new();
        for (at, item) in items.iter().enumerate() {
            let field = format!("args[{at}]");
            let raw = plain(item);
            let text = raw.ok_or_else(|| "is no text".to_owned());
            match text.and_then(|raw| self.rewritten(entry, &field, &raw)) {
                Ok(text) => args.push(Value::String(text)),
                Err(why) => return entry.refuse(&field, &why),
            }
        }
        entry.members.insert("args".to_owned(), Value::Array(args));
    }

    /// Variables or headers: one that cannot be carried over is left out and said.
    fn texts(&self, entry: &mut Entry, to: &str, key: &str, value: &Value) {
        let Some(members) = value.as_object() else {
            if !value.is_null() {
                entry.refuse(key, "is no object");
            }
            return;
        };
        for (name, value) in members {
            let field = format!("{key}.{}", clean::line(name, 100));
            let bad = name.is_empty() || name.contains(['=', '\0', '\n', '\r']);
            let raw = plain(value).filter(|_| !bad);
            let text = raw.ok_or_else(|| "is no text under a proper name".to_owned());
            match text.and_then(|raw| self.rewritten(entry, &field, &raw)) {
                Ok(text) => entry.put(to, name, text),
                Err(why) => entry.remark(&field, &format!("is left out: it {why}")),
            }
        }
    }

    fn url(&self, entry: &mut Entry, key: &str, value: &Value) {
        let raw = value.as_str().unwrap_or_default();
        let lower = raw.to_ascii_lowercase();
        if ["unix:", "pipe:", "ws:", "wss:"]
            .iter()
            .any(|scheme| lower.starts_with(scheme))
        {
            entry.refuse(key, "is reached by a way that Creance does not speak");
            return;
        }
        // Gemini CLI takes `httpUrl` before `url`.
        if entry.members.contains_key("url") && key == "url" {
            entry.remark(key, "is left out: `httpUrl` is used");
            return;
        }
        self.text(entry, "url", key, value);
    }

    fn kind(entry: &mut Entry, key: &str, value: &Value) {
        let kind = match value.as_str().unwrap_or_default() {
            "stdio" | "custom" | "extension" => return,
            "http" | "https" | "streamable-http" | "streamableHttp" | "streamable_http" => "http",
            "sse" => "sse",
            "ws" | "websocket" => {
                return entry.refuse(key, "is a web socket, which Creance does not speak");
            }
            _ => return entry.remark(key, "is a transport that is not known: left out"),
        };
        entry.members.insert("type".to_owned(), kind.into());
    }

    fn rewritten(&self, entry: &mut Entry, field: &str, raw: &str) -> Result<String, String> {
        if raw.contains('\0') {
            return Err("holds a zero character".to_owned());
        }
        let rewritten = self.references.rewrite(self.client, raw)?;
        entry.here |= rewritten.here;
        if let Some(name) = rewritten.literal {
            let client = self.client.title();
            let what = format!("holds `${{{name}}}`, which is plain text to {client} and stays so");
            entry.remark(field, &what);
        }
        Ok(rewritten.text)
    }

    /// What can be said of the entry as a whole.
    fn close(&self, object: &Map<String, Value>, entry: &mut Entry) {
        if self.client == Client::VsCode {
            sandbox(object, entry);
        }
        let has = |key: &str| entry.members.contains_key(key);
        let (local, remote, typed) = (has("command"), has("url"), has("type"));
        let other_folder = entry.members.get("cwd").is_some_and(|cwd| cwd != ".");
        if object.contains_key("tcp") {
            entry.refuse("tcp", "is reached by a way that Creance does not speak");
        } else if local && remote {
            entry.refuse(
                "",
                "names a command and an address: which one is meant cannot be known",
            );
        } else if !local && !remote && self.client == Client::Zed {
            entry.refuse(
                "",
                "belongs to an extension of Zed, which alone can start it",
            );
        } else if !local && !remote {
            entry.refuse("", "names neither a command nor an address");
        } else if entry.here && other_folder {
            let why = "holds `${workspaceFolder}` beside a `cwd` of its own";
            entry.refuse("", why);
        }
        if remote && !typed {
            // Without a type, Gemini CLI speaks the older transport to `url`, and editors try both.
            let kind = match self.client {
                Client::Gemini if !object.contains_key("httpUrl") => Some("sse"),
                Client::Cursor | Client::VsCode => None,
                _ => Some("http"),
            };
            let kind = kind.map(|kind| ("type".to_owned(), kind.into()));
            entry.members.extend(kind);
        }
        if local {
            entry.members.shift_remove("type");
            if entry.members.shift_remove("headers").is_some() {
                entry.remark(
                    "headers",
                    "is left out: it belongs to a server with an address",
                );
            }
        } else if entry.members.shift_remove("env").is_some() {
            entry.remark("env", "is left out: it belongs to a server with a command");
        }
        lists::settle(&mut entry.lists);
        entry.sort();
    }
}

impl Entry {
    pub(super) fn remark(&mut self, field: &str, what: &str) {
        self.remarks.push(Remark::new(field, what));
    }

    /// The first reason counts.
    fn refuse(&mut self, field: &str, why: &str) {
        let reason = match field {
            "" => format!("it {why}"),
            field => format!("`{}` {why}", clean::line(field, 100)),
        };
        self.refused.get_or_insert(reason);
    }

    fn put(&mut self, to: &str, name: &str, text: String) {
        let all = self.members.entry(to).or_insert_with(|| json!({}));
        if let Some(all) = all.as_object_mut() {
            all.insert(name.to_owned(), Value::String(text));
        }
    }

    /// A reference to a variable of the user's environment.
    fn variable(&mut self, to: &str, name: &str, (before, from): (&str, &str), field: &str) {
        if super::super::variables::is_name(from) && !name.is_empty() {
            self.put(to, name, format!("{before}${{{from}}}"));
        } else {
            self.remark(field, "names something that is no variable: left out");
        }
    }

    /// A variable that Codex passes on.
    fn passed(&mut self, key: &str, item: &Value) {
        if item.get("source").is_some_and(|from| from == "remote") {
            self.remark(key, "takes a variable of another machine: left out");
            return;
        }
        let name = item.as_str().or_else(|| item.get("name")?.as_str());
        let name = name.unwrap_or_default();
        self.variable("env", name, ("", name), key);
    }

    fn flag(&mut self, key: &str, value: &Value, off: &Value) {
        match value {
            // Off by either key is off.
            value if value == off => {
                self.members.insert("enabled".to_owned(), false.into());
            }
            Value::Bool(_) => {}
            _ => self.remark(key, "is neither true nor false: left out"),
        }
    }

    /// A time in some unit, in whole milliseconds.
    fn time(&mut self, to: &str, key: &str, value: &Value, unit: f64) {
        let ms = value.as_f64().map(|number| (number * unit).round());
        let ms = ms.filter(|ms| (1.0..=DAY_MS).contains(ms));
        let number = ms.and_then(|ms| format!("{ms:.0}").parse::<u64>().ok());
        match number {
            Some(ms) => {
                self.members
                    .insert(to.to_owned(), Value::Number(Number::from(ms)));
            }
            None => self.remark(key, "is no time from a millisecond to a day: left out"),
        }
    }

    /// The members in the order in which people write them.
    fn sort(&mut self) {
        let mut sorted = Map::new();
        for key in ORDER {
            if let Some(value) = self.members.shift_remove(*key) {
                sorted.insert((*key).to_owned(), value);
            }
        }
        self.members = sorted;
    }
}

/// A text, or what other clients take for one.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}

const DAY_MS: f64 = 86_400_000.0;

const ORDER: &[&str] = &[
    "type",
    "url",
    "headers",
    "command",
    "args",
    "env",
    "cwd",
    "network",
    "writePaths",
    "timeoutMs",
    "startTimeoutMs",
    "enabled",
];
