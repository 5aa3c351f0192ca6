//! The body of a POST as messages: one, or a batch of revision 2025-03-26.

use http_body_util::{BodyExt as _, Limited};
use hyper::StatusCode;
use hyper::body::{Bytes, Incoming};
use std::time::Duration;
use tokio::time::timeout;

use crate::protocol::json::{Json, MESSAGE_MAX, read};
use crate::protocol::rpc::{Fault, INVALID_REQUEST, Message, Misfit, PARSE_ERROR, RpcError};

use super::reply::Refusal;

/// What a client sends at once.
#[derive(Debug)]
pub(super) enum Sent {
    /// One message.
    One(Message),
    /// Several.
    Batch(Vec<Message>),
}

impl Sent {
    /// Reads a body to its end.
    ///
    /// # Errors
    /// It is too large, too slow, or holds no messages.
    pub(super) async fn of(body: Incoming) -> Result<Self, Refusal> {
        let whole = Limited::new(body, MESSAGE_MAX).collect();
        let whole = timeout(PATIENCE, whole).await.map_err(|_| {
            Refusal::status(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")
        })?;
        let whole = whole.map_err(|error| {
            if error.is::<http_body_util::LengthLimitError>() {
                let why = format!("the body has more than {MESSAGE_MAX} bytes");
                return Refusal::status(StatusCode::PAYLOAD_TOO_LARGE, why);
            }
            Refusal::bad("the body broke off")
        })?;
        Self::read(&whole.to_bytes())
    }

    /// Reads messages.
    ///
    /// # Errors
    /// Why these bytes are none.
    pub(super) fn read(bytes: &Bytes) -> Result<Self, Refusal> {
        let parsed = read(bytes)
            .map_err(|error| misfit(&Misfit::of_bytes(Fault::Unreadable(error), bytes)))?;
        if parsed.repaired > 0 {
            let count = parsed.repaired;
            tracing::warn!(count, "mended lone surrogates in a message of a client");
        }
        let Json::Array(items) = parsed.json else {
            let message = Message::from_json(parsed.json).map_err(|error| misfit(&error))?;
            return Ok(Self::One(message));
        };
        if items.is_empty() || items.len() > BATCH_MAX {
            return Err(Refusal::bad(format!(
                "a batch has 1 to {BATCH_MAX} messages, this has {}",
                items.len()
            )));
        }
        let messages = items.into_iter().map(Message::from_json);
        let messages: Result<Vec<Message>, Misfit> = messages.collect();
        Ok(Self::Batch(messages.map_err(|error| misfit(&error))?))
    }
}

fn misfit(misfit: &Misfit) -> Refusal {
    let code = match misfit.fault {
        Fault::Unreadable(_) => PARSE_ERROR,
        _ => INVALID_REQUEST,
    };
    let error = RpcError::new(code, misfit.to_string());
    let refusal = Refusal::with(StatusCode::BAD_REQUEST, error);
    match &misfit.id {
        Some(id) if !misfit.answers => refusal.to(id.clone()),
        _ => refusal,
    }
}

const BATCH_MAX: usize = 100;
/// For a body of the largest size too.
const PATIENCE: Duration = Duration::from_secs(60);
