//! One connection out of a running sandbox.

use crate::address::HostName;
use crate::digest::Digest;

use super::act::{Act, Action, Holding, Key, Query, Run};
use super::answer::Answer;
use super::principal::{Agent, Principal, ServerFacts};
use super::program::ProgramFacts;
use super::start::NetworkWish;

/// What runs in the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a sandbox holds a server or a command"
)]
pub enum Confinee {
    /// A server.
    Server(Box<ServerFacts>),
    /// A command that an agent runs.
    Command {
        /// Its program.
        program: ProgramFacts,
        /// See [`RunCommand::fingerprint`](super::RunCommand).
        fingerprint: Digest,
    },
}

/// Connects to a host from inside a sandbox. Cedar action `sandbox.network`, as the wish at the start;
/// judged for each connection, by the name, under the policies then in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectHost {
    /// Who connects.
    pub confinee: Confinee,
    /// Where to.
    pub host: HostName,
    /// The port.
    pub port: u16,
    /// Whether it is one of the hosts that were asked for at the start.
    pub listed: bool,
    /// The answer that the start was given, where it covers this host. It was given for as long as the
    /// sandbox runs, so it is never one that was given just now for this connection.
    pub covered: Answer,
}

impl ConnectHost {
    /// The target, `host:port`.
    #[must_use]
    pub fn target(&self) -> String {
        let (host, port) = (self.host.clone(), self.port);
        NetworkWish::Host { host, port }.to_string()
    }
}

impl Action for ConnectHost {
    const NAME: &'static str = "sandbox.network";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        let principal = match &self.confinee {
            Confinee::Server(server) => Principal::Server(server),
            Confinee::Command { .. } => Principal::Agent(agent),
        };
        vec![Query::new(agent, principal, Act::Connect(self), run)]
    }

    /// An answer is kept for one host and port, and for this very server or command.
    fn keys(&self, agent: &Agent) -> Vec<Key> {
        let (principal, subject, itself) = match &self.confinee {
            Confinee::Server(server) => ("*", &server.subject, server.itself),
            Confinee::Command {
                program,
                fingerprint,
            } => (agent.name.as_str(), &program.path, *fingerprint),
        };
        let what = match &self.confinee {
            Confinee::Server(_) => "server",
            Confinee::Command { .. } => "command",
        };
        vec![Key {
            action: Self::NAME,
            principal: principal.to_owned(),
            resource: format!("{subject}/{}", self.target()),
            fingerprint: Digest::of_fields("sandbox.network/1", [itself.to_string()]),
            scope: format!("this {what} to {}", self.target()),
            holding: Holding::Each,
        }]
    }

    fn covered(&self) -> Answer {
        self.covered.min(Answer::Session)
    }
}
