//! Takes what servers ask back while they run, also before their hands are shaken.

use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crate::enforce::Server;
use crate::enforce::asks::{Answers, Asker, Chain, Chains, Counterpart, Hearing, Newcomer, Offers};
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::Era;
use crate::protocol::rpc::RpcError;
use crate::request::{Agent, ServerFacts};
use crate::transport::{Ask, Asked, AsksInbox, CallError, CallOptions, Cancel, Origin};

use super::super::client::Client;
use super::super::member::Member;
use super::super::serve::Gateway;

/// Where servers ask back.
#[derive(Debug, Default)]
pub(in crate::gateway) struct Desk {
    chains: Chains,
    /// The servers that may ask, by name: the latest process of each.
    askers: Mutex<HashMap<String, Arc<Asker>>>,
}

impl Desk {
    fn asker(&self, member: &Member) -> Option<Arc<Asker>> {
        let askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        askers.get(&member.id().to_string()).cloned()
    }

    fn seat(&self, member: &Member, asker: &Arc<Asker>) {
        let mut askers = self.askers.lock().unwrap_or_else(PoisonError::into_inner);
        askers.insert(member.id().to_string(), Arc::clone(asker));
    }
}

impl Gateway {
    /// Tells a server that is about to shake hands what it may ask back, and listens to it from now on.
    pub(in crate::gateway) fn lend_ear(&self, member: &Arc<Member>, newcomer: &Newcomer<'_>) {
        let agent = self.client().agent();
        let permitted = |offers: Offers| offers.permitted(self.line(), &agent, newcomer.facts);
        let declared = permitted(Offers::of(&self.client().offers()));
        // A modern client may offer more with a later request, and a modern server is told then.
        let offers = match self.client().is_modern() {
            true => permitted(Offers::all()),
            false => declared,
        };
        if offers == Offers::default() {
            return;
        }
        let chain = Chain {
            chains: self.desk().chains.clone(),
            server: member.id().to_string(),
        };
        let inbox = newcomer
            .upstream
            .asks
            .listen(declared.to_capabilities(), chain);
        let root = self.line().ground.project.as_deref();
        let asker = Arc::new(Asker::new(*newcomer, (declared, offers), root));
        self.desk().seat(member, &asker);
        self.spawn(take(self.handle(), (Arc::clone(member), asker), inbox));
    }

    /// What a modern server may ask back in a call that a modern client makes now: what this client says
    /// with its requests. `None` for clients that said it once.
    pub(in crate::gateway) fn offers_now(&self, member: &Member) -> Option<Object> {
        if !self.client().is_modern() {
            return None;
        }
        let asker = self.desk().asker(member);
        let offers = asker.map(|asker| self.offered(member, &asker));
        Some(offers.unwrap_or_default().to_capabilities())
    }

    /// What a server may ask the client now: a modern one hears with each call what that is, a legacy one
    /// heard it once.
    fn offered(&self, member: &Member, asker: &Asker) -> Offers {
        let modern = |server: Arc<Server>| server.hello.era == Era::Modern;
        let told = match member.server().is_some_and(modern) {
            true => asker.offers,
            false => asker.declared,
        };
        told.and(Offers::of(&self.client().offers()))
    }

    /// Decides and answers one thing that a server asks: the one way from servers to the client.
    async fn hear(
        &self,
        member: &Member,
        asker: &Asker,
        (ask, params, origin): (&Ask, Object, &Origin),
    ) -> Result<Json, RpcError> {
        let (agent, facts) = (self.client().agent(), facts(member, asker));
        let hearing = Hearing {
            key: ask.key.as_deref(),
            ..self.hearing(&agent, (member, asker), (&facts, origin))
        };
        hearing.answer(&ask.method, params, &ask.cancel).await
    }

    /// A server's error that says that pages must be opened first, with the links that may be passed on;
    /// `None` for any other error.
    pub(in crate::gateway) async fn links_required(
        &self,
        member: &Member,
        error: &RpcError,
        cancel: &Cancel,
    ) -> Option<RpcError> {
        let asker = self.desk().asker(member)?;
        let (agent, facts) = (self.client().agent(), facts(member, &asker));
        let origin = Origin {
            calls: vec![cancel.clone()],
            ..Origin::default()
        };
        let hearing = self.hearing(&agent, (member, &asker), (&facts, &origin));
        hearing.links_required(error, cancel).await
    }

    fn hearing<'a>(
        &'a self,
        agent: &'a Agent,
        (member, asker): (&Member, &'a Asker),
        (facts, origin): (&'a ServerFacts, &'a Origin),
    ) -> Hearing<'a> {
        Hearing {
            line: self.line(),
            agent,
            asker,
            facts,
            chains: &self.desk().chains,
            origin,
            client: self.client(),
            offers: self.offered(member, asker),
            key: None,
            answers: match self.settings().record_answers {
                true => Answers::Recorded,
                false => Answers::Unrecorded,
            },
        }
    }
}

impl Counterpart for Client {
    fn put<'a>(
        &'a self,
        method: &'static str,
        params: Object,
        options: CallOptions,
    ) -> Pin<Box<dyn Future<Output = Result<Json, CallError>> + Send + 'a>> {
        Box::pin(self.ask(method, params, options))
    }
}

/// The server as it is now; as it started, while it still starts.
fn facts(member: &Member, asker: &Asker) -> ServerFacts {
    let server = member.server();
    server.map_or_else(|| asker.facts.clone(), |server| server.facts())
}

/// Takes requests of one server until it is gone; each is answered beside the others.
async fn take(
    gateway: Weak<Gateway>,
    (member, asker): (Arc<Member>, Arc<Asker>),
    mut inbox: AsksInbox,
) {
    while let Some(asked) = inbox.recv().await {
        let Some(gateway) = gateway.upgrade().filter(|gateway| !gateway.is_closing()) else {
            return;
        };
        match asked {
            Asked::Request(ask) => {
                let (member, asker) = (Arc::clone(&member), Arc::clone(&asker));
                let owner = Arc::clone(&gateway);
                owner.spawn(async move { answer(&gateway, &member, &asker, ask).await });
            }
            Asked::Done(theirs) => {
                if let Some(ours) = asker.done(&theirs) {
                    done(&gateway, ours).await;
                }
            }
        }
    }
}

async fn answer(gateway: &Gateway, member: &Member, asker: &Asker, mut ask: Ask) {
    let params = std::mem::take(&mut ask.params);
    let origin = std::mem::take(&mut ask.origin);
    let outcome = gateway.hear(member, asker, (&ask, params, &origin)).await;
    ask.answer(outcome).await;
}

/// Tells the client that what it sent the person to is done.
async fn done(gateway: &Gateway, id: String) {
    let mut params = Object::default();
    params.insert("elicitationId", id.into());
    let method = "notifications/elicitation/complete";
    // A client that reads no more closes its output too: everything ends then.
    let _ = gateway.client().wire().notify(method, Some(params)).await;
}
