//! What a request to `/mcp` is answered with, by its method and the era of its body.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Bytes, Incoming};
use hyper::header::HeaderValue;
use hyper::{HeaderMap, Method, Request as HttpRequest, StatusCode};

use crate::protocol::json::{Json, read};
use crate::protocol::mcp::Revision;
use crate::protocol::mcp::era::MODERN;
use crate::protocol::rpc::{Message, Request};

use super::batch::Sent;
use super::doors::Doors;
use super::era;
use super::headers::{self, LAST_EVENT, REVISION, SESSION};
use super::reply::{self, Refusal, Reply};
use super::session::{Gone, Session};
use super::sessions::Sessions;
use super::stream::{First, Reader, place};
use super::tokens::Principal;

/// The path of the endpoint.
pub(super) const PATH: &str = "/mcp";

/// The endpoint.
pub(super) struct Endpoint {
    pub(super) doors: Doors,
    pub(super) sessions: Sessions,
}

impl Endpoint {
    /// Answers one request.
    pub(super) async fn answer(&self, request: HttpRequest<Incoming>) -> Reply {
        let answer = self.take(request).await;
        answer.unwrap_or_else(Refusal::into_reply)
    }

    async fn take(&self, request: HttpRequest<Incoming>) -> Result<Reply, Refusal> {
        let (head, body) = request.into_parts();
        if head.uri.authority().is_some() {
            return Err(Refusal::bad("this is no proxy: the target must be a path"));
        }
        let who = self.doors.admit(&head.headers)?;
        if head.uri.path() != PATH {
            let why = format!("there is nothing here but {PATH}");
            return Err(Refusal::status(StatusCode::NOT_FOUND, why));
        }
        match head.method {
            Method::POST => self.post(&head.headers, body, &who).await,
            Method::GET => self.get(&head.headers, &who),
            Method::DELETE => self.delete(&head.headers, &who),
            // OPTIONS too: no other origin is invited.
            _ => Err(Refusal::status(
                StatusCode::METHOD_NOT_ALLOWED,
                "only POST, GET and DELETE are answered here",
            )),
        }
    }

    async fn post(
        &self,
        headers: &HeaderMap,
        body: Incoming,
        who: &Principal,
    ) -> Result<Reply, Refusal> {
        headers::is_json(headers)?;
        headers::accepts(headers, &["application/json", "text/event-stream"])?;
        let sent = Sent::of(body).await?;
        if let Sent::One(Message::Request(request)) = &sent
            && era::is_modern(headers, request)?
        {
            return self.modern(headers, request, who).await;
        }
        let session = headers::one(headers, &SESSION)?;
        match (sent, session) {
            (Sent::One(Message::Request(request)), None) if request.method == "initialize" => {
                self.initialize(request, who).await
            }
            (Sent::One(Message::Notification(_)), None)
                if headers::one(headers, &REVISION)? == Some(MODERN) =>
            {
                // Nothing that a modern client tells outside of a request changes anything.
                Ok(reply::empty(StatusCode::ACCEPTED))
            }
            (_, None) => Err(no_session_named(headers)?),
            (sent, Some(id)) => {
                let session = self.sessions.find(id, who)?;
                spoken(headers)?;
                legacy(&session, sent).await
            }
        }
    }

    /// Opens a conversation. Its id goes out with an answer that agrees on a revision.
    async fn initialize(&self, request: Request, who: &Principal) -> Result<Reply, Refusal> {
        let (id, session) = self.sessions.begin(who).await?;
        let first = match session.ask(vec![request]).await {
            Ok(mut reader) => first_whole(&mut reader, HELLO).await,
            Err(Gone) => None,
        };
        let agreed = first.as_ref().and_then(|answer| {
            let json = read(answer).ok()?.json;
            Some(
                json.get("result")?
                    .get("protocolVersion")?
                    .as_str()?
                    .to_owned(),
            )
        });
        let value = HeaderValue::from_str(&id).ok();
        match (first, agreed, value) {
            (Some(answer), Some(revision), Some(value)) => {
                session.agree(&revision);
                let mut reply = reply::json(StatusCode::OK, answer);
                reply.headers_mut().insert(SESSION, value);
                Ok(reply)
            }
            (answer, _, _) => {
                self.sessions.end(&id);
                let answer = answer.ok_or_else(|| Refusal::busy("the gateway gave no answer"))?;
                Ok(reply::json(StatusCode::OK, answer))
            }
        }
    }

    async fn modern(
        &self,
        headers: &HeaderMap,
        request: &Request,
        who: &Principal,
    ) -> Result<Reply, Refusal> {
        let client = era::check_modern(headers, request)?;
        let session = self.sessions.of(who, &client).await?;
        let reader = session.ask(vec![request.clone()]).await.map_err(gone)?;
        Ok(answered(reader, status_of).await)
    }

