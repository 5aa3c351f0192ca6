//! What the parts of one connection share: who is at the other end, the session, and the way of lines to
//! those who wait for them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;

use crate::address::WebUrl;
use crate::http::{Answer, Ask, Challenge, HttpError, Next, Verb};
use crate::protocol::rpc::{Id, Message};
use crate::protocol::tools::ParamField;

use super::connection::{Endpoint, Kind};
use super::fields::Headed;
use super::lines::{self, Told};

/// Attempts of one request, where what authorises it is renewed.
const ATTEMPTS: usize = 3;
const SESSION_MAX: usize = 1_024;

/// One connection.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) endpoint: Endpoint,
    lines: mpsc::Sender<Vec<u8>>,
    state: Mutex<State>,
    /// Why the connection is over.
    over: watch::Sender<Option<String>>,
    /// Where messages are posted; not known at first where the server tells it.
    post: watch::Sender<Option<WebUrl>>,
}

#[derive(Debug, Default)]
struct State {
    session: Option<String>,
    version: Option<String>,
    challenge: Option<Challenge>,
    tasks: Vec<AbortHandle>,
    /// The stream of the server's own messages was opened.
    streams: bool,
    /// It speaks HTTP+SSE.
    events: bool,
    /// Arguments of its tools that stand in fields.
    params: HashMap<String, Vec<ParamField>>,
}

/// So many tools are kept that have arguments in fields: more than a list may have.
const TOOLS_MAX: usize = 10_000;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Http(HttpError),
    /// In Creance's own words.
    Said(String),
}

impl From<HttpError> for Fault {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Http(error) => error.fmt(f),
            Self::Said(why) => f.write_str(why),
        }
    }
}

impl Shared {
    pub(super) fn new(endpoint: Endpoint, lines: mpsc::Sender<Vec<u8>>) -> Arc<Self> {
        let post = (endpoint.kind != Kind::Events).then(|| endpoint.url.clone());
        Arc::new(Self {
            state: Mutex::default(),
            over: watch::Sender::new(None),
            post: watch::Sender::new(post),
            endpoint,
            lines,
        })
    }

    /// Sends a request, with what authorises it; a redirect is a fault, and so is a refusal that cannot be
    /// helped.
    pub(super) async fn send(&self, ask: Ask) -> Result<Answer, Fault> {
        for attempt in 1.. {
            let mut ask = ask.clone();
            let more = self
                .endpoint
                .authorise
                .fields()
                .await
                .map_err(Fault::Said)?;
            ask.fields.extend(more);
            let answer = self.endpoint.client.send(ask).await?;
            let status = answer.status();
            if matches!(status, 401 | 403) {
                let challenge = Challenge {
                    status,
                    authenticate: answer.fields("www-authenticate"),
                };
                match self.endpoint.authorise.refused(&challenge).await {
                    Next::Again if attempt < ATTEMPTS => continue,
                    _ => self.lock().challenge = Some(challenge),
                }
                return Err(Fault::Said(format!("it needs a sign-in (status {status})")));
            }
            if (300..400).contains(&status) {
                return Err(Fault::Said(elsewhere(&self.endpoint.url, &answer)));
            }
            return Ok(answer);
        }
        Err(Fault::Said("it needs a sign-in".to_owned()))
    }

    /// A request with the fields of the session and of the message.
    pub(super) fn ask(&self, verb: Verb, url: WebUrl, headed: &Headed) -> Ask {
        let mut ask = Ask::get(url);
        ask.verb = verb;
        ask.fields = headed.fields();
        let field = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        if headed.modern.is_none() && headed.method != "initialize" {
            let state = self.lock();
            let session = state.session.iter().map(|id| field("mcp-session-id", id));
            let version = state
                .version
                .iter()
                .map(|v| field("mcp-protocol-version", v));
            ask.fields.extend(session.chain(version));
        }
        let accept = match verb {
            Verb::Post => "application/json, text/event-stream",
            Verb::Get => "text/event-stream",
            Verb::Delete => "*/*",
        };
        ask.fields.push(field("accept", accept));
        if verb == Verb::Post {
            ask.fields.push(field("content-type", "application/json"));
        }
        ask
    }

