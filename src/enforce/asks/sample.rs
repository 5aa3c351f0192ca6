//! Requests to a model, which is the client's.

use serde_json::json;

use crate::enforce::reply;
use crate::protocol::asks::{Sample, check_answer};
use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};
use crate::request::{CreateSample, ModelFacts};
use crate::transport::Cancel;

use super::hearing::{Hearing, MODEL, no_method};
use super::present;

const METHOD: &str = "sampling/createMessage";

/// Whichever model the client takes.
pub(super) fn any_model() -> ModelFacts {
    ModelFacts {
        name: "client/any".to_owned(),
        local: false,
    }
}

/// Answers `sampling/createMessage`.
pub(super) async fn answer(
    hearing: Hearing<'_>,
    params: Object,
    cancel: &Cancel,
) -> Result<Json, RpcError> {
    let offers = hearing.offers;
    if !offers.sampling.is_made() {
        return Err(no_method());
    }
    let sample = Sample::read(params).map_err(|refused| hearing.refuse(METHOD, &refused))?;
    if !sample.tools.is_empty() && !offers.tools.is_made() {
        let why = "the client does not offer sampling with tools";
        return Err(RpcError::new(INVALID_PARAMS, why));
    }
    let name = hearing.asker.name();
    let during_call = hearing.during_call();
    let depth = hearing.origin.depth + u64::from(hearing.agent.depth) + 1;
    let open = hearing.chains.sample(&name, depth);
    let action = CreateSample {
        server: hearing.facts.clone(),
        model: any_model(),
        depth: open.depth,
        concurrent: open.concurrent,
        this_session: open.this_session,
        max_tokens: sample.max_tokens,
        input_bytes: sample.input_bytes,
        include_context: sample.include_context,
        tools: sample.tools.clone(),
        during_call,
        request: sample.digest,
    };
    let present = |action: &CreateSample| present::sample(action, &sample.told());
    let permit = match hearing.decide(action, present, cancel).await {
        Ok(permit) => permit,
        Err(no) => return Err(no.to_error("")),
    };
    open.at_the_model();
    let mut shown = Json::Object(sample.shown(&name));
    reply::clean_strings(&mut shown);
    let Json::Object(shown) = shown else {
        return Err(no_method());
    };
    let read = |mut answer: Json| {
        check_answer(&answer)?;
        // What a model knows of secrets is not for a server.
        reply::clean_and_mask_strings(&mut answer);
        let chars = answer
            .get("content")
            .map_or(0, |content| content.to_string().len());
        Ok((answer, "done", json!({ "content_bytes": chars })))
    };
    let asked = (METHOD, shown, MODEL);
    let answered = hearing.put(permit, asked, read, cancel).await;
    drop(open);
    answered.map_err(|no| no.to_error(""))
}
