//! A modern client's call, which may take several requests: each answer is the result, or what is
//! asked first.

use tokio::sync::oneshot;

use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::{Envelope, era};
use crate::protocol::rpc::{Id, RpcError};
use crate::transport::Cancel;

use super::dispatch::Manner;
use super::rounds::{PARKED, Ticket, Work, request_digest};
use super::serve::Gateway;

impl Gateway {
    /// Whether a modern client's request may be answered with a question.
    pub(super) fn may_ask(method: &str) -> bool {
        era::MAY_ASK.contains(&method)
    }

    /// Begins or resumes a call.
    pub(super) fn turn(&self, id: Id, method: String, params: Option<Object>, said: Envelope) {
        let Some(gateway) = self.handle().upgrade() else {
            return;
        };
        let agent = self.client().agent();
        let request = request_digest(&agent.name, &method, params.as_ref());
        // Answers without a state belong to no call that waits: this is a new one, which asks for itself.
        let again = params
            .as_ref()
            .is_some_and(|params| params.get("requestState").is_some());
        let work = if again {
            let params = params.unwrap_or_default();
            self.client().rounds().resume(request, &params)
        } else {
            Ok(self.begin_work(&method, params, &said, request))
        };
        if let Ok(work) = &work {
            self.keep_call(&id, &work.cancel);
        }
        self.spawn(async move {
            match work {
                Ok(work) => gateway.drive(id, method, said, work).await,
                Err(error) => {
                    gateway
                        .answer_as(id, &method, Manner::Modern, Err(error))
                        .await
                }
            }
        });
    }

    /// Lets a call do its work beside the requests that it takes.
    fn begin_work(
        &self,
        method: &str,
        params: Option<Object>,
        said: &Envelope,
        request: crate::digest::Digest,
    ) -> Work {
        let (send, done) = oneshot::channel();
        let cancel = Cancel::default();
        let work = Work {
            done,
            cancel: cancel.clone(),
            request,
        };
        if let Some(gateway) = self.handle().upgrade() {
            let (method, level) = (method.to_owned(), said.log_level);
            self.spawn(async move {
                let logs = gateway.logs_wanted(level).await;
                let outcome = gateway.perform(&method, params, cancel).await;
                drop(logs);
                // The client may have gone, or not have come back.
                let _ = send.send(outcome);
            });
        }
        work
    }

    /// Answers one request of a call: with its outcome, or with questions that wait.
    async fn drive(&self, id: Id, method: String, said: Envelope, mut work: Work) {
        let mut news = self.client().rounds().news();
        loop {
            news.mark_unchanged();
            let asks = self.client().rounds().take(&said);
            if !asks.is_empty() {
                self.forget_call(&id);
                let (ticket, asking) = self.client().rounds().park(work, asks);
                self.expire_later(ticket);
                return self.answer(id, Ok(asking)).await;
            }
            tokio::select! {
                outcome = &mut work.done => {
                    self.forget_call(&id);
                    // A cancelled request gets no response (MCP, Cancellation).
                    if !work.cancel.is_cancelled() {
                        let outcome = outcome.unwrap_or_else(|_| Err(abandoned()));
                        self.answer_as(id, &method, Manner::Modern, outcome).await;
                    }
                    return;
                }
                // The sender lives as long as the client. What else is asked at once comes along.
                _ = news.changed() => tokio::time::sleep(TOGETHER).await,
            }
        }
    }

    /// Gives up a call whose client does not come back.
    fn expire_later(&self, ticket: Ticket) {
        let gateway = self.handle();
        self.spawn(async move {
            tokio::time::sleep(PARKED).await;
            if let Some(gateway) = gateway.upgrade() {
                gateway.client().rounds().expire(ticket);
            }
        });
    }

    /// Waits until the client has answered what it is asked, where it can be asked on its calls.
    pub(super) async fn after_questions(&self, cancel: &Cancel) {
        if !(self.client().is_modern() && self.client().elicits()) {
            return;
        }
        while self.client().rounds().is_asking() && !cancel.is_cancelled() {
            tokio::time::sleep(LOOK).await;
        }
    }
}

/// Questions that come within this time of the first go to the client together.
const TOGETHER: std::time::Duration = std::time::Duration::from_millis(20);

/// How often it is looked whether questions are answered.
const LOOK: std::time::Duration = std::time::Duration::from_millis(50);

fn abandoned() -> RpcError {
    RpcError::new(super::pipeline::UNAVAILABLE, "the call was given up")
}

/// What a modern client is told about whoever answers.
pub(super) fn server_info() -> Json {
    Json::object([
        ("name", Json::from("creance")),
        ("title", Json::from("Creance")),
        ("version", Json::from(env!("CARGO_PKG_VERSION"))),
    ])
}
