//! `resources/read`, `prompts/get` and `completion/complete`: find the server, decide, answer.

use crate::clean;
use crate::enforce::call::CallError;
use crate::enforce::{fetch, reply};
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::era::RESOURCE_NOT_FOUND;
use crate::protocol::mcp::{Listing, PromptCall, progress_token};
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};
use crate::transport::{CallError as UpstreamError, Cancel};

use super::pipeline::{DENIED, UNAVAILABLE, clean_error, no_result, options};
use super::serve::Gateway;
use super::shelves::{Prompt, Seat};

impl Gateway {
    /// Answers `resources/read`.
    pub(super) async fn read_resource(
        &self,
        params: Option<&Object>,
        cancel: Cancel,
    ) -> Result<Json, RpcError> {
        let uri = text_of(params, "uri")?;
        let seat = self.owner_or_revived(uri).await?;
        let options = options(self, &seat.member, progress_token(params).cloned(), cancel);
        let agent = self.client().agent();
        let read = fetch::read(self.line(), &agent, &seat.server, uri, options).await;
        read.map_err(|error| told(&seat, &error))
    }

    /// The server of an address, after servers that stopped were started again.
    pub(super) async fn owner_or_revived(&self, uri: &str) -> Result<Seat, RpcError> {
        if let Some(seat) = self.owner(uri).await {
            return Ok(seat);
        }
        self.await_start().await;
        if let Some(seat) = self.owner(uri).await {
            return Ok(seat);
        }
        if self.revive().await
            && let Some(seat) = self.owner(uri).await
        {
            return Ok(seat);
        }
        let data = Json::object([("uri", Json::String(clean::line(uri, 4_000)))]);
        let text = "no server that runs lists this resource";
        Err(RpcError::new(RESOURCE_NOT_FOUND, text).with_data(data))
    }

    /// Answers `prompts/get`.
    pub(super) async fn get_prompt(
        &self,
        params: Option<&Object>,
        cancel: Cancel,
    ) -> Result<Json, RpcError> {
        let wanted = PromptCall::from_params(params)?;
        let prompt = self.prompt_named(&wanted.name).await?;
        let seat = &prompt.seat;
        let options = options(self, &seat.member, progress_token(params).cloned(), cancel);
        let agent = self.client().agent();
        let asked = (prompt.name.as_str(), wanted.arguments);
        let got = fetch::get(self.line(), &agent, &seat.server, asked, options).await;
        got.map_err(|error| told(seat, &error))
    }

    async fn prompt_named(&self, listed: &str) -> Result<Prompt, RpcError> {
        if let Some(prompt) = self.prompt_listed(listed).await {
            return Ok(prompt);
        }
        self.await_start().await;
        if let Some(prompt) = self.prompt_listed(listed).await {
            return Ok(prompt);
        }
        if self.revive().await
            && let Some(prompt) = self.prompt_listed(listed).await
        {
            return Ok(prompt);
        }
        let name = clean::line(listed, 100);
        let text = format!("no server that runs lists a prompt `{name}`");
        Err(RpcError::new(INVALID_PARAMS, text))
    }

    async fn prompt_listed(&self, listed: &str) -> Option<Prompt> {
        let mut prompts = self.prompts().await.into_iter();
        prompts.find(|prompt| prompt.listed == listed)
    }

    /// Answers `completion/complete`: what a person types goes to the server whose prompt or template
    /// it is for, unless policy denies that one whatever anybody answers.
    pub(super) async fn complete(
        &self,
        params: Option<&Object>,
        cancel: Cancel,
    ) -> Result<Json, RpcError> {
        let mut params = params.cloned().unwrap_or_default();
        params.remove("_meta");
        let kind = params.get("ref").and_then(|part| part.get("type"));
        let agent = self.client().agent();
        let (seat, denied) = match kind.and_then(Json::as_str) {
            Some("ref/prompt") => {
                let name = text_of(params.get("ref").and_then(Json::as_object), "name")?;
                let prompt = self.prompt_named(name).await?;
                let action = fetch::getting(&prompt.seat.server, &prompt.name, Vec::new());
                let denied = fetch::hopeless(self.line(), &agent, &action);
                if let Some(part) = params.get_mut("ref").and_then(Json::as_object_mut) {
                    part.insert("name", Json::String(prompt.name));
                }
                (prompt.seat, denied)
            }
            Some("ref/resource") => {
                let uri = text_of(params.get("ref").and_then(Json::as_object), "uri")?;
                let seat = self.owner_or_revived(uri).await?;
                let action = fetch::reading(&seat.server, uri);
                let denied = fetch::hopeless(self.line(), &agent, &action);
                (seat, denied)
            }
            _ => {
                return Err(refuse(
                    "`params.ref.type` must be `ref/prompt` or `ref/resource`",
                ));
            }
        };
        if denied || !seat.server.hello.offers("completions") {
            return Ok(no_completion());
        }
        let options = options(self, &seat.member, None, cancel);
        let request = seat
            .server
            .upstream
            .request("completion/complete", Some(params), options);
        match request.await {
            Ok(mut result) => {
                reply::clean_strings(&mut result);
                Ok(result)
            }
            Err(error) => Err(told(&seat, &CallError::Upstream(error, String::new()))),
        }
    }

    /// Answers a request for one of the lists beside tools.
    pub(super) async fn list_beside(&self, listing: Listing) -> Json {
        let items = match listing {
            Listing::Prompts => self.list_prompts().await,
            other => self.list_resources(other).await,
        };
        Json::object([(listing.key(), Json::Array(items))])
    }
}

/// A text of the parameters.
pub(super) fn text_of<'a>(params: Option<&'a Object>, key: &str) -> Result<&'a str, RpcError> {
    let text = params
        .and_then(|params| params.get(key))
        .and_then(Json::as_str);
    text.ok_or_else(|| refuse(&format!("`{key}` must be a string")))
}

fn refuse(text: &str) -> RpcError {
    RpcError::new(INVALID_PARAMS, text)
}

fn no_completion() -> Json {
    let none = Json::object([
        ("values", Json::Array(Vec::new())),
        ("total", Json::from(0_u64)),
        ("hasMore", Json::Bool(false)),
    ]);
    Json::object([("completion", none)])
}

/// The error that is told where there is nothing to give.
fn told(seat: &Seat, error: &CallError) -> RpcError {
    match error {
        CallError::Denied(denial) => RpcError::new(DENIED, denial.for_model()),
        CallError::Upstream(UpstreamError::Rpc(error), unreached) => clean_error(error, unreached),
        error => RpcError::new(UNAVAILABLE, no_result(&seat.member, &seat.server, error)),
    }
}
