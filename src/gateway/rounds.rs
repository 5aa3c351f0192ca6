//! Questions to a modern client, which takes no requests: they ride on its calls. A call is answered
//! with what is asked (`input_required`), goes on meanwhile, and is resumed when the client repeats it
//! with the answers and a state that nobody else can make.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

use crate::digest::{Digest, Secret};
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::Envelope;
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};
use crate::transport::Cancel;

/// How long a call waits for its client to come back.
pub(super) const PARKED: Duration = Duration::from_secs(600);

/// The most calls that wait for their client at a time.
const PARKED_MAX: usize = 32;

/// The most questions that one answer carries.
const ASKED_MAX: usize = 8;

/// A call at work.
#[derive(Debug)]
pub(super) struct Work {
    /// Where its outcome comes.
    pub(super) done: oneshot::Receiver<Result<Json, RpcError>>,
    /// Ends it.
    pub(super) cancel: Cancel,
    /// Who asked what: a call is resumed by the same request of the same agent alone.
    pub(super) request: Digest,
}

/// One question.
#[derive(Debug)]
pub(super) struct Ask {
    method: String,
    /// What a server calls it.
    key: Option<String>,
    params: Object,
    answer: oneshot::Sender<Json>,
}

#[derive(Debug)]
struct Parked {
    work: Work,
    asks: Vec<(String, Ask)>,
}

/// Which of the parked calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Ticket(u64);

#[derive(Debug, Default)]
struct State {
    last: u64,
    asks: Vec<Ask>,
    parked: HashMap<Ticket, Parked>,
}

/// Questions that wait, and calls that carry some.
pub(super) struct Rounds {
    state: Mutex<State>,
    news: watch::Sender<u64>,
    /// Seals states. Without random bytes there is none, and nothing is asked.
    key: Option<Secret>,
    begun: Instant,
}

impl fmt::Debug for Rounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rounds")
    }
}

impl Default for Rounds {
    fn default() -> Self {
        let mut bytes = [0; 32];
        let key = getrandom::fill(&mut bytes)
            .ok()
            .map(|()| Secret::new(bytes));
        Self {
            state: Mutex::default(),
            news: watch::Sender::new(0),
            key,
            begun: Instant::now(),
        }
    }
}

impl Rounds {
    /// Asks, and waits this long for the client to answer; `None` where it does not.
    pub(super) async fn ask(
        &self,
        (method, key): (&str, Option<String>),
        params: Object,
        limit: Duration,
    ) -> Option<Json> {
        let (answer, answered) = oneshot::channel();
        self.lock().asks.push(Ask {
            method: method.to_owned(),
            key: key.filter(|key| is_plain(key)),
            params,
            answer,
        });
        self.news.send_modify(|news| *news = news.wrapping_add(1));
        timeout(limit, answered).await.ok()?.ok()
    }

