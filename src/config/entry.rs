//! One entry of `mcpServers`: strict, with variables expanded, every fault named by its field.

use std::collections::BTreeMap;

use jsonc_parser::ast::Value;

use crate::grant::{Limit, Network};
use crate::request::{HostRule, ServerId};

use super::definition::ServerDefinition;
use super::fields::{Field, Member, Reader};
use super::problem::ConfigProblem;
use super::remote;
use super::variables::{Text, expand};

/// The keys of a local server.
pub(crate) const KEYS: &[&str] = &[
    "command",
    "args",
    "env",
    "cwd",
    "network",
    "writePaths",
    "readPaths",
    "unixSockets",
    "limits",
    "timeoutMs",
    "startTimeoutMs",
    "enabled",
    "type",
];

/// Longest name of a server, in characters.
pub(crate) const NAME_MAX: usize = 200;

const ITEMS_MAX: usize = 1_000;

/// Reads one entry.
pub(super) fn server<'a>(
    reader: &Reader<'a>,
    member: &Member<'a>,
    id: &ServerId,
    environment: &BTreeMap<String, String>,
) -> Result<ServerDefinition, ConfigProblem> {
    let members = reader.members(&member.field)?;
    let find = |key: &str| members.iter().find(|m| m.key == key).map(|m| &m.field);
    let values = Values {
        reader,
        environment,
    };
    if remote::is_remote(&members) {
        let remote = remote::read((reader, &values), (member, &members), id)?;
        let mut server =
            ServerDefinition::new(id.clone(), reader.origin(member.at), Text::default());
        server.remote = Some(remote);
        common(reader, &members, &mut server)?;
        return Ok(server);
    }
    if let Some(unknown) = members.iter().find(|m| !KEYS.contains(&m.key)) {
        return Err(reader.unknown(unknown, KEYS));
    }
    if let Some(kind) = find("type") {
        reader.word(kind, &[("stdio", ()), ("http", ()), ("sse", ())])?;
    }
    let Some(command) = find("command") else {
        let problem = reader.problem_at(member.at, &member.field.path, "has no `command`");
        return Err(problem);
    };
    let command = values.text(command)?;
    if command.value.trim().is_empty() {
        return Err(reader.problem_at(member.at, &member.field.path, "has an empty `command`"));
    }
    let mut server = ServerDefinition::new(id.clone(), reader.origin(member.at), command);
    server.args = find("args").map_or(Ok(Vec::new()), |f| values.texts(f))?;
    server.env = find("env").map_or(Ok(BTreeMap::new()), |f| values.variables(f))?;
    server.cwd = find("cwd").map(|f| values.path(f)).transpose()?;
    (server.network, server.hosts) =
        find("network").map_or(Ok((Network::None, Vec::new())), |f| network(reader, f))?;
    server.write_paths = find("writePaths").map_or(Ok(Vec::new()), |f| values.paths(f))?;
    server.read_paths = find("readPaths").map_or(Ok(Vec::new()), |f| values.paths(f))?;
    server.sockets = find("unixSockets").map_or(Ok(None), |f| values.sockets(f))?;
    server.limits = find("limits").map_or(Ok(BTreeMap::new()), |f| limits(reader, f))?;
    common(reader, &members, &mut server)?;
    Ok(server)
}

/// What a server of either kind has.
fn common<'a>(
    reader: &Reader<'a>,
    members: &[Member<'a>],
    server: &mut ServerDefinition,
) -> Result<(), ConfigProblem> {
    let find = |key: &str| members.iter().find(|m| m.key == key).map(|m| &m.field);
    if let Some(field) = find("timeoutMs") {
        server.timeout_ms = reader.milliseconds(field)?;
    }
    server.start_timeout_ms = find("startTimeoutMs")
        .map(|f| reader.milliseconds(f))
        .transpose()?;
    server.enabled = find("enabled").map_or(Ok(true), |f| reader.flag(f))?;
    Ok(())
}

