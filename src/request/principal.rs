//! Who acts (agents and servers) and where they come from.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

/// Where a definition comes from; part of every identity, so that a repository that names its
/// server `github` does not become the user's `github`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Part of Creance.
    Builtin,
    /// The organisation.
    Org,
    /// The user's own configuration.
    User,
    /// A cloned repository.
    Project,
}

impl Source {
    /// The name used in identities and in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Builtin => "builtin",
            Self::Org => "org",
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// A server's identity: source and name. Displays as `user/github`; a `/` inside the name stands as
/// `%2F` and a `%` as `%25`, so that the tool `b/c` of the server `a` is never the tool `c` of the
/// server `a/b`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ServerId {
    /// Where its definition comes from.
    pub source: Source,
    /// Its name as configured, any Unicode text; clean it before it is shown.
    pub name: String,
}

impl ServerId {
    /// An identity.
    #[must_use]
    pub fn new(source: Source, name: impl Into<String>) -> Self {
        Self {
            source,
            name: name.into(),
        }
    }

    /// Under what pins and answers about the server are kept. A project's server is another one in
    /// each project: what was agreed to in one repository says nothing about a server that has the
    /// same name, or the same command line, in the next.
    #[must_use]
    pub fn subject(&self, project: Option<&str>) -> String {
        match (self.source, project) {
            (Source::Project, Some(root)) => format!("{self}/{root}"),
            _ => self.to_string(),
        }
    }
}

impl fmt::Display for ServerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.name.replace('%', "%25").replace('/', "%2F");
        write!(f, "{}/{name}", self.source.name())
    }
}

/// How a server is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// A child process that speaks on its standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// Part of this process.
    InProcess,
}

/// What is known about a thing against what was agreed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pin {
    /// The same content as when it was agreed to.
    Matched,
    /// Nothing to compare with: never agreed to, or it cannot be pinned.
    Unpinned,
    /// Other content than was agreed to.
    Changed,
}

/// One run of an agent, or of a person at the command line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agent {
    /// The agent's name, for example `claude-code` or `cli`.
    pub name: String,
    /// The operating system's user.
    pub user: String,
    /// The user's groups, as the organisation names them.
    pub groups: Vec<String>,
    /// The client's name as it gives it (`clientInfo.name`), or `cli`, `library`.
    pub client: String,
    /// Whether Creance started that client itself.
    pub client_verified: bool,
    /// 0 when a person drives it, 1 for its sub-agents, and so on.
    pub depth: u32,
}

impl Agent {
    /// An agent driven by a person.
    #[must_use]
    pub fn new(name: impl Into<String>, user: impl Into<String>) -> Self {
        let name = name.into();
        Self {
            client: name.clone(),
            name,
            user: user.into(),
            groups: Vec::new(),
            client_verified: false,
            depth: 0,
        }
    }
}

/// The server facts that stand in every request that names a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServerFacts {
    /// Its identity.
    pub id: ServerId,
    /// How it is reached.
    pub transport: Transport,
    /// Its definition and program against what was agreed to.
    // Under its own name a record would mask it: a `pin` is a secret word.
    #[serde(rename = "pinned")]
    pub pin: Pin,
    /// Its tool list against what was agreed to.
    #[serde(rename = "tools_pinned")]
    pub tools_pin: Pin,
    /// Whether it runs in a sandbox that enforces writes, secrets and network.
    pub sandboxed: bool,
    /// Under what its pins and answers are kept: see [`ServerId::subject`].
    pub subject: String,
    /// The server as it is: definition, program, and the working folder of what cannot be pinned.
    /// An answer about its use holds for this server only.
    pub itself: Digest,
    /// The tool list in use.
    pub tools: Digest,
}

/// Who acts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Principal<'a> {
    /// The agent itself.
    Agent(&'a Agent),
    /// A server, for what it gets (its sandbox grants).
    Server(&'a ServerFacts),
}

/// The project in which a run works.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Project {
    /// Its root folder as text, or `none` outside a project.
    pub id: String,
    /// Whether the person said that its configuration may be read.
    pub trusted: bool,
}

impl Project {
    /// No project.
    #[must_use]
    pub fn none() -> Self {
        Self {
            id: "none".to_owned(),
            trusted: false,
        }
    }
}