    /// To be told of questions.
    pub(super) fn news(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    /// Whether questions wait, or are with the client.
    pub(super) fn is_asking(&self) -> bool {
        let mut state = self.lock();
        state.asks.retain(|ask| !ask.answer.is_closed());
        let open = |parked: &Parked| parked.asks.iter().any(|(_, ask)| !ask.answer.is_closed());
        !state.asks.is_empty() || state.parked.values().any(open)
    }

    /// Questions that wait and that this client answers: to be parked at once.
    pub(super) fn take(&self, client: &Envelope) -> Vec<Ask> {
        let mut state = self.lock();
        // What was answered elsewhere is asked no more.
        state.asks.retain(|ask| !ask.answer.is_closed());
        if state.parked.len() >= PARKED_MAX || self.key.is_none() {
            return Vec::new();
        }
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for ask in std::mem::take(&mut state.asks) {
            if taken.len() < ASKED_MAX && client.answers(&ask.method) {
                taken.push(ask);
            } else {
                left.push(ask);
            }
        }
        state.asks = left;
        taken
    }

    /// Lets a call wait for its client; the result that asks it.
    pub(super) fn park(&self, work: Work, asks: Vec<Ask>) -> (Ticket, Json) {
        let mut state = self.lock();
        state.last += 1;
        let ticket = Ticket(state.last);
        let until = (self.begun.elapsed() + PARKED).as_secs();
        let sealed = self.seal(ticket, until, work.request);
        let asks = named(asks, ticket);
        let requests = asks.iter().map(|(key, ask)| {
            let request = Json::object([
                ("method", Json::String(ask.method.clone())),
                ("params", Json::Object(ask.params.clone())),
            ]);
            (key.clone(), request)
        });
        let result = Json::object([
            ("resultType", Json::from("input_required")),
            ("inputRequests", Json::object(requests)),
            ("requestState", Json::String(sealed)),
        ]);
        state.parked.insert(ticket, Parked { work, asks });
        (ticket, result)
    }

    /// Resumes a call with what the client answers.
    ///
    /// # Errors
    /// The error to answer with; the call waits on where only the answers are not fit.
    pub(super) fn resume(&self, request: Digest, params: &Object) -> Result<Work, RpcError> {
        let refuse = |text: &str| RpcError::new(INVALID_PARAMS, text);
        let unknown = || refuse("`requestState` is none of this call, was used, or is too old");
        let state = params.get("requestState").and_then(Json::as_str);
        let ticket = state.and_then(|text| self.open(text, request));
        let ticket = ticket.ok_or_else(unknown)?;
        let mut state = self.lock();
        let waiting = state.parked.get(&ticket).ok_or_else(unknown)?;
        let given = params.get("inputResponses").and_then(Json::as_object);
        let given = given.ok_or_else(|| refuse("`inputResponses` must be an object"))?;
        for (key, _) in &waiting.asks {
            if !matches!(given.get(key), Some(Json::Object(_))) {
                return Err(refuse(&format!("`inputResponses` must have `{key}`")));
            }
        }
        let parked = state.parked.remove(&ticket).ok_or_else(unknown)?;
        for (key, ask) in parked.asks {
            if let Some(answer) = given.get(&key) {
                // Answered elsewhere meanwhile: then nobody wants this one.
                let _ = ask.answer.send(answer.clone());
            }
        }
        Ok(parked.work)
    }

    /// Gives up a call whose client did not come back.
    pub(super) fn expire(&self, ticket: Ticket) {
        if let Some(parked) = self.lock().parked.remove(&ticket) {
            parked.work.cancel.cancel("the client did not come back");
        }
    }

    /// Gives up all calls: the client is gone.
    pub(super) fn close(&self) {
        let mut state = self.lock();
        state.asks.clear();
        for (_, parked) in state.parked.drain() {
            parked.work.cancel.cancel("the client is gone");
        }
    }

    fn seal(&self, ticket: Ticket, until: u64, request: Digest) -> String {
        let code = self.code(ticket, until, request);
        let code = code.map(|code| code.to_string()).unwrap_or_default();
        format!("{:x}.{until:x}.{code}", ticket.0)
    }

    /// The call that a state is of.
    fn open(&self, text: &str, request: Digest) -> Option<Ticket> {
        let mut parts = text.splitn(3, '.');
        let mut number = || u64::from_str_radix(parts.next()?, 16).ok();
        let (ticket, until) = (Ticket(number()?), number()?);
        let code = parts.next()?;
        let own = self.code(ticket, until, request)?.to_string();
        // Compared by their digests, so that the time it takes tells nothing of the code.
        let same = Digest::of(code) == Digest::of(own);
        (same && self.begun.elapsed().as_secs() <= until).then_some(ticket)
    }

    fn code(&self, ticket: Ticket, until: u64, request: Digest) -> Option<Digest> {
        let data = format!("{:x}.{until:x}.{request}", ticket.0);
        Some(self.key.as_ref()?.code("request-state/1:", data.as_bytes()))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name for each question: the server's own, where it has one that no other question of the answer has.
fn named(asks: Vec<Ask>, ticket: Ticket) -> Vec<(String, Ask)> {
    let mut named: Vec<(String, Ask)> = Vec::new();
    for (at, mut ask) in asks.into_iter().enumerate() {
        let own = ask.key.take();
        let own = own.filter(|key| !named.iter().any(|(taken, _)| taken == key));
        named.push((
            own.unwrap_or_else(|| format!("creance-{}-{at}", ticket.0)),
            ask,
        ));
    }
    named
}

/// Whether a server's name for a question can be passed on: a short word that begins with a letter or a
/// digit (`__proto__` is more than a name to some clients), and none of ours.
fn is_plain(key: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    key.len() <= 64
        && key.starts_with(|c: char| c.is_ascii_alphanumeric())
        && key.bytes().all(word)
        && !key.starts_with("creance-")
}

/// Who asks what, without what changes from one round to the next.
pub(super) fn request_digest(agent: &str, method: &str, params: Option<&Object>) -> Digest {
    let mut params = params.cloned().unwrap_or_default();
    for key in ["_meta", "inputResponses", "requestState"] {
        params.remove(key);
    }
    Digest::of_fields(
        "request-state/1",
        [agent, method, &Json::Object(params).canonical()],
    )
}

#[cfg(test)]
#[path = "rounds_tests.rs"]
mod tests;