/// `true` is the whole network; hosts in a list are asked for by name, and an empty list is none.
fn network(
    reader: &Reader<'_>,
    field: &Field<'_>,
) -> Result<(Network, Vec<HostRule>), ConfigProblem> {
    match field.value {
        Value::BooleanLit(flag) if flag.value => Ok((Network::Whole, Vec::new())),
        Value::BooleanLit(_) => Ok((Network::None, Vec::new())),
        Value::Array(_) => {
            let items = reader.list(field)?;
            if items.len() > ITEMS_MAX {
                return Err(reader.problem(field, format!("has more than {ITEMS_MAX} items")));
            }
            let hosts: Result<Vec<HostRule>, _> =
                items.iter().map(|item| host(reader, item)).collect();
            let hosts = hosts?;
            let network = if hosts.is_empty() {
                Network::None
            } else {
                Network::Hosts
            };
            Ok((network, hosts))
        }
        _ => Err(reader.problem(field, "must be true, false or a list of hosts")),
    }
}

/// Sizes and times are texts with a unit, the rest are numbers.
fn limits<'a>(
    reader: &Reader<'a>,
    field: &Field<'a>,
) -> Result<BTreeMap<Limit, u64>, ConfigProblem> {
    let keys = Limit::ALL.map(Limit::key);
    let mut limits = BTreeMap::new();
    for member in reader.members(field)? {
        let limit = Limit::of_key(member.key).ok_or_else(|| reader.unknown(&member, &keys))?;
        let value = match member.field.value {
            Value::NumberLit(number) if limit.counts() => limit.read(number.value),
            Value::StringLit(text) if !limit.counts() => limit.read(&text.value),
            _ => limit.read(""),
        };
        let value = value.map_err(|reason| reader.problem(&member.field, reason))?;
        limits.insert(limit, value);
    }
    Ok(limits)
}

fn host(reader: &Reader<'_>, field: &Field<'_>) -> Result<HostRule, ConfigProblem> {
    let text = reader.text(field)?;
    text.parse().map_err(|error| {
        let help = "write `api.example.com`, `api.example.com:8443` or `*.example.com`";
        let reason = format!("names no host: {error}");
        reader.problem(field, reason).with_help(help)
    })
}

/// Values of an entry, with variables expanded.
pub(super) struct Values<'a, 'r> {
    reader: &'r Reader<'a>,
    environment: &'r BTreeMap<String, String>,
}

impl<'a> Values<'a, '_> {
    pub(super) fn text(&self, field: &Field<'a>) -> Result<Text, ConfigProblem> {
        let written = self.reader.text(field)?;
        expand(written, self.environment).map_err(|missing| {
            let name = missing.name;
            let help = format!("set {name}, or write `${{{name}:-default}}`");
            let reason = format!("needs {name}");
            ConfigProblem {
                missing: Some(name.into()),
                ..self.reader.problem(field, reason).with_help(help)
            }
        })
    }

    fn path(&self, field: &Field<'a>) -> Result<Text, ConfigProblem> {
        let path = self.text(field)?;
        if path.value.is_empty() {
            return Err(self.reader.problem(field, "is an empty path"));
        }
        Ok(path)
    }

    fn texts(&self, field: &Field<'a>) -> Result<Vec<Text>, ConfigProblem> {
        self.items(field)?
            .iter()
            .map(|item| self.text(item))
            .collect()
    }

    fn paths(&self, field: &Field<'a>) -> Result<Vec<Text>, ConfigProblem> {
        self.items(field)?
            .iter()
            .map(|item| self.path(item))
            .collect()
    }

    /// `true` is its own sockets, a list is others beside them.
    fn sockets(&self, field: &Field<'a>) -> Result<Option<Vec<Text>>, ConfigProblem> {
        match field.value {
            Value::BooleanLit(flag) => Ok(flag.value.then(Vec::new)),
            Value::Array(_) => self.paths(field).map(Some),
            _ => Err(self
                .reader
                .problem(field, "must be true, false or a list of sockets")),
        }
    }

    fn items(&self, field: &Field<'a>) -> Result<Vec<Field<'a>>, ConfigProblem> {
        let items = self.reader.list(field)?;
        if items.len() > ITEMS_MAX {
            return Err(self
                .reader
                .problem(field, format!("has more than {ITEMS_MAX} items")));
        }
        Ok(items)
    }

    fn variables(&self, field: &Field<'a>) -> Result<BTreeMap<String, Text>, ConfigProblem> {
        let mut variables = BTreeMap::new();
        for member in self.reader.members(field)? {
            if member.key.is_empty() || member.key.contains(['=', '\0']) {
                let reason = "is not the name of a variable";
                return Err(self
                    .reader
                    .problem_at(member.at, &member.field.path, reason));
            }
            variables.insert(member.key.to_owned(), self.text(&member.field)?);
        }
        Ok(variables)
    }
}
