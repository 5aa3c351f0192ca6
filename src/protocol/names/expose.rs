//! From true names to listed names.
//!
//! A listed name is made of the true names alone. Only when two tools would be listed under one name
//! do both get a hash of their identity: neither takes the bare name, whichever server starts first.

use std::collections::HashMap;

use crate::clean;
use crate::digest::Digest;
use crate::request::ServerId;

/// The most letters of a name with the client's own prefix: model interfaces take no more.
pub(crate) const NAME_MAX: usize = 64;

/// The prefix of a client that puts `mcp__<name of the gateway>__` in front, where the gateway is
/// configured as `creance`.
pub(crate) const CLIENT_PREFIX: usize = "mcp__creance__".len();

/// How names begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameMode {
    /// `<server>__<tool>`: for clients that put a prefix of their own in front.
    Server,
    /// `mcp__<server>__<tool>`.
    Mcp,
    /// `<tool>`.
    Plain,
}

/// A listed name and what it stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exposed {
    /// The server.
    pub(crate) server: ServerId,
    /// The tool's true name.
    pub(crate) tool: String,
    /// The listed name.
    pub(crate) name: String,
    /// Why it is not simply made of both names; to be said.
    pub(crate) renamed: Option<Renamed>,
}

/// Why a listed name has a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Renamed {
    /// It would be too long, or no letter of it could stay.
    Shortened,
    /// Another tool would be listed under the same name: its server and true name.
    Clash(ServerId, String),
}

/// Lists tools under names of at most `NAME_MAX` letters less the client's prefix. The result is in
/// the order of the input; every pair of server and tool must come once.
pub(crate) fn expose(
    mode: NameMode,
    client_prefix: usize,
    tools: Vec<(ServerId, String)>,
) -> Vec<Exposed> {
    // A client whose prefix leaves no room cannot be served better than with a little.
    let room = NAME_MAX.saturating_sub(client_prefix).max(ROOM_MIN);
    let mut named: Vec<Named> = tools
        .into_iter()
        .map(|(server, tool)| Named::new(mode, room, server, tool))
        .collect();
    for _ in 1..HASH_DIGITS.len() {
        if !settle_clashes(&mut named, room) {
            break;
        }
    }
    named.into_iter().map(Named::exposed).collect()
}

struct Named {
    server: ServerId,
    tool: String,
    // What comes before the tool, with its underscores.
    head: String,
    stem: String,
    hash: String,
    level: usize,
    name: String,
    renamed: Option<Renamed>,
}

impl Named {
    fn new(mode: NameMode, room: usize, server: ServerId, tool: String) -> Self {
        let slug = match mode {
            NameMode::Server | NameMode::Mcp => slug(&server),
            NameMode::Plain => String::new(),
        };
        let head = match mode {
            NameMode::Server => format!("{slug}__"),
            NameMode::Mcp => format!("mcp__{slug}__"),
            NameMode::Plain => slug,
        };
        let stem = ascii(&tool);
        let identity = [server.source.name(), server.name.as_str(), tool.as_str()];
        let hash = Digest::of_fields("exposed-name/1", identity).to_string();
        let bare = !stem.contains(|c: char| c.is_ascii_alphanumeric());
        let long = head.len() + stem.len() > room;
        let mut named = Self {
            server,
            tool,
            head,
            stem: if bare { "tool".to_owned() } else { stem },
            hash,
            level: usize::from(bare || long),
            name: String::new(),
            renamed: (bare || long).then_some(Renamed::Shortened),
        };
        named.rename(room);
        named
    }

    fn rename(&mut self, room: usize) {
        let digits = HASH_DIGITS.get(self.level).copied().unwrap_or_default();
        let tail: String = match digits {
            0 => String::new(),
            digits => std::iter::once('_')
                .chain(self.hash.chars().take(digits))
                .collect(),
        };
        // All letters are ASCII here, so characters are bytes.
        let left = room.saturating_sub(tail.len());
        let front: String = self
            .head
            .chars()
            .chain(self.stem.chars())
            .take(left)
            .collect();
        self.name = front + &tail;
    }

    fn exposed(self) -> Exposed {
        Exposed {
            server: self.server,
            tool: self.tool,
            name: self.name,
            renamed: self.renamed,
        }
    }
}

/// Gives all tools that share a name a longer hash each; whether there were any.
fn settle_clashes(named: &mut [Named], room: usize) -> bool {
    let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, tool) in named.iter().enumerate() {
        groups.entry(&tool.name).or_default().push(at);
    }
    let clashes: Vec<Vec<usize>> = groups.into_values().filter(|g| g.len() > 1).collect();
    for group in &clashes {
        let mut owners: Vec<(ServerId, String)> = group
            .iter()
            .filter_map(|at| named.get(*at))
            .map(|tool| (tool.server.clone(), tool.tool.clone()))
            .collect();
        owners.sort_unstable();
        for at in group {
            let Some(tool) = named.get_mut(*at) else {
                continue;
            };
            let own =
                |(server, name): &&(ServerId, String)| *server == tool.server && *name == tool.tool;
            let other = owners.iter().find(|owner| !own(owner));
            tool.renamed = other.map(|(server, name)| Renamed::Clash(server.clone(), name.clone()));
            tool.level += 1;
            tool.rename(room);
        }
    }
    !clashes.is_empty()
}

/// The server's part: its name where it is plain, else what can be kept of it with a hash, so that
/// no two servers of one source ever share it.
fn slug(server: &ServerId) -> String {
    let name = server.name.as_str();
    let kept = ascii(name);
    let plain = kept == name
        && name.len() <= SLUG_MAX
        && !name.contains("__")
        && !name.starts_with('_')
        && !name.ends_with('_')
        && !name.is_empty();
    if plain {
        return kept;
    }
    let words: Vec<&str> = kept.split('_').filter(|word| !word.is_empty()).collect();
    let stem: String = words
        .join("_")
        .chars()
        .take(SLUG_MAX - SLUG_HASH - 1)
        .collect();
    let hash: String = Digest::of_fields("server-name/1", [name])
        .to_string()
        .chars()
        .take(SLUG_HASH)
        .collect();
    match stem.trim_end_matches('_') {
        "" => format!("server_{hash}"),
        stem => format!("{stem}_{hash}"),
    }
}

/// Letters with marks lose them, all others that clients do not take become `_`.
fn ascii(name: &str) -> String {
    clean::unmarked(name)
        .map(|c| {
            let taken = c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if taken { c } else { '_' }
        })
        .collect()
}

/// Digits of the hash, for each time that a name still clashes.
const HASH_DIGITS: [usize; 4] = [0, 8, 12, 16];
const SLUG_MAX: usize = 24;
const SLUG_HASH: usize = 6;
/// `mcp__`, the longest server part, `__` and the longest hash fit.
const ROOM_MIN: usize = 49;
