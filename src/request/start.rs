//! Starting a server: its definition, its grants one by one, and later its tool list.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address::HostName;
use crate::digest::Digest;
use crate::grant::{Confinement, Grant, Launch};

use super::act::{Act, Action, Holding, Key, Query, Run};
use super::path::PathFacts;
use super::principal::{Agent, Principal, ServerFacts};
use super::program::{ProgramFacts, Risk, RunnerKind};

/// An environment variable that a process gets. Its value never stands here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvFacts {
    /// Its name.
    pub name: String,
    /// Whether the name, or the reference its value takes, looks like a credential.
    pub looks_secret: bool,
}

/// The network that a sandbox asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NetworkWish {
    /// The whole network of the machine.
    Whole,
    /// One host and port.
    Host {
        /// The canonical host.
        host: HostName,
        /// The port.
        port: u16,
    },
    /// One host and port, with any protocol.
    Raw {
        /// The canonical host.
        host: HostName,
        /// The port.
        port: u16,
    },
    /// Every host below a domain, and one port of each.
    Below {
        /// The canonical domain.
        domain: HostName,
        /// The port.
        port: u16,
    },
}

impl fmt::Display for NetworkWish {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = |host: &HostName| match host.address() {
            Some(IpAddr::V6(address)) => format!("[{address}]"),
            _ => host.to_string(),
        };
        match self {
            Self::Whole => f.write_str("*"),
            Self::Host { host, port } => write!(f, "{}:{port}", named(host)),
            Self::Raw { host, port } => write!(f, "tcp://{}:{port}", named(host)),
            Self::Below { domain, port } => write!(f, "*.{domain}:{port}"),
        }
    }
}

/// One grant that a process asks for beyond an empty sandbox; each is one Cedar request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wish {
    /// `sandbox.read`: a folder or file becomes readable.
    Read(PathFacts),
    /// `sandbox.write`: a folder or file becomes writable.
    Write(PathFacts),
    /// `sandbox.network`.
    Network(NetworkWish),
    /// `sandbox.env`.
    Env(EnvFacts),
    /// `sandbox.socket`: a Unix socket can be connected to.
    Socket(PathFacts),
}

/// Starts a local server with its grants. Cedar action `server.start`, and one `sandbox.*` request
/// for each wish; the outcome is the weakest of all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StartServer {
    /// The server.
    pub server: ServerFacts,
    /// The program that is started.
    pub program: ProgramFacts,
    /// What starts the server's code.
    pub runner: RunnerKind,
    /// The package's name and version, when a package runner is used; else empty.
    pub package: (String, String),
    /// What exactly is started.
    pub launch: Launch,
    /// The terms it asks for.
    pub grant: Grant,
    /// What the sandbox will hold.
    pub confinement: Confinement,
    /// Grants that are put to policy one by one.
    pub wishes: Vec<Wish>,
    /// Names of variables that carry or look like secrets.
    pub secret_names: Vec<String>,
    /// Never agreed to before.
    pub first_time: bool,
    /// Agreed to before, with another definition.
    pub config_changed: bool,
    /// Risks of the command line and the grants.
    pub risks: Vec<Risk>,
    /// Digest of the definition: command, args, cwd, sorted env, network, paths.
    pub definition: Digest,
    /// Digest of program, script and lock file; `None` when they cannot be pinned.
    pub artefact: Option<Digest>,
}

impl StartServer {
    /// What "the same start" means: the server as it is, and what the sandbox holds.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        let artefact = self.artefact.map_or_else(String::new, |d| d.to_string());
        Digest::of_fields(
            "server.start/2",
            [
                self.server.itself.to_string(),
                self.definition.to_string(),
                artefact,
                self.confinement.fingerprint().to_string(),
            ],
        )
    }
}

impl Action for StartServer {
    const NAME: &'static str = "server.start";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        let first = Query::new(agent, Principal::Agent(agent), Act::StartServer(self), run);
        let server = Principal::Server(&self.server);
        let wishes = self
            .wishes
            .iter()
            .map(|wish| Query::new(agent, server, Act::Wish(wish), run));
        std::iter::once(first).chain(wishes).collect()
    }

    fn keys(&self, _agent: &Agent) -> Vec<Key> {
        vec![Key {
            action: Self::NAME,
            principal: "*".to_owned(),
            resource: self.server.subject.clone(),
            fingerprint: self.fingerprint(),
            scope: "this server as it is".to_owned(),
            holding: Holding::Latest,
        }]
    }
}

/// Takes a server's tool list into use. Cedar action `server.tools`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewTools {
    /// The server.
    pub server: ServerFacts,
    /// Digest of the whole list, raw.
    pub tools: Digest,
    /// No list of this server was agreed to before.
    pub first_time: bool,
    /// Names of tools that are new since the agreed list.
    pub added: Vec<String>,
    /// Names of tools that are gone.
    pub removed: Vec<String>,
    /// Names of tools with another description or schema.
    pub changed: Vec<String>,
    /// Kinds of suspicious text found in the list (`hidden-text`, `instructions`, `look-alike`, …).
    pub flags: Vec<String>,
}

impl Action for ReviewTools {
    const NAME: &'static str = "server.tools";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        vec![Query::new(
            agent,
            Principal::Agent(agent),
            Act::ReviewTools(self),
            run,
        )]
    }

    fn keys(&self, _agent: &Agent) -> Vec<Key> {
        vec![Key {
            action: Self::NAME,
            principal: "*".to_owned(),
            resource: self.server.subject.clone(),
            fingerprint: self.tools,
            scope: "this tool list".to_owned(),
            holding: Holding::Latest,
        }]
    }
}
