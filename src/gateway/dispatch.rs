//! Which request is answered by what, in the era that the client speaks.

use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::era::{self, RESOURCE_NOT_FOUND};
use crate::protocol::mcp::{Envelope, Listing};
use crate::protocol::rpc::{
    INVALID_PARAMS, INVALID_REQUEST, Id, METHOD_NOT_FOUND, Request, RpcError,
};
use crate::transport::Cancel;

use super::serve::Gateway;
use super::{pipeline, status, turn};

/// In which era one request is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// After a handshake.
    Legacy,
    /// For itself.
    Modern,
}

impl Gateway {
    /// Answers a request, or begins to.
    pub(super) async fn request(&self, request: Request) {
        let Request { id, method, params } = request;
        let said = match Envelope::read(&method, params.as_ref()) {
            Ok(said) => said,
            Err(error) => return self.answer(id, Err(error)).await,
        };
        let manner = match &said {
            Some(_) => Manner::Modern,
            None => Manner::Legacy,
        };
        if let Some(said) = &said {
            if method == era::DISCOVER {
                self.client().met(said);
            } else {
                self.client().meet(said);
                self.begin();
            }
        }
        let answer = match (method.as_str(), manner) {
            ("initialize", Manner::Legacy) => self.initialize(params.as_ref()),
            ("ping", Manner::Legacy) => Ok(Json::Object(Object::default())),
            (era::DISCOVER, Manner::Modern) => Ok(self.discover()),
            (era::LISTEN, Manner::Modern) => return self.listen(id, params.as_ref()),
            (known, Manner::Legacy) if is_known(known, manner) && !self.client().is_legacy() => {
                Err(RpcError::new(
                    INVALID_REQUEST,
                    "the first request must be `initialize`",
                ))
            }
            ("tools/list", Manner::Legacy) => no_cursor(params.as_ref()).map(|()| self.list()),
            (known, _) if is_known(known, manner) => {
                return match said {
                    Some(said) if Self::may_ask(&method) => self.turn(id, method, params, said),
                    _ => self.work(id, method, params, manner),
                };
            }
            _ => Err(RpcError::new(
                METHOD_NOT_FOUND,
                format!("no method `{}`", crate::clean::line(&method, 100)),
            )),
        };
        self.answer_as(id, &method, manner, answer).await;
    }

    /// Answers in the client's era.
    pub(super) async fn answer_as(
        &self,
        id: Id,
        method: &str,
        manner: Manner,
        outcome: Result<Json, RpcError>,
    ) {
        let outcome = match outcome {
            Ok(mut result) if manner == Manner::Modern => {
                era::put_on(method, &mut result, turn::server_info());
                Ok(result)
            }
            Err(error) if manner == Manner::Modern && error.code() == RESOURCE_NOT_FOUND => {
                Err(error.with_code(INVALID_PARAMS))
            }
            outcome => outcome,
        };
        self.answer(id, outcome).await;
    }

    pub(super) async fn answer(&self, id: Id, outcome: Result<Json, RpcError>) {
        // A client that reads no more closes its output too: the loop ends then.
        let _ = self.client().wire().answer(id, outcome).await;
    }

    fn list(&self) -> Json {
        self.begin();
        let mut items = self.catalogue().list(self.line(), &self.client().agent());
        items.push(status::item());
        Json::object([("tools", Json::Array(items))])
    }

    /// Does what takes a while beside the conversation.
    fn work(&self, id: Id, method: String, params: Option<Object>, manner: Manner) {
        let Some(gateway) = self.handle().upgrade() else {
            return;
        };
        let cancel = Cancel::default();
        self.keep_call(&id, &cancel);
        self.spawn(async move {
            if manner == Manner::Modern && method.ends_with("/list") {
                gateway.await_start().await;
            }
            let answer = gateway.perform(&method, params, cancel.clone()).await;
            gateway.forget_call(&id);
            // A cancelled request gets no response (MCP, Cancellation).
            if !cancel.is_cancelled() {
                gateway.answer_as(id, &method, manner, answer).await;
            }
        });
    }

    /// The outcome of a request that takes a while.
    pub(super) async fn perform(
        &self,
        method: &str,
        params: Option<Object>,
        cancel: Cancel,
    ) -> Result<Json, RpcError> {
        let listing = match method {
            "tools/list" => return no_cursor(params.as_ref()).map(|()| self.list()),
            "tools/call" => return pipeline::call(self, params, cancel).await,
            "resources/read" => return self.read_resource(params.as_ref(), cancel).await,
            "prompts/get" => return self.get_prompt(params.as_ref(), cancel).await,
            "completion/complete" => return self.complete(params.as_ref(), cancel).await,
            "logging/setLevel" => return self.set_log_level(params.as_ref()).await,
            "resources/subscribe" => return self.subscribe(params.as_ref()).await,
            "resources/unsubscribe" => return self.unsubscribe(params.as_ref()),
            "prompts/list" => Listing::Prompts,
            "resources/list" => Listing::Resources,
            _ => Listing::Templates,
        };
        no_cursor(params.as_ref())?;
        self.begin();
        Ok(self.list_beside(listing).await)
    }
}

/// Whether a method is spoken here, beside those of the handshake.
fn is_known(method: &str, manner: Manner) -> bool {
    match method {
        "logging/setLevel" | "resources/subscribe" | "resources/unsubscribe" => {
            manner == Manner::Legacy
        }
        "tools/list"
        | "tools/call"
        | "prompts/list"
        | "prompts/get"
        | "resources/list"
        | "resources/templates/list"
        | "resources/read"
        | "completion/complete" => true,
        _ => false,
    }
}

/// Each list is one page: there is no cursor that a client could have.
fn no_cursor(params: Option<&Object>) -> Result<(), RpcError> {
    match params.and_then(|params| params.get("cursor")) {
        None | Some(Json::Null) => Ok(()),
        Some(_) => Err(RpcError::new(
            INVALID_PARAMS,
            "this cursor is not known here",
        )),
    }
}
