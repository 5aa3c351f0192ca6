//! One request of a server, heard: refused, or decided, put to the client, and its outcome on record.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::audit::{EventKind, Outcome};
use crate::clean;
use crate::decision::{Decision, Denial, DenialKind, Permit};
use crate::enforce::Line;
use crate::protocol::asks::{Refused, Reply};
use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{METHOD_NOT_FOUND, RpcError};
use crate::request::{Action, Agent, Asked, ServerFacts};
use crate::transport::{CallError, CallOptions, Cancel, Origin};

use super::asker::Asker;
use super::chain::Chains;
use super::offers::Offers;
use super::{elicit, roots, sample};

/// The standard's word for "no": outside the range that it keeps for itself.
const DENIED: i64 = -1;

/// Something went wrong here or at the client.
const INTERNAL_ERROR: i64 = -32603;

/// How long a person may take over a form, and a model over an answer.
pub(super) const PERSON: Duration = Duration::from_mins(30);
pub(super) const MODEL: Duration = Duration::from_mins(10);

/// What is needed to hear a server's request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Hearing<'a> {
    pub(crate) line: &'a Line,
    pub(crate) agent: &'a Agent,
    pub(crate) asker: &'a Asker,
    /// The server as it is now.
    pub(crate) facts: &'a ServerFacts,
    pub(crate) chains: &'a Chains,
    /// What of the server was under way when it asked.
    pub(crate) origin: &'a Origin,
    /// The client.
    pub(crate) client: &'a dyn Counterpart,
    /// What it offers this server now.
    pub(crate) offers: Offers,
    /// What the server calls what it asks, where it says so.
    pub(crate) key: Option<&'a str>,
    /// Whether what people fill in goes on record.
    pub(crate) answers: Answers,
}

/// The client at the far end, however it is asked: by a request, or with the answer to one of its own.
pub(crate) trait Counterpart: Send + Sync + fmt::Debug {
    /// Puts a request to it and waits for its result.
    fn put<'a>(
        &'a self,
        method: &'static str,
        params: Object,
        options: CallOptions,
    ) -> Pin<Box<dyn Future<Output = Result<Json, CallError>> + Send + 'a>>;
}

/// Whether what people fill in goes on record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Answers {
    /// It does not.
    #[default]
    Unrecorded,
    /// It does, with secrets masked.
    Recorded,
}

/// Why a request was not put to anybody.
pub(super) enum No {
    Denied(Denial),
    /// It could not be decided or recorded.
    Failed(String),
    /// Nobody wants it any more.
    GivenUp(String),
}

impl Hearing<'_> {
    /// Answers one request of the server. `cancel` ends it when the server gives it up.
    pub(crate) async fn answer(
        self,
        method: &str,
        params: Object,
        cancel: &Cancel,
    ) -> Result<Json, RpcError> {
        if self.asker.is_tiresome() {
            let why = "this server was refused too often and is not heard any more";
            return Err(RpcError::new(DENIED, why));
        }
        // No limit of a server runs while a person or a model thinks.
        let _hold = self.asker.holds.begin();
        let answered = async {
            match method {
                "elicitation/create" => elicit::answer(self, params, cancel).await,
                "sampling/createMessage" => sample::answer(self, params, cancel).await,
                "roots/list" => roots::answer(self),
                _ => Err(no_method()),
            }
        };
        // Where all calls that it may belong to are cancelled, nobody wants it any more.
        let outcome = tokio::select! {
            outcome = answered => outcome,
            why = all_cancelled(&self.origin.calls) => {
                Err(RpcError::new(DENIED, format!("cancelled: {why}")))
            }
        };
        if outcome.is_err() {
            self.asker.count_refusal();
        }
        outcome
    }

    /// A server's error that says that pages must be opened first, with the links that may be passed on;
    /// `None` for any other error.
    pub(crate) async fn links_required(
        self,
        error: &RpcError,
        cancel: &Cancel,
    ) -> Option<RpcError> {
        match error.code() == elicit::LINKS_REQUIRED {
            true => Some(elicit::required(self, error, cancel).await),
            false => None,
        }
    }

    /// Refuses what cannot be put to anybody, which is on record without a word of the server's.
    pub(super) fn refuse(&self, method: &str, refused: &Refused) -> RpcError {
        let note = EventKind::Note {
            name: "ask-refused".to_owned(),
            details: json!({ "server": self.asker.name(), "method": method }),
        };
        match self.line.point.note(note) {
            Ok(_) => refused.to_error(),
            Err(error) => RpcError::new(INTERNAL_ERROR, error.to_string()),
        }
    }

    /// Whether a call of the server is under way.
    pub(super) fn during_call(&self) -> bool {
        !self.origin.calls.is_empty()
    }

    /// Decides what the server asks.
    pub(super) async fn decide<A: Action>(
        &self,
        action: A,
        present: impl FnOnce(&A) -> Asked + Send,
        cancel: &Cancel,
    ) -> Result<Permit<A>, No> {
        let run = self.line.run();
        let asking = self.line.asking(self.agent, &run);
        let decision = tokio::select! {
            decision = self.line.point.decide(asking, action, present) => decision,
            why = cancel.cancelled() => return Err(No::GivenUp(why)),
        };
        match decision {
            Ok(Decision::Allow(permit)) => Ok(permit),
            Ok(Decision::Deny(denial)) => Err(No::Denied(denial)),
            Err(error) => Err(No::Failed(error.to_string())),
        }
    }

    /// Spends a permit on something that the client is told and not asked.
    pub(super) fn pass<A: Action>(&self, permit: Permit<A>) -> Result<(), No> {
        let (_, seq) = self.line.point.redeem(permit).map_err(No::Denied)?;
        let told = Record::new(self.line, seq).write("done", json!({}));
        told.map_err(No::Failed)
    }

    /// Spends a permit: puts a request to the client. The outcome is put on record before the answer
    /// is given back.
    pub(super) async fn put<A: Action, T>(
        &self,
        permit: Permit<A>,
        (method, params, limit): (&'static str, Object, Duration),
        read: impl FnOnce(Json) -> Result<(T, &'static str, Value), Refused>,
        cancel: &Cancel,
    ) -> Result<T, No> {
        let (_, seq) = self.line.point.redeem(permit).map_err(No::Denied)?;
        let mut record = Record::new(self.line, seq);
        let options = CallOptions {
            key: self.key.map(str::to_owned),
            ..CallOptions::within(limit)
        };
        let request = self.client.put(method, params, options);
        let answer = tokio::select! {
            answer = request => answer,
            why = cancel.cancelled() => Err(CallError::Cancelled(why)),
        };
        let read = match answer {
            Ok(answer) => read(answer).map_err(|error| ("bad-answer", error.to_string())),
            Err(error) => Err((word(&error), error.to_string())),
        };
        match read {
            Ok((value, result, details)) => {
                record.write(result, details).map_err(No::Failed)?;
                Ok(value)
            }
            Err((result, why)) => {
                let why = clean::mask(&clean::line(&why, 300)).into_owned();
                let details = json!({ "error": why });
                record.write(result, details).map_err(No::Failed)?;
                Err(match result {
                    "cancelled" => No::GivenUp(why),
                    _ => No::Failed(why),
                })
            }
        }
    }
}

/// As for calls of servers, said of the client.
fn word(error: &CallError) -> &'static str {
    match error {
        CallError::Rpc(_) => "client-error",
        CallError::Closed(_) => "client-gone",
        other => other.word(),
    }
}

