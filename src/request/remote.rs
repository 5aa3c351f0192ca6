//! Connecting to a remote server.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::address::{HostName, Target, judge};
use crate::digest::Digest;

use super::act::{Act, Action, Holding, Key, Query, Run};
use super::principal::{Agent, Principal, ServerFacts};

/// How a remote server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Scheme {
    /// With TLS.
    Https,
    /// Without.
    Http,
}

impl Scheme {
    /// The name in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }
}

/// What a remote server is shown of who sends a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum AuthKind {
    /// Nothing.
    None,
    /// A token of a sign-in.
    Oauth,
    /// A header of its entry.
    Header,
}

impl AuthKind {
    /// The name in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Oauth => "oauth",
            Self::Header => "header",
        }
    }
}

/// Connects to a remote server. Cedar action `server.connect`, one request for each address that its name
/// leads to; the outcome is the weakest of all, and no other address is dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectServer {
    /// The server.
    pub server: ServerFacts,
    /// The canonical host.
    pub host: HostName,
    /// How it is spoken to.
    pub scheme: Scheme,
    /// The port.
    pub port: u16,
    /// Where the host leads now; empty when that is not known.
    pub addresses: Vec<IpAddr>,
    /// What it is shown.
    pub auth: AuthKind,
    /// Never agreed to before.
    pub first_time: bool,
    /// Digest of the definition: transport, address, names of headers.
    pub definition: Digest,
}

impl ConnectServer {
    /// Scheme, host and port: all of an address that stands in records.
    #[must_use]
    pub fn origin(&self) -> String {
        Origin(self).to_string()
    }

    /// The class of an address, in the words of Cedar's `IpClass`.
    #[must_use]
    pub fn class(address: Option<IpAddr>) -> &'static str {
        address.map_or("unresolved", |address| judge(address).class.name())
    }
}

struct Origin<'a>(&'a ConnectServer);

impl fmt::Display for Origin<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(connect) = self;
        let target = Target {
            host: connect.host.clone(),
            port: connect.port,
        };
        write!(f, "{}://{target}", connect.scheme.name())
    }
}

impl Action for ConnectServer {
    const NAME: &'static str = "server.connect";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        let query = |address: Option<IpAddr>| {
            let act = Act::ConnectServer(self, address);
            Query::new(agent, Principal::Agent(agent), act, run)
        };
        if self.addresses.is_empty() {
            return vec![query(None)];
        }
        let addresses = self.addresses.iter();
        addresses.map(|address| query(Some(*address))).collect()
    }

    /// An answer is about the server as it is defined, wherever its name leads: where it may not lead is
    /// no question.
    fn keys(&self, _agent: &Agent) -> Vec<Key> {
        let parts = [self.server.itself.to_string(), self.definition.to_string()];
        vec![Key {
            action: Self::NAME,
            principal: "*".to_owned(),
            resource: self.server.subject.clone(),
            fingerprint: Digest::of_fields("server.connect/1", parts),
            scope: "this server as it is".to_owned(),
            holding: Holding::Latest,
        }]
    }
}
