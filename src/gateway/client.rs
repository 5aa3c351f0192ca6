//! The client at the other end: what it said about itself, and the way to it.

use std::sync::{OnceLock, PoisonError, RwLock};

use crate::clean;
use crate::protocol::mcp::ClientHello;
use crate::request::Agent;
use crate::transport::Downstream;

/// The client of this gateway.
#[derive(Debug)]
pub(crate) struct Client {
    wire: Downstream,
    hello: OnceLock<Hello>,
    agent: RwLock<Agent>,
}

/// What a client says in `initialize`. Unverified.
#[derive(Clone, Debug)]
pub(crate) struct Hello {
    /// `clientInfo.name`.
    pub(crate) name: String,
    /// Whether it offers elicitation of forms.
    pub(crate) elicits: bool,
}

impl Client {
    /// A client that has said nothing yet.
    pub(crate) fn new(wire: Downstream, user: &str) -> Self {
        Self {
            wire,
            hello: OnceLock::new(),
            agent: RwLock::new(Agent::new("unknown", user)),
        }
    }

    /// The way to it.
    pub(crate) fn wire(&self) -> &Downstream {
        &self.wire
    }

    /// Takes what it says in `initialize`; only the first time counts.
    pub(crate) fn greet(&self, said: &ClientHello) {
        let name = match said.name.as_str() {
            "" => "unknown".to_owned(),
            name => clean::line(name, 80),
        };
        let hello = Hello {
            name: name.clone(),
            elicits: said.takes_forms(),
        };
        if self.hello.set(hello).is_ok() {
            let mut agent = self.agent.write().unwrap_or_else(PoisonError::into_inner);
            agent.name.clone_from(&name);
            agent.client = name;
        }
    }

    /// What it said, once it has.
    pub(crate) fn hello(&self) -> Option<&Hello> {
        self.hello.get()
    }

    /// The agent on whose behalf it asks.
    pub(crate) fn agent(&self) -> Agent {
        self.agent
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
