//! What a server asks of its client, for one taker, bounded: a legacy server by requests of its own, a
//! modern one within a result. Each is answered once, also when nobody takes it up. Until somebody
//! listens there is no such method.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, oneshot};

use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::era::MAY_ASK;
use crate::protocol::rpc::{
    INVALID_REQUEST, Id, METHOD_NOT_FOUND, Message, Notification, Request, Response, RpcError,
};

use super::outbox::Outbox;
use super::timer::Cancel;

/// What servers may ask at all.
const METHODS: [&str; 3] = ["elicitation/create", "sampling/createMessage", "roots/list"];

/// Something went wrong here.
const INTERNAL_ERROR: i64 = -32603;

/// Outside the range that the standard keeps for itself: too much at once.
const TOO_MANY: i64 = -4;

/// Requests of one server that wait or are worked on.
const OPEN_MAX: usize = 16;

/// The same for what calls wait for: two of them may ask all that a call may at once.
const WANTED_MAX: usize = 2 * OPEN_MAX;

/// The requests of one server; clones share them.
#[derive(Clone, Debug)]
pub(crate) struct Asks {
    outbox: Outbox,
    table: Arc<Mutex<Table>>,
}

#[derive(Default)]
struct Table {
    /// What is declared to the server.
    capabilities: Object,
    taker: Option<mpsc::Sender<Asked>>,
    open: HashMap<Id, Cancel>,
    /// How many are open that the server wants to know for calls.
    wanted: usize,
    account: Option<Box<dyn Account>>,
}

/// Keeps account of what of one server is under way.
pub(crate) trait Account: Send {
    /// A call of it begins, which lasts until what is given back is dropped.
    fn begin(&self, cancel: &Cancel) -> Box<dyn Send>;

    /// What is under way now.
    fn origin(&self) -> Origin;
}

/// What of the server was under way when it asked: that a call ends beside it changes nothing.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origin {
    /// Its calls: the request may belong to any of them.
    pub(crate) calls: Vec<Cancel>,
    /// How many models stand before it.
    pub(crate) depth: u64,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

/// One thing that a server turns to its client with.
#[derive(Debug)]
pub(crate) enum Asked {
    /// A request, to be answered.
    Request(Ask),
    /// It says that what it sent the person to is done: the id that it gave.
    Done(String),
}

/// A request of a server.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) params: Object,
    /// What a modern server calls it.
    pub(crate) key: Option<String>,
    pub(crate) origin: Origin,
    /// Given up by the server, or the server is gone.
    pub(crate) cancel: Cancel,
    back: Back,
}

/// Where an answer goes.
#[derive(Debug)]
enum Back {
    /// To the server, as the answer to its request.
    Line(Id, Asks),
    /// To the call that the server wants it for; nowhere, once it was given.
    Call(Option<oneshot::Sender<Result<Json, RpcError>>>, Asks),
}

/// What a modern server wants to know, once somebody answers.
#[derive(Debug)]
pub(super) struct Wanted(oneshot::Receiver<Result<Json, RpcError>>);

impl Wanted {
    /// The answer.
    ///
    /// # Errors
    /// It is refused, or nobody answers.
    pub(super) async fn answer(self) -> Result<Json, RpcError> {
        self.0.await.unwrap_or_else(|_| Err(nobody()))
    }
}

/// The requests of one server, for one reader.
pub(crate) type AsksInbox = mpsc::Receiver<Asked>;

impl Asks {
    pub(super) fn new(outbox: Outbox) -> Self {
        Self {
            outbox,
            table: Arc::default(),
        }
    }

    /// Listens from now on, and declares these capabilities to the server: before `initialize`.
    pub(crate) fn listen(
        &self,
        capabilities: Object,
        account: impl Account + 'static,
    ) -> AsksInbox {
        let (taker, inbox) = mpsc::channel(OPEN_MAX * 2);
        let mut table = self.lock();
        table.capabilities = capabilities;
        table.taker = Some(taker);
        table.account = Some(Box::new(account));
        inbox
    }

    /// What is declared to the server.
    pub(crate) fn capabilities(&self) -> Object {
        self.lock().capabilities.clone()
    }

    /// A request to the server begins: one of those that it may ask back about is accounted for.
    pub(super) fn begin(&self, method: &str, cancel: &Cancel) -> Option<Box<dyn Send>> {
        let table = self.lock();
        let account = table
            .account
            .as_ref()
            .filter(|_| MAY_ASK.contains(&method))?;
        Some(account.begin(cancel))
    }

    /// Takes a request of the server, or refuses it.
    pub(super) fn put(&self, request: Request) {
        let Request { id, method, params } = request;
        if let Err(error) = self.take_up(&id, method, params.unwrap_or_default()) {
            let refusal = Response::err(id, error);
            self.outbox.offer(Message::from(refusal).to_line());
        }
    }

