//! One server as configured: what is started or connected to, with which variables and grants; its digest,
//! which consent hangs on, and the text in which two versions of it are compared.

use std::collections::{BTreeMap, BTreeSet};

use similar::{ChangeTag, TextDiff};

use crate::clean;
use crate::digest::{Digest, DigestBuilder};
use crate::grant::{Environment, Limit, Network};
use crate::request::{EnvFacts, HostRule, ServerId};

use super::problem::Origin;
use super::remote::Remote;
use super::secrets::looks_secret;
use super::variables::Text;

/// The default time limit of one call, in milliseconds.
pub(crate) const TIMEOUT_MS: u64 = 60_000;

/// One server. All fields are plain data; values of the environment never reach `Debug`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerDefinition {
    /// Its identity.
    pub(crate) id: ServerId,
    /// Where it stands.
    pub(crate) origin: Origin,
    /// Where it is, when it is not started here. Then there is no program, and nothing of a sandbox.
    pub(crate) remote: Option<Remote>,
    /// The program.
    pub(crate) command: Text,
    /// Its arguments.
    pub(crate) args: Vec<Text>,
    /// Variables that the entry names.
    pub(crate) env: BTreeMap<String, Text>,
    /// The working folder.
    pub(crate) cwd: Option<Text>,
    /// The network it asks for.
    pub(crate) network: Network,
    /// The hosts that it asks for at its start, where hosts are decided one by one.
    pub(crate) hosts: Vec<HostRule>,
    /// Folders and files that become writable.
    pub(crate) write_paths: Vec<Text>,
    /// Folders and files that become readable.
    pub(crate) read_paths: Vec<Text>,
    /// Unix sockets: `None` none at all; else those it makes itself and these.
    pub(crate) sockets: Option<Vec<Text>>,
    /// Limits in place of the default ones.
    pub(crate) limits: BTreeMap<Limit, u64>,
    /// Time limit of one call, in milliseconds.
    pub(crate) timeout_ms: u64,
    /// Time limit of its start; `None` means the setting for all.
    pub(crate) start_timeout_ms: Option<u64>,
    /// Whether it is used at all.
    pub(crate) enabled: bool,
}

impl ServerDefinition {
    /// A definition with the defaults: no network, no paths, enabled.
    pub(crate) fn new(id: ServerId, origin: Origin, command: Text) -> Self {
        Self {
            id,
            origin,
            remote: None,
            command,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            network: Network::None,
            hosts: Vec::new(),
            write_paths: Vec::new(),
            read_paths: Vec::new(),
            sockets: None,
            limits: BTreeMap::new(),
            timeout_ms: TIMEOUT_MS,
            start_timeout_ms: None,
            enabled: true,
        }
    }

    /// The program as it is used.
    pub(crate) fn command(&self) -> &str {
        &self.command.value
    }

    /// The arguments as they are used.
    pub(crate) fn args(&self) -> Vec<String> {
        self.args.iter().map(|arg| arg.value.clone()).collect()
    }

    /// The variables that the entry names, with their values.
    pub(crate) fn environment(&self) -> Environment {
        let pairs = self.env.iter();
        Environment(
            pairs
                .map(|(name, text)| (name.clone(), text.value.clone()))
                .collect(),
        )
    }

    /// The variables that the entry names as policy sees them.
    pub(crate) fn env_facts(&self) -> Vec<EnvFacts> {
        let facts = |(name, text): (&String, &Text)| EnvFacts {
            name: name.clone(),
            looks_secret: looks_secret(name) || text.takes.iter().any(|taken| looks_secret(taken)),
        };
        self.env.iter().map(facts).collect()
    }

    /// Variables of the process that carry or look like secrets, and variables of the user's
    /// environment that look like secrets and are taken anywhere in the entry.
    pub(crate) fn secret_names(&self) -> Vec<String> {
        let named = self.env_facts().into_iter();
        let mut names: BTreeSet<String> = named
            .filter(|facts| facts.looks_secret)
            .map(|facts| facts.name)
            .collect();
        names.extend(self.taken().into_iter().filter(|name| looks_secret(name)));
        names.into_iter().collect()
    }

    /// Variables of the user's environment whose values the entry takes.
    pub(crate) fn taken(&self) -> BTreeSet<String> {
        self.texts()
            .flat_map(|text| text.takes.iter().cloned())
            .collect()
    }

    /// What consent hangs on: command, arguments, working folder, environment with its values,
    /// network, paths and limits. The order of keys, names of environment variables and paths is no part.
    pub(crate) fn digest(&self) -> Digest {
        if let Some(remote) = &self.remote {
            return remote.digest();
        }
        let mut digest = DigestBuilder::new("server-definition/1");
        digest.field("stdio").field(&self.command.value);
        digest.list(self.args.iter().map(|arg| &arg.value));
        digest.list(self.cwd.iter().map(|cwd| &cwd.value));
        digest.list(self.env.iter().flat_map(|(name, text)| [name, &text.value]));
        digest.field(network_word(self.network));
        if self.network == Network::Hosts {
            let sorted: BTreeSet<&HostRule> = self.hosts.iter().collect();
            digest.list(sorted.iter().map(ToString::to_string));
        }
        for paths in [&self.read_paths, &self.write_paths] {
            let sorted: BTreeSet<&String> = paths.iter().map(|path| &path.value).collect();
            digest.list(sorted);
        }
        if let Some(sockets) = &self.sockets {
            let sorted: BTreeSet<&String> = sockets.iter().map(|path| &path.value).collect();
            digest.field("unix sockets").list(sorted);
        }
        if !self.limits.is_empty() {
            let words = self.limits.iter();
            digest.list(words.map(|(limit, value)| format!("{}={value}", limit.key())));
        }
        digest.finish()
    }

