//! What goes back over HTTP: one message, a stream of events, or a refusal with its reason.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};

use crate::protocol::rpc::{INVALID_REQUEST, Id, Message, Response as Answer, RpcError};

use super::connections::Busy;
use super::stream::Reader;

/// A response.
pub(super) type Reply = Response<Content>;

/// The body of a response.
pub(super) struct Content {
    kind: Kind,
    /// While it stands, the connection is in use.
    pub(super) busy: Option<Busy>,
}

enum Kind {
    Whole(Option<Bytes>),
    Events(Next),
}

type Next = Pin<Box<dyn Future<Output = (Reader, Option<Bytes>)> + Send>>;

/// A request is turned away.
#[derive(Debug)]
pub(super) struct Refusal {
    status: StatusCode,
    error: RpcError,
    id: Option<Id>,
}

impl Refusal {
    fn new(status: StatusCode, why: impl Into<String>) -> Self {
        Self::with(status, RpcError::new(INVALID_REQUEST, why))
    }

    /// With an error of MCP's own.
    pub(super) fn with(status: StatusCode, error: RpcError) -> Self {
        Self {
            status,
            error,
            id: None,
        }
    }

    /// To this request.
    pub(super) fn to(mut self, id: Id) -> Self {
        self.id = Some(id);
        self
    }

    pub(super) fn bad(why: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, why)
    }

    pub(super) fn forbidden(why: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, why)
    }

    pub(super) fn media(why: impl Into<String>) -> Self {
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, why)
    }

    pub(super) fn not_acceptable(why: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_ACCEPTABLE, why)
    }

    pub(super) fn unknown_token() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "a token of this gateway is needed: `Authorization: Bearer TOKEN`",
        )
    }

    /// The same for a session that never was and for one of somebody else.
    pub(super) fn no_session() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "no such session: it may have ended; begin with `initialize`",
        )
    }

    pub(super) fn busy(why: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, why)
    }

    pub(super) fn status(status: StatusCode, why: impl Into<String>) -> Self {
        Self::new(status, why)
    }

    pub(super) fn into_reply(self) -> Reply {
        let line = match self.id {
            Some(id) => Message::from(Answer::err(id, self.error)).to_line(),
            None => crate::protocol::rpc::anonymous_error_line(self.error),
        };
        let mut reply = json(self.status, line.into());
        if self.status == StatusCode::UNAUTHORIZED {
            let scheme = HeaderValue::from_static("Bearer realm=\"creance\"");
            reply.headers_mut().insert(WWW_AUTHENTICATE, scheme);
        }
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            let allowed = HeaderValue::from_static("POST, GET, DELETE");
            reply.headers_mut().insert(hyper::header::ALLOW, allowed);
        }
        reply
    }
}

/// One message.
pub(super) fn json(status: StatusCode, message: Bytes) -> Reply {
    let mut reply = whole(status, message);
    let kind = HeaderValue::from_static("application/json");
    reply.headers_mut().insert(CONTENT_TYPE, kind);
    reply
}

/// Nothing more than the status.
pub(super) fn empty(status: StatusCode) -> Reply {
    whole(status, Bytes::new())
}

/// A stream of events.
pub(super) fn events(reader: Reader) -> Reply {
    let mut reply = Response::new(Content {
        kind: Kind::Events(next(reader)),
        busy: None,
    });
    let fields = [
        (CONTENT_TYPE, "text/event-stream"),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in fields {
        (reply.headers_mut()).insert(name, HeaderValue::from_static(value));
    }
    private(&mut reply);
    reply
}

fn whole(status: StatusCode, body: Bytes) -> Reply {
    let mut reply = Response::new(Content {
        kind: Kind::Whole(Some(body)),
        busy: None,
    });
    *reply.status_mut() = status;
    private(&mut reply);
    reply
}

/// No cache keeps it, and no browser takes it for a page.
fn private(reply: &mut Reply) {
    let fields = [
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("x-content-type-options"), "nosniff"),
    ];
    for (name, value) in fields {
        (reply.headers_mut()).insert(name, HeaderValue::from_static(value));
    }
}

fn next(mut reader: Reader) -> Next {
    Box::pin(async move {
        let event = reader.next().await;
        (reader, event)
    })
}

impl Body for Content {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut self.kind {
            Kind::Whole(body) => Poll::Ready(body.take().map(|body| Ok(Frame::data(body)))),
            Kind::Events(waiting) => {
                let (reader, event) = ready!(waiting.as_mut().poll(cx));
                self.kind = match &event {
                    Some(_) => Kind::Events(next(reader)),
                    None => Kind::Whole(None),
                };
                Poll::Ready(event.map(|event| Ok(Frame::data(event))))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.kind {
            Kind::Whole(body) => body.as_ref().is_none_or(Bytes::is_empty),
            Kind::Events(_) => false,
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(body) => {
                SizeHint::with_exact(body.as_ref().map_or(0, |body| body.len() as u64))
            }
            Kind::Events(_) => SizeHint::default(),
        }
    }
}