    fn get(&self, headers: &HeaderMap, who: &Principal) -> Result<Reply, Refusal> {
        headers::accepts(headers, &["text/event-stream"])?;
        let Some(id) = headers::one(headers, &SESSION)? else {
            if headers::one(headers, &REVISION)? == Some(MODERN) {
                return Err(Refusal::status(
                    StatusCode::METHOD_NOT_ALLOWED,
                    "this revision has no stream of its own: use `subscriptions/listen`",
                ));
            }
            return Err(no_session_named(headers)?);
        };
        let session = self.sessions.find(id, who)?;
        spoken(headers)?;
        let mut reader = match headers::one(headers, &LAST_EVENT)? {
            None => session.standing().read(),
            Some(last) => place(last)
                .and_then(|(stream, next)| session.stream(stream)?.resume(next))
                .ok_or_else(|| {
                    Refusal::status(StatusCode::NOT_FOUND, "this stream is kept no more")
                })?,
        };
        greet(&session, &mut reader);
        Ok(reply::events(reader))
    }

    fn delete(&self, headers: &HeaderMap, who: &Principal) -> Result<Reply, Refusal> {
        let Some(id) = headers::one(headers, &SESSION)? else {
            return Err(no_session_named(headers)?);
        };
        self.sessions.find(id, who)?;
        self.sessions.end(id);
        Ok(reply::empty(StatusCode::NO_CONTENT))
    }
}

/// What a legacy client sends in its conversation.
async fn legacy(session: &Arc<Session>, sent: Sent) -> Result<Reply, Refusal> {
    let messages = match sent {
        Sent::One(message) => vec![message],
        // Other revisions have no batches.
        Sent::Batch(_) if session.revision().as_deref() != Some(BATCHES) => {
            return Err(Refusal::bad(format!(
                "batches belong to revision {BATCHES}: send one message at a time"
            )));
        }
        Sent::Batch(messages) => messages,
    };
    let mut requests = Vec::new();
    for message in messages {
        match message {
            Message::Request(request) if request.method == "initialize" => {
                return Err(Refusal::bad("this session is initialized already").to(request.id));
            }
            Message::Request(request) => requests.push(request),
            other => session.tell(other).await.map_err(gone)?,
        }
    }
    if requests.is_empty() {
        return Ok(reply::empty(StatusCode::ACCEPTED));
    }
    let mut reader = session.ask(requests).await.map_err(gone)?;
    greet(session, &mut reader);
    Ok(answered(reader, |_| StatusCode::OK).await)
}

/// One message where the answer is all there is, else a stream.
async fn answered(mut reader: Reader, status: fn(&Bytes) -> StatusCode) -> Reply {
    match first_whole(&mut reader, PATIENCE).await {
        Some(answer) => reply::json(status(&answer), answer),
        None => reply::events(reader),
    }
}

async fn first_whole(reader: &mut Reader, patience: Duration) -> Option<Bytes> {
    match reader.first(patience).await {
        First::Whole(answer) => {
            reader.took_all();
            Some(answer)
        }
        First::Streams => None,
    }
}

/// Clients of older revisions take an event without a message for a broken one.
fn greet(session: &Session, reader: &mut Reader) {
    if session.revision().as_deref() == Some(Revision::V2025_11_25.name()) {
        reader.greet();
    }
}

/// The status of an answer to a modern client.
fn status_of(answer: &Bytes) -> StatusCode {
    if answer.len() > ERROR_MAX {
        return StatusCode::OK;
    }
    let code = read(answer).ok().and_then(|parsed| {
        let error = parsed.json.get("error")?;
        error.get("code").and_then(Json::as_number)?.as_i64()
    });
    match code {
        Some(-32601) => StatusCode::NOT_FOUND,
        Some(-32700 | -32600 | -32022..=-32020) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// Any revision that is spoken here: clients are known that send another than was agreed
/// (anthropics/claude-code#92835). None at all is 2025-03-26.
fn spoken(headers: &HeaderMap) -> Result<(), Refusal> {
    match headers::one(headers, &REVISION)? {
        None | Some(MODERN) => Ok(()),
        Some(name) if Revision::from_name(name).is_some() => Ok(()),
        Some(name) => Err(era::unsupported(name)),
    }
}

/// Why a request without a session cannot be taken.
fn no_session_named(headers: &HeaderMap) -> Result<Refusal, Refusal> {
    spoken(headers)?;
    Ok(Refusal::bad(
        "the field `Mcp-Session-Id` is missing: begin with `initialize`",
    ))
}

fn gone(_: Gone) -> Refusal {
    Refusal::no_session()
}

/// The only revision with batches.
const BATCHES: &str = "2025-03-26";
const HELLO: Duration = Duration::from_secs(30);
/// How long an answer may take until the client at least gets a stream to listen to.
const PATIENCE: Duration = Duration::from_secs(5);
/// No error of ours is larger.
const ERROR_MAX: usize = 64 * 1024;