    fn take_up(&self, id: &Id, method: String, params: Object) -> Result<(), RpcError> {
        let mut table = self.lock();
        let Some(taker) = table.taker.clone() else {
            return Err(no_method());
        };
        if !METHODS.contains(&method.as_str()) {
            return Err(no_method());
        }
        if table.open.contains_key(id) {
            let why = "a request with this id is being answered";
            return Err(RpcError::new(INVALID_REQUEST, why));
        }
        if table.open.len() >= OPEN_MAX {
            return Err(too_many());
        }
        let cancel = Cancel::default();
        table.open.insert(id.clone(), cancel.clone());
        let origin = table.account.as_ref().map(|account| account.origin());
        // Let go before the request is handed over: one that nobody takes clears its own place.
        drop(table);
        let ask = Ask {
            method,
            params,
            key: None,
            origin: origin.unwrap_or_default(),
            cancel,
            back: Back::Line(id.clone(), self.clone()),
        };
        // What is not taken is dropped, which answers it.
        let _ = taker.try_send(Asked::Request(ask));
        Ok(())
    }

    /// Hands over what a modern server wants to know for a call before it goes on with it.
    ///
    /// # Errors
    /// It may not be asked.
    pub(super) fn want(
        &self,
        (key, method, params): (&str, String, Object),
        (call, cancel): (&Cancel, &Cancel),
    ) -> Result<Wanted, RpcError> {
        let (tell, told) = oneshot::channel();
        if method == "ping" {
            // It fails where nobody waits, and somebody does.
            let _ = tell.send(Ok(Json::Object(Object::default())));
            return Ok(Wanted(told));
        }
        let mut table = self.lock();
        let known = METHODS.contains(&method.as_str());
        let taker = table.taker.clone().filter(|_| known);
        let taker = taker.ok_or_else(no_method)?;
        if table.wanted >= WANTED_MAX {
            return Err(too_many());
        }
        table.wanted += 1;
        let origin = table.account.as_ref().map(|account| account.origin());
        let ask = Ask {
            method,
            params,
            key: Some(key.to_owned()),
            // It is asked for this call and no other.
            origin: Origin {
                calls: vec![call.clone()],
                ..origin.unwrap_or_default()
            },
            cancel: cancel.clone(),
            back: Back::Call(Some(tell), self.clone()),
        };
        // Let go before it is handed over: one that nobody takes counts itself off.
        drop(table);
        let sent = taker.try_send(Asked::Request(ask));
        sent.map_err(|_| too_many())?;
        Ok(Wanted(told))
    }

    /// Takes a notification that is about requests; gives back one that is not.
    pub(super) fn note(&self, note: Notification) -> Option<Notification> {
        let params = note.params.as_ref();
        match note.method.as_str() {
            "notifications/cancelled" => {
                let id = params.and_then(|params| params.get("requestId"));
                let id = id.and_then(Id::from_json);
                let table = self.lock();
                if let Some(cancel) = id.and_then(|id| table.open.get(&id)) {
                    cancel.cancel("the server no longer wants it");
                }
                None
            }
            "notifications/elicitation/complete" => {
                let id = params.and_then(|params| params.get("elicitationId"));
                let taker = self.lock().taker.clone();
                if let (Some(Json::String(id)), Some(taker)) = (id, taker) {
                    // One that there is no room for is not relayed: a hint, and no more.
                    let _ = taker.try_send(Asked::Done(id.clone()));
                }
                None
            }
            _ => Some(note),
        }
    }

    /// The server is gone: nobody wants answers any more.
    pub(super) fn close(&self) {
        let mut table = self.lock();
        table.taker = None;
        for cancel in table.open.values() {
            cancel.cancel("the server is gone");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ask {
    /// Answers it. One that the server has given up gets no answer.
    pub(crate) async fn answer(mut self, outcome: Result<Json, RpcError>) {
        if let Some((id, asks)) = self.due() {
            let line = Message::from(Response { id, outcome }).to_line();
            // A server that reads no more is ending.
            let _ = asks.outbox.send(line).await;
        } else if let Back::Call(tell, _) = &mut self.back
            && let Some(tell) = tell.take()
        {
            // A call that ended in the meantime wants it no more.
            let _ = tell.send(outcome);
        }
    }

    /// Takes a request off the list; to whom an answer is due.
    fn due(&self) -> Option<(Id, Asks)> {
        let Back::Line(id, asks) = &self.back else {
            return None;
        };
        let was_open = asks.lock().open.remove(id).is_some();
        (was_open && !self.cancel.is_cancelled()).then(|| (id.clone(), asks.clone()))
    }
}

impl Drop for Ask {
    fn drop(&mut self) {
        // A call hears by the end of its channel.
        if let Back::Call(_, asks) = &self.back {
            let mut table = asks.lock();
            table.wanted = table.wanted.saturating_sub(1);
        }
        if let Some((id, asks)) = self.due() {
            let refusal = Response::err(id, nobody());
            asks.outbox.offer(Message::from(refusal).to_line());
        }
    }
}

fn nobody() -> RpcError {
    RpcError::new(INTERNAL_ERROR, "nobody answers this here")
}

fn no_method() -> RpcError {
    RpcError::new(METHOD_NOT_FOUND, "this client offers no such method")
}

fn too_many() -> RpcError {
    RpcError::new(TOO_MANY, format!("at most {OPEN_MAX} requests at once"))
}