    /// The definition in lines, as written: kept with the pin and compared when it changes. A value
    /// that comes from the environment, and every value of a variable, stands as a mark of 16 bits:
    /// enough to see that it changed, too little to find it.
    pub(crate) fn shown(&self) -> String {
        if let Some(remote) = &self.remote {
            return remote.shown();
        }
        let mut lines = vec![line("command", &self.command)];
        let before = std::iter::once(None).chain(self.args.iter().map(Some));
        lines.extend(
            before
                .zip(&self.args)
                .map(|(before, arg)| argument(before, arg)),
        );
        lines.extend(self.cwd.iter().map(|cwd| line("folder", cwd)));
        lines.extend(self.env.iter().map(|(name, text)| {
            let from: Vec<&str> = text.takes.iter().map(String::as_str).collect();
            let from = match from.as_slice() {
                [] => String::new(),
                names => format!(" from {}", names.join(", ")),
            };
            let name = clean::line(name, TEXT_MAX);
            format!("variable: {name}{from} (value #{})", self.mark(&name, text))
        }));
        lines.push(format!("network: {}", network_word(self.network)));
        lines.extend(self.hosts.iter().map(|host| format!("host: {host}")));
        lines.extend(self.read_paths.iter().map(|path| line("reads", path)));
        lines.extend(self.write_paths.iter().map(|path| line("writes", path)));
        if let Some(sockets) = &self.sockets {
            lines.push("unix sockets: its own".to_owned());
            lines.extend(sockets.iter().map(|path| line("unix socket", path)));
        }
        lines.extend(
            (self.limits.iter())
                .map(|(limit, value)| format!("limit: {} {}", limit.key(), limit.show(*value))),
        );
        lines.join("\n")
    }

    /// Salted with server and name, so that equal values of two entries do not show as equal.
    fn mark(&self, name: &str, text: &Text) -> String {
        let fields = [self.id.to_string(), name.to_owned(), text.value.clone()];
        mark(&fields)
    }

    fn texts(&self) -> impl Iterator<Item = &Text> {
        std::iter::once(&self.command)
            .chain(&self.args)
            .chain(self.env.values())
            .chain(&self.cwd)
            .chain(&self.write_paths)
            .chain(&self.read_paths)
            .chain(self.sockets.iter().flatten())
            .chain(self.remote.iter().flat_map(Remote::texts))
    }
}

/// The lines that differ between two texts of [`ServerDefinition::shown`], `- ` and `+ ` before.
pub(crate) fn difference(old: &str, new: &str) -> Vec<String> {
    let sign = |tag| match tag {
        ChangeTag::Delete => Some("- "),
        ChangeTag::Insert => Some("+ "),
        ChangeTag::Equal => None,
    };
    TextDiff::from_lines(old, new)
        .iter_all_changes()
        .filter_map(|change| {
            sign(change.tag()).map(|sign| format!("{sign}{}", change.value().trim_end()))
        })
        .collect()
}

fn line(label: &str, text: &Text) -> String {
    let shown = clean::line(&text.written, TEXT_MAX);
    if text.takes.is_empty() {
        return format!("{label}: {shown}");
    }
    let fields = [label.to_owned(), text.written.clone(), text.value.clone()];
    format!("{label}: {shown} (value #{})", mark(&fields))
}

/// An argument; one that holds a credential by the name of its option (`--token X`, `--token=X`,
/// `TOKEN=X`) is a mark.
fn argument(before: Option<&Text>, arg: &Text) -> String {
    let is_option = |name: &str| looks_secret(&name.trim_start_matches('-').replace('-', "_"));
    if let Some((name, _)) = arg.written.split_once('=')
        && is_option(name)
    {
        let fields = [name.to_owned(), arg.value.clone()];
        return format!(
            "argument: {}= (value #{})",
            clean::line(name, TEXT_MAX),
            mark(&fields)
        );
    }
    let follows = before.is_some_and(|b| b.written.starts_with('-') && is_option(&b.written));
    if follows && !arg.written.starts_with('-') && arg.takes.is_empty() {
        return format!(
            "argument: (value #{})",
            mark(std::slice::from_ref(&arg.value))
        );
    }
    line("argument", arg)
}

fn mark(fields: &[String]) -> String {
    let digest = Digest::of_fields("shown-value/1", fields);
    digest.to_string().chars().take(4).collect()
}

/// The network in one word.
pub(crate) fn network_word(network: Network) -> &'static str {
    match network {
        Network::None => "none",
        Network::Hosts => "hosts",
        Network::Whole => "whole",
    }
}

/// Longest text in a shown line; longer ones end with how much is left out.
const TEXT_MAX: usize = 8_192;
