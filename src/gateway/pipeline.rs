//! One `tools/call`: find the tool, decide, call, answer. The steps stand in [`call`], in order.

use std::time::Duration;

use crate::clean;
use crate::enforce::call::{self, CallError};
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::ToolCall;
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};
use crate::transport::{CallError as UpstreamError, CallOptions, Cancel, Progress, Report};

use super::catalogue::Entry;
use super::member::State;
use super::serve::Gateway;
use super::status;

/// Progress restarts a call's limit, but never beyond this many times the limit.
const HARD_FACTOR: u32 = 10;

/// Answers one `tools/call`.
pub(super) async fn call(
    gateway: &Gateway,
    params: Option<Object>,
    cancel: Cancel,
) -> Result<Json, RpcError> {
    // 1. The shape: absent arguments are none, anything but an object is refused before anything else.
    let wanted = ToolCall::from_params(params)?;
    // 2. The gateway's own tool.
    if wanted.name() == status::TOOL {
        return Ok(status::report(gateway));
    }
    // 3. The tool behind the name.
    let entry = match find(gateway, wanted.name()).await {
        Ok(entry) => entry,
        Err(answer) => return answer,
    };
    // 4. Decide, call, record, clean.
    let options = options(gateway, &entry, wanted.progress_token().cloned(), cancel);
    let arguments = Json::Object(wanted.arguments().cloned().unwrap_or_default());
    let agent = gateway.client().agent();
    let result = call::call(
        gateway.line(),
        &agent,
        (&entry.server, &entry.tool),
        &arguments,
        options,
    )
    .await;
    // 5. Answer: a result as it came, a server's protocol error as one, everything else as text.
    match result {
        Ok(result) => Ok(result),
        Err(CallError::Inexact) => Err(RpcError::new(
            INVALID_PARAMS,
            CallError::Inexact.to_string(),
        )),
        Err(CallError::Denied(denial)) => Ok(failure(&denial.for_model())),
        Err(CallError::Upstream(UpstreamError::Rpc(error))) => Err(clean_error(&error)),
        Err(error) => Ok(failure(&format!(
            "Creance: the server {} gave no result: {}",
            clean::line(&entry.member.id().to_string(), 120),
            clean::text(&clean::mask(&error.to_string()))
        ))),
    }
}

/// The tool behind an exposed name; a server that died is started again first.
async fn find(gateway: &Gateway, name: &str) -> Result<Entry, Result<Json, RpcError>> {
    if let Some(entry) = gateway.catalogue().find(name) {
        return Ok(entry.clone());
    }
    let Some(member) = gateway.catalogue().gone(name).cloned() else {
        return Err(Err(RpcError::new(
            INVALID_PARAMS,
            format!(
                "unknown tool `{}`; the tool {} tells which servers are ready",
                clean::line(name, 100),
                status::TOOL
            ),
        )));
    };
    if matches!(member.state(), State::Stopped(_)) {
        gateway.bring_up(&member).await;
    }
    if let Some(entry) = gateway.catalogue().find(name) {
        return Ok(entry.clone());
    }
    Err(Ok(failure(&format!(
        "Creance: the server {} is not available ({}). Do not pretend to use it.",
        clean::line(&member.id().to_string(), 120),
        clean::text(&member.state().to_string())
    ))))
}

fn options(gateway: &Gateway, entry: &Entry, token: Option<Json>, cancel: Cancel) -> CallOptions {
    let timeout = Duration::from_millis(entry.member.definition.timeout_ms);
    let wire = gateway.client().wire().clone();
    let progress = match token {
        None => Progress::Restart,
        Some(token) => Progress::Report {
            token,
            report: Report::new(move |mut params| {
                for (_, value) in params.iter_mut() {
                    crate::enforce::reply::clean_strings(value);
                }
                wire.offer("notifications/progress", Some(params));
            }),
        },
    };
    CallOptions {
        hard_max: timeout * HARD_FACTOR,
        progress,
        cancel,
        ..CallOptions::within(timeout)
    }
}

/// A result that says that the tool failed: what a model can act on.
pub(super) fn failure(text: &str) -> Json {
    let block = Json::object([
        ("type", Json::String("text".to_owned())),
        ("text", Json::String(text.to_owned())),
    ]);
    Json::object([
        ("content", Json::Array(vec![block])),
        ("isError", Json::Bool(true)),
    ])
}

/// A server's error with its own code, its text cleaned.
fn clean_error(error: &RpcError) -> RpcError {
    let cleaned = RpcError::new(error.code(), clean::text(error.message()).into_owned());
    match error.data() {
        Some(data) => {
            let mut data = data.clone();
            crate::enforce::reply::clean_strings(&mut data);
            cleaned.with_data(data)
        }
        None => cleaned,
    }
}
