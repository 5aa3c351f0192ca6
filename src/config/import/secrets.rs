//! Literal secrets in entries become references: which variable stands for which field is said, the
//! value never is.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::clean;

use super::super::secrets::looks_secret;
use super::super::variables::{expand, is_name};
use super::name::variable;

/// A secret that stands as a reference now.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Moved {
    /// The field of the other client's entry, `env.TOKEN`.
    pub field: String,
    /// The variable that has to hold it.
    pub variable: String,
    /// Whether the environment holds it already, with this very value.
    pub set: bool,
}

/// Which variables stand for what, over all entries of one import. Values never leave it.
#[derive(Default)]
pub(super) struct Vault {
    taken: BTreeMap<String, String>,
    /// Variables that entries refer to by themselves.
    referred: BTreeSet<String>,
}

impl Vault {
    /// Names that entries refer to already are not given to a secret.
    pub(super) fn of<'a>(entries: impl Iterator<Item = &'a Map<String, Value>>) -> Self {
        let mut vault = Self::default();
        for entry in entries {
            for value in entry.values() {
                vault.refer_all(value);
            }
        }
        vault
    }

    fn refer_all(&mut self, value: &Value) {
        match value {
            Value::String(text) => vault_names(text, &mut self.referred),
            Value::Array(items) => items.iter().for_each(|item| self.refer_all(item)),
            Value::Object(members) => members.values().for_each(|value| self.refer_all(value)),
            _ => {}
        }
    }

    /// Puts references in the place of the literal secrets of an entry.
    pub(super) fn refer(
        &mut self,
        entry: &mut Map<String, Value>,
        server: &str,
        environment: &BTreeMap<String, String>,
    ) -> Vec<Moved> {
        let mut moved = Vec::new();
        let mut place = Place {
            vault: self,
            server,
            environment,
            moved: &mut moved,
        };
        for key in ["env", "headers"] {
            let members = entry.get_mut(key).and_then(Value::as_object_mut);
            for (name, value) in members.into_iter().flatten() {
                place.named(key, name, value);
            }
        }
        if let Some(args) = entry.get_mut("args").and_then(Value::as_array_mut) {
            place.args(args);
        }
        if let Some(Value::String(url)) = entry.get_mut("url")
            && clean::mask(url) != *url
        {
            *url = place.take("url", "URL", url);
        }
        moved
    }

    /// The variable for a value: the wanted name where nothing else has it, else one of the server's.
    fn name(
        &mut self,
        (server, wanted): (&str, &str),
        value: &str,
        environment: &BTreeMap<String, String>,
    ) -> String {
        let own = format!("{}_{wanted}", variable(server));
        let numbered = (2..).map(|n| format!("{own}_{n}"));
        let mut names = [wanted.to_owned(), own.clone()].into_iter().chain(numbered);
        let free = |name: &String| {
            let taken = self.taken.get(name).is_some_and(|other| other != value);
            let other = environment.get(name).is_some_and(|other| other != value);
            let referred = self.referred.contains(name) && !self.taken.contains_key(name);
            // A variable of the machine (`PATH`) that holds the value by chance is none of it.
            let by_chance = referred && environment.get(name).is_none();
            is_name(name) && !(taken || other || by_chance)
        };
        let name = names.find(free).unwrap_or(own);
        self.taken.insert(name.clone(), value.to_owned());
        name
    }
}

struct Place<'a> {
    vault: &'a mut Vault,
    server: &'a str,
    environment: &'a BTreeMap<String, String>,
    moved: &'a mut Vec<Moved>,
}

