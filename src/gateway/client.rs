//! The client at the other end: what it said about itself, and the way to it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{OnceLock, PoisonError, RwLock};

use crate::clean;
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::{ClientHello, Envelope};
use crate::request::Agent;
use crate::transport::{CallError, CallOptions, Downstream};

use super::rounds::Rounds;

/// The client of this gateway.
#[derive(Debug)]
pub(crate) struct Client {
    wire: Downstream,
    hello: OnceLock<Hello>,
    speaks: RwLock<Speaks>,
    agent: RwLock<Agent>,
    /// Whether it offers elicitation of forms: a modern client may say otherwise with each request.
    elicits: AtomicBool,
    /// What it can do for servers, as it came: a modern client says it with each request.
    offers: RwLock<Object>,
    rounds: Rounds,
}

/// What a client says when it is met. Unverified.
#[derive(Clone, Debug)]
pub(crate) struct Hello {
    /// Its name.
    pub(crate) name: String,
}

/// How a client speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Speaks {
    /// It has not said yet; to have asked what we are says nothing.
    #[default]
    Unknown,
    /// It shook hands.
    Legacy,
    /// Each of its requests stands for itself, and it takes none from us.
    Modern,
}

impl Client {
    /// A client that has said nothing yet.
    pub(crate) fn new(wire: Downstream, user: &str) -> Self {
        Self {
            wire,
            hello: OnceLock::new(),
            speaks: RwLock::default(),
            agent: RwLock::new(Agent::new("unknown", user)),
            elicits: AtomicBool::new(false),
            offers: RwLock::default(),
            rounds: Rounds::default(),
        }
    }

    /// The way to it.
    pub(crate) fn wire(&self) -> &Downstream {
        &self.wire
    }

    /// Questions to a modern client.
    pub(super) fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// Takes what it says in `initialize`; only the first time counts.
    pub(crate) fn greet(&self, said: &ClientHello) {
        self.name(&said.name);
        if !self.is_legacy() {
            self.speak(Speaks::Legacy);
            self.elicits.store(said.takes_forms(), Ordering::Relaxed);
            self.offer(&said.capabilities);
        }
    }

    /// Takes what a client says when it asks what we are: it may still shake hands.
    pub(super) fn met(&self, said: &Envelope) {
        self.name(&said.client);
    }

    /// Takes what a modern client says with a request. One that shook hands stays a legacy one.
    pub(super) fn meet(&self, said: &Envelope) {
        self.name(&said.client);
        if !self.is_legacy() {
            self.speak(Speaks::Modern);
            let elicits = said.answers("elicitation/create");
            self.elicits.store(elicits, Ordering::Relaxed);
            self.offer(&said.capabilities);
        }
    }

    /// Its name counts the first time that it gives one.
    fn name(&self, name: &str) {
        let name = match name {
            "" => "unknown".to_owned(),
            name => clean::line(name, 80),
        };
        let hello = Hello { name: name.clone() };
        if self.hello.set(hello).is_ok() {
            let mut agent = self.agent.write().unwrap_or_else(PoisonError::into_inner);
            agent.name.clone_from(&name);
            agent.client = name;
        }
    }

    fn speak(&self, speaks: Speaks) {
        *self.speaks.write().unwrap_or_else(PoisonError::into_inner) = speaks;
    }

    fn speaks(&self) -> Speaks {
        *self.speaks.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it said, once it has.
    pub(crate) fn hello(&self) -> Option<&Hello> {
        self.hello.get()
    }

    /// Whether it shook hands.
    pub(super) fn is_legacy(&self) -> bool {
        self.speaks() == Speaks::Legacy
    }

    /// Whether each of its requests stands for itself.
    pub(super) fn is_modern(&self) -> bool {
        self.speaks() == Speaks::Modern
    }

    fn offer(&self, capabilities: &Object) {
        let mut offers = self.offers.write().unwrap_or_else(PoisonError::into_inner);
        offers.clone_from(capabilities);
    }

    /// What it can do for servers, as it came.
    pub(super) fn offers(&self) -> Object {
        let offers = self.offers.read().unwrap_or_else(PoisonError::into_inner);
        offers.clone()
    }

    /// Whether it offers elicitation of forms.
    pub(crate) fn elicits(&self) -> bool {
        self.elicits.load(Ordering::Relaxed)
    }

    /// Asks it: a legacy client by a request, a modern one with the answer to one of its calls.
    ///
    /// # Errors
    /// Why there is no answer.
    pub(crate) async fn ask(
        &self,
        method: &str,
        params: Object,
        options: CallOptions,
    ) -> Result<Json, CallError> {
        if self.is_modern() {
            let unanswered = || CallError::Closed("the client did not come back".to_owned());
            let answer = self
                .rounds
                .ask((method, options.key), params, options.timeout)
                .await;
            return answer.ok_or_else(unanswered);
        }
        self.wire.request(method, Some(params), options).await
    }

    /// The agent on whose behalf it asks.
    pub(crate) fn agent(&self) -> Agent {
        self.agent
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}
