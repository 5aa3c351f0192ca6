//! What a running server asks back: a form or a link for the person, an answer of a model. The
//! server acts; its answers are kept for the server as it was, whoever the agent is.

use serde::{Deserialize, Serialize};

use crate::address::HostName;
use crate::digest::Digest;

use super::act::{Act, Action, Holding, Key, Query, Run};
use super::principal::{Agent, Principal, ServerFacts};

/// Shows the person a server's form. Cedar action `elicit.form`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitForm {
    /// The server that asks.
    pub server: ServerFacts,
    /// The person, as the operating system names them.
    pub user: String,
    /// The server's words, cleaned.
    pub message: String,
    /// The names of the fields.
    pub fields: Vec<String>,
    /// Whether it seems to ask for a credential or a payment card.
    pub sensitive: bool,
    /// Whether a call of that server was under way.
    pub during_call: bool,
    /// Forms and links that it asked for before, in this session.
    pub asked_this_session: u64,
    /// Digest of what it asks for: what "the same form" means.
    pub form: Digest,
}

/// How a link is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkScheme {
    /// Over TLS.
    Https,
    /// In the clear.
    Http,
}

impl LinkScheme {
    /// The name used in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Https => "https",
            Self::Http => "http",
        }
    }
}

/// Asks the person to open a server's link. Cedar action `elicit.url`. Of the link a record holds where
/// it leads, and nothing else that the server wrote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ElicitUrl {
    /// The server that asks.
    pub server: ServerFacts,
    /// The whole link. Never on record, so empty where a record is decided again.
    #[serde(skip)]
    pub url: String,
    /// Its length in bytes.
    pub url_length: u64,
    /// How it is fetched.
    pub scheme: LinkScheme,
    /// Where it leads.
    pub host: HostName,
    /// The port.
    pub port: u16,
    /// Whether that is the site of the (remote) server itself.
    pub same_site_as_server: bool,
    /// Whether a call of that server was under way.
    pub during_call: bool,
    /// Digest of the link: what "the same link" means.
    pub link: Digest,
}

impl ElicitUrl {
    /// Scheme, host and port: `https://example.com:443`.
    #[must_use]
    pub fn origin(&self) -> String {
        let (scheme, port) = (self.scheme.name(), self.port);
        match self.host.address() {
            Some(std::net::IpAddr::V6(address)) => format!("{scheme}://[{address}]:{port}"),
            _ => format!("{scheme}://{}:{port}", self.host),
        }
    }
}

/// A model that answers a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModelFacts {
    /// `provider/model`; `client/any` is whichever the client takes.
    pub name: String,
    /// Whether it runs on this machine.
    pub local: bool,
}

/// Whose conversation a server wants a model to be given with its question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IncludeContext {
    /// None.
    #[default]
    None,
    /// What concerns the server itself.
    ThisServer,
    /// What concerns any server.
    AllServers,
}

impl IncludeContext {
    /// The name used in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::ThisServer => "this-server",
            Self::AllServers => "all-servers",
        }
    }
}

/// Has a model answer a server. Cedar action `sampling.create`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateSample {
    /// The server that asks.
    pub server: ServerFacts,
    /// The model.
    pub model: ModelFacts,
    /// How many models ask in a row: 1 for a server that was called by an agent. Where it is not clear
    /// which call a request belongs to, the longest chain counts.
    pub depth: u64,
    /// Requests of this server that are being answered beside this one.
    pub concurrent: u64,
    /// Requests of this server before this one, in this session.
    pub this_session: u64,
    /// The longest answer that it asks for.
    pub max_tokens: u64,
    /// Size of what the model is given, in bytes.
    pub input_bytes: u64,
    /// Whose conversation it asks for. The client is never asked for any: to it, all servers are one.
    pub include_context: IncludeContext,
    /// Names of the tools that the model may ask the server to use.
    pub tools: Vec<String>,
    /// Whether a call of that server was under way.
    pub during_call: bool,
    /// Digest of the request: what "the same request" means.
    pub request: Digest,
}

/// The keys of what a server asks: this very thing, and anything of the kind from this server.
fn keys(
    action: &'static str,
    server: &ServerFacts,
    (exact, wide): (Kept<'_>, Kept<'_>),
) -> Vec<Key> {
    let itself = server.itself.to_string();
    let key = |kept: Kept<'_>, holding| Key {
        action,
        principal: "*".to_owned(),
        resource: format!("{}/{}", server.subject, kept.resource),
        fingerprint: Digest::of_fields(action, [itself.as_str(), kept.same.as_str()]),
        scope: kept.scope,
        holding,
    };
    vec![key(exact, Holding::Each), key(wide, Holding::Latest)]
}

/// What an answer is kept for.
struct Kept<'a> {
    resource: &'a str,
    /// What must stay the same, beside the server.
    same: String,
    scope: String,
}

fn by<'a>(server: &'a ServerFacts, act: Act<'a>, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
    vec![Query::new(agent, Principal::Server(server), act, run)]
}

impl Action for ElicitForm {
    const NAME: &'static str = "elicit.form";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        by(&self.server, Act::ElicitForm(self), agent, run)
    }

    fn keys(&self, _agent: &Agent) -> Vec<Key> {
        let exact = Kept {
            resource: "form",
            same: self.form.to_string(),
            scope: "this form".to_owned(),
        };
        let wide = Kept {
            resource: "forms",
            same: String::new(),
            scope: format!("forms of {}", self.server.id),
        };
        keys(Self::NAME, &self.server, (exact, wide))
    }
}

impl Action for ElicitUrl {
    const NAME: &'static str = "elicit.url";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        by(&self.server, Act::ElicitUrl(self), agent, run)
    }

    fn keys(&self, _agent: &Agent) -> Vec<Key> {
        let origin = self.origin();
        let exact = Kept {
            resource: &origin,
            same: self.link.to_string(),
            scope: "this link".to_owned(),
        };
        let wide = Kept {
            resource: &origin,
            same: origin.clone(),
            scope: format!("links of {} to {origin}", self.server.id),
        };
        keys(Self::NAME, &self.server, (exact, wide))
    }
}

impl Action for CreateSample {
    const NAME: &'static str = "sampling.create";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        by(&self.server, Act::CreateSample(self), agent, run)
    }

    fn keys(&self, _agent: &Agent) -> Vec<Key> {
        let exact = Kept {
            resource: &self.model.name,
            same: self.request.to_string(),
            scope: "this request".to_owned(),
        };
        let wide = Kept {
            resource: &self.model.name,
            same: String::new(),
            scope: format!("requests of {} to a model", self.server.id),
        };
        keys(Self::NAME, &self.server, (exact, wide))
    }
}