impl Place<'_> {
    /// A variable or a header.
    fn named(&mut self, key: &str, name: &str, value: &mut Value) {
        let Value::String(text) = value else { return };
        let folded = name.replace('-', "_");
        let header = key == "headers" && is_credential_header(name);
        let by_name = (header || looks_secret(&folded)) && !is_place(&folded, text);
        let (before, secret) = if key == "headers" {
            scheme(text)
        } else {
            ("", text.as_str())
        };
        let by_value = clean::has_secret(&Value::String(text.clone()));
        if !((by_name && is_literal(secret)) || (by_value && !has_reference(text))) {
            return;
        }
        let wanted = if key == "env" && is_name(name) {
            name.to_owned()
        } else {
            format!("{}_{}", variable(self.server), variable(name))
        };
        let field = format!("{key}.{}", clean::line(name, 100));
        let reference = self.take(&field, &wanted, secret);
        *text = format!("{before}{reference}");
    }

    /// `--token X`, `--token=X`, `TOKEN=X`, and what is a secret by its shape.
    fn args(&mut self, args: &mut [Value]) {
        let mut option: Option<String> = None;
        for (at, arg) in args.iter_mut().enumerate() {
            let Value::String(text) = arg else { continue };
            let field = format!("args[{at}]");
            let before = option.take();
            if let Some((name, value)) = text.split_once('=')
                && is_option(name)
                && is_literal(value)
            {
                let wanted = self.own(name);
                let reference = self.take(&field, &wanted, value);
                *text = format!("{name}={reference}");
            } else if let Some(name) = before.filter(|_| is_literal(text) && !text.starts_with('-'))
            {
                let wanted = self.own(&name);
                *text = self.take(&field, &wanted, text);
            } else if clean::has_secret(&Value::String(text.clone())) && !has_reference(text) {
                let wanted = self.own(&format!("ARG_{}", at + 1));
                *text = self.take(&field, &wanted, text);
            } else if text.starts_with('-') && !text.contains('=') && is_option(text) {
                option = Some(text.clone());
            }
        }
    }

    fn own(&self, name: &str) -> String {
        let name = variable(name.trim_start_matches('-'));
        format!("{}_{name}", variable(self.server))
    }

    /// The reference that takes the place of a text.
    fn take(&mut self, field: &str, wanted: &str, text: &str) -> String {
        // The entry escapes what is plain text; the variable holds it as it is.
        let value = expand(text, &BTreeMap::new()).map_or_else(|_| text.to_owned(), |t| t.value);
        let name = (self.vault).name((self.server, wanted), &value, self.environment);
        self.moved.push(Moved {
            field: field.to_owned(),
            set: self.environment.get(&name) == Some(&value),
            variable: name.clone(),
        });
        format!("${{{name}}}")
    }
}

fn is_option(name: &str) -> bool {
    looks_secret(&name.trim_start_matches('-').replace('-', "_"))
}

fn is_credential_header(name: &str) -> bool {
    let known = ["authorization", "proxy-authorization", "cookie"];
    known.contains(&name.to_ascii_lowercase().as_str())
}

/// `Bearer X` without the word.
fn scheme(text: &str) -> (&str, &str) {
    let at = text.find(' ').map_or(0, |at| at + 1);
    let (word, rest) = text.split_at(at);
    let known = ["bearer ", "basic ", "token ", "bot "];
    if known.contains(&word.to_ascii_lowercase().as_str()) {
        (word, rest)
    } else {
        ("", text)
    }
}

/// A value that could be a secret at all: no reference, no switch, no count.
fn is_literal(text: &str) -> bool {
    let count = text.len() <= 6 && text.bytes().all(|b| b.is_ascii_digit());
    let switch = ["true", "false", "yes", "no", "on", "off", "none"];
    !text.trim().is_empty()
        && !has_reference(text)
        && !count
        && !switch.contains(&text.to_ascii_lowercase().as_str())
}

/// A file that holds the secret is none.
fn is_place(name: &str, text: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let named = ["_FILE", "_PATH", "_DIR"]
        .iter()
        .any(|end| name.ends_with(end));
    named || text.starts_with(['/', '~']) || text.starts_with("./")
}

fn has_reference(text: &str) -> bool {
    let mut names = BTreeSet::new();
    vault_names(text, &mut names);
    !names.is_empty()
}

/// The variables that an entry refers to without a default.
pub(super) fn needed(entry: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    match entry {
        Value::String(text) => {
            let text = text.replace("$${", "");
            let parts = text
                .split("${")
                .skip(1)
                .filter_map(|part| part.split('}').next());
            names.extend(parts.filter(|name| is_name(name)).map(str::to_owned));
        }
        Value::Array(items) => names.extend(items.iter().flat_map(needed)),
        Value::Object(members) => names.extend(members.values().flat_map(needed)),
        _ => {}
    }
    names
}

/// The variables that a text of Creance refers to.
fn vault_names(text: &str, names: &mut BTreeSet<String>) {
    let text = text.replace("$${", "");
    for part in text.split("${").skip(1) {
        let inner = part.split('}').next().unwrap_or_default();
        let name = inner.split(":-").next().unwrap_or_default();
        if is_name(name) {
            names.insert(name.to_owned());
        }
    }
}