/// The outcome of a permit that is being spent. It is written also where the spending is cut off.
struct Record<'a> {
    line: &'a Line,
    seq: u64,
    begun: Instant,
    written: Written,
}

#[derive(PartialEq, Eq)]
enum Written {
    Not,
    Yes,
}

impl<'a> Record<'a> {
    fn new(line: &'a Line, seq: u64) -> Self {
        Self {
            line,
            seq,
            begun: Instant::now(),
            written: Written::Not,
        }
    }

    fn write(&mut self, result: &str, details: Value) -> Result<(), String> {
        self.written = Written::Yes;
        let took_ms = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let outcome = EventKind::Outcome(Outcome {
            of: self.seq,
            ok: matches!(result, "accept" | "done"),
            result: result.to_owned(),
            details,
            took_ms,
        });
        let noted = self.line.point.note(outcome).map(drop);
        noted.map_err(|error| format!("its outcome could not be recorded: {error}"))
    }
}

impl Drop for Record<'_> {
    fn drop(&mut self) {
        if self.written == Written::Not {
            // What cannot be written is counted and said by the log itself.
            let _ = self.write("cancelled", json!({}));
        }
    }
}

impl No {
    /// The answer to a request for a person's word: who was asked and did not agree has answered.
    pub(super) fn to_elicited(&self, note: &str) -> Result<Json, RpcError> {
        match self {
            Self::Denied(denial) => match denial.kind() {
                DenialKind::Refused => Ok(Reply::Decline.to_result()),
                DenialKind::NoAnswer | DenialKind::NobodyToAsk => Ok(Reply::Cancel.to_result()),
                _ => Err(self.to_error(note)),
            },
            Self::Failed(_) | Self::GivenUp(_) => Err(self.to_error(note)),
        }
    }

    /// The error for the server. Which policy it was is none of its business.
    pub(super) fn to_error(&self, note: &str) -> RpcError {
        let (code, mut text) = match self {
            Self::Denied(denial) => (DENIED, format!("refused: {}", denial.reason())),
            Self::Failed(why) => (INTERNAL_ERROR, format!("it could not be asked: {why}")),
            Self::GivenUp(why) => (DENIED, format!("cancelled: {why}")),
        };
        if !note.is_empty() {
            text.push_str("; ");
            text.push_str(note);
        }
        RpcError::new(code, text)
    }
}

/// What was not declared to the server is not there.
pub(super) fn no_method() -> RpcError {
    RpcError::new(METHOD_NOT_FOUND, "this client offers no such method")
}

/// Waits until all are cancelled; for ever where there is none.
async fn all_cancelled(origins: &[Cancel]) -> String {
    let mut why = None;
    for origin in origins {
        why = Some(origin.cancelled().await);
    }
    match why {
        Some(why) => why,
        None => std::future::pending().await,
    }
}