    /// Passes a message on; what it tells who waits for this answer.
    pub(super) async fn pass(&self, message: &[u8], id: Option<&Id>) -> Told {
        let mut told = Told::of(message, id);
        self.keep_params(std::mem::take(&mut told.tools));
        // It fails when nobody listens any more.
        let _ = self.lines.send(lines::line(message)).await;
        told
    }

    /// Notes which arguments of tools stand in fields.
    fn keep_params(&self, tools: Vec<(String, Vec<ParamField>)>) {
        if tools.is_empty() {
            return;
        }
        let mut state = self.lock();
        for (name, fields) in tools {
            if fields.is_empty() {
                state.params.remove(&name);
            } else if state.params.len() < TOOLS_MAX {
                state.params.insert(name, fields);
            }
        }
    }

    /// What of a message stands in fields, with the arguments of a tool that do.
    pub(super) fn headed(&self, message: &Message) -> Headed {
        let headed = Headed::of(message);
        let Some((name, arguments)) = Headed::called(message) else {
            return headed;
        };
        let state = self.lock();
        let fields = state.params.get(name).into_iter().flatten();
        let value = |field: &ParamField| Some((field.name.clone(), field.value(arguments)?));
        headed.with(fields.filter_map(value).collect())
    }

    /// Tells a request that it has no answer.
    pub(super) async fn fail(&self, id: &Id, why: &str) {
        let why = format!("{}: {why}", self.endpoint.url.origin());
        let _ = self.lines.send(lines::fault(id, &why)).await;
    }

    /// Keeps the session that the answer to `initialize` opens.
    pub(super) fn open_session(&self, answer: &Answer) {
        let id = answer
            .field("mcp-session-id")
            .filter(|id| id.len() <= SESSION_MAX && id.bytes().all(|b| matches!(b, b'!'..=b'~')));
        let id = id.map(str::to_owned);
        self.lock().session = id;
    }

    pub(super) fn has_session(&self) -> bool {
        self.lock().session.is_some()
    }

    pub(super) fn agree(&self, version: String) {
        self.lock().version = Some(version);
    }

    /// Whether the stream of the server's own messages is still to be opened.
    pub(super) fn claim_stream(&self) -> bool {
        let mut state = self.lock();
        !std::mem::replace(&mut state.streams, true) && !state.events
    }

    /// Whether it speaks HTTP+SSE; from now on it does.
    pub(super) fn claim_events(&self) -> bool {
        !std::mem::replace(&mut self.lock().events, true)
    }

    pub(super) fn speaks_events(&self) -> bool {
        self.lock().events
    }

    /// Where messages are posted, once that is known.
    pub(super) async fn post_url(&self) -> Result<WebUrl, Fault> {
        let mut post = self.post.subscribe();
        let known = post.wait_for(Option::is_some).await;
        let url = known.ok().and_then(|url| url.clone());
        url.ok_or_else(|| Fault::Said("it tells nowhere to post to".to_owned()))
    }

    pub(super) fn set_post_url(&self, url: Option<WebUrl>) {
        self.post.send_replace(url);
    }

    pub(super) fn challenge(&self) -> Option<Challenge> {
        self.lock().challenge.clone()
    }

    /// Ends the connection; the first reason counts.
    pub(super) fn end(&self, why: &str) {
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            if first {
                *over = Some(format!("{}: {why}", self.endpoint.url.origin()));
            }
            first
        });
    }

    /// Why it is over, once it is.
    pub(super) async fn over(&self) -> String {
        let mut over = self.over.subscribe();
        let known = over.wait_for(Option::is_some).await;
        known.ok().and_then(|why| why.clone()).unwrap_or_default()
    }

    pub(super) fn why(&self) -> Option<String> {
        self.over.borrow().clone()
    }

    /// A task that ends with the connection.
    pub(super) fn adopt(&self, task: AbortHandle) {
        let mut state = self.lock();
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(task);
    }

    pub(super) fn abort_all(&self) {
        for task in std::mem::take(&mut self.lock().tasks) {
            task.abort();
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A redirect in words: where it leads to is the server's word, so of that only the origin.
fn elsewhere(url: &WebUrl, answer: &Answer) -> String {
    let to = answer.field("location").and_then(|to| url.joined(to).ok());
    let to = to.map(|to| format!(" to {}", to.origin()));
    format!(
        "it leads elsewhere{} (status {}), which is not followed: name the last address",
        to.unwrap_or_default(),
        answer.status()
    )
}
