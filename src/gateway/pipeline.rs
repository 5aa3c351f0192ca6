//! One `tools/call`: find the tool, decide, call, answer. The steps stand in [`call`], in order.

use std::sync::Arc;
use std::time::Duration;

use crate::clean;
use crate::enforce::Server;
use crate::enforce::call::{self, CallError};
use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::ToolCall;
use crate::protocol::rpc::{INVALID_PARAMS, RpcError};
use crate::transport::{CallError as UpstreamError, CallOptions, Cancel, Progress, Report};

use super::catalogue::Entry;
use super::member::{Member, State};
use super::serve::Gateway;
use super::status;

/// Policy or a person said no, and the answer cannot be a result. The protocol leaves codes outside of
/// its own range to others.
pub(super) const DENIED: i64 = -31_001;
/// There is no answer, and not because of the request.
pub(super) const UNAVAILABLE: i64 = -31_002;

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
        // A modern client can be asked about servers on its calls alone: this is one that is at hand.
        gateway.after_questions(&cancel).await;
        return Ok(status::report(gateway));
    }
    // 3. The tool behind the name.
    let found = tokio::select! {
        found = find(gateway, wanted.name()) => found,
        // No answer is sent to a cancelled call.
        why = cancel.cancelled() => return Ok(failure(&why)),
    };
    let entry = match found {
        Ok(entry) => entry,
        Err(answer) => return answer,
    };
    // 4. Decide, call, record, clean.
    let given_up = cancel.clone();
    let options = options(
        gateway,
        &entry.member,
        wanted.progress_token().cloned(),
        cancel,
    );
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
        Err(CallError::Upstream(UpstreamError::Rpc(error), unreached)) => {
            let links = gateway.links_required(&entry.member, &error, &given_up);
            Err(links
                .await
                .unwrap_or_else(|| clean_error(&error, &unreached)))
        }
        Err(error) => Ok(failure(&no_result(&entry.member, &entry.server, &error))),
    }
}

/// What is said of a call without a result; of a server that died, with its last words.
pub(super) fn no_result(member: &Member, server: &Server, error: &CallError) -> String {
    let mut text = format!(
        "Creance: the server {} gave no result: {}",
        clean::line(&member.id().to_string(), 120),
        clean::text(&clean::mask(&error.to_string()))
    );
    if let CallError::Upstream(UpstreamError::Closed(_), _) = error {
        let tail = server.upstream.stderr_tail();
        let tail = clean::mask(&tail);
        let tail = clean::text(&tail);
        if !tail.trim().is_empty() {
            text.push_str(&format!("\nIts last words:\n{}", tail.trim_end()));
        }
    }
    text
}

/// The tool behind an exposed name; a server that died is started again first.
async fn find(gateway: &Gateway, name: &str) -> Result<Entry, Result<Json, RpcError>> {
    let member = match gateway.catalogue().find(name) {
        Some(entry) if !entry.server.upstream.is_closed() => return Ok(entry.clone()),
        // It ended a moment ago: that is being put on record.
        Some(entry) => {
            let (member, server) = (Arc::clone(&entry.member), Arc::clone(&entry.server));
            member.let_go(&server).await;
            member
        }
        None => match gateway.catalogue().gone(name) {
            Some(gone) => Arc::clone(&gone.member),
            None => {
                // A client may know a tool from before, while its server is being started.
                gateway.await_start().await;
                let entry = gateway.catalogue().find(name).cloned();
                return entry.ok_or_else(|| Err(unknown(name)));
            }
        },
    };
    if matches!(member.state(), State::Stopped(_)) {
        gateway.bring_up(&member).await;
    }
    // Another call may be starting it.
    let state = member.settled().await;
    if let Some(entry) = gateway.catalogue().find(name) {
        return Ok(entry.clone());
    }
    let id = clean::line(&member.id().to_string(), 120);
    let text = match &state {
        State::Connected(server) => format!(
            "Creance: the server {id} does not offer this tool now ({}). Do not pretend to use it.",
            held_back(gateway, server, name)
        ),
        state => format!(
            "Creance: the server {id} is not available ({}). Do not pretend to use it.",
            clean::text(&state.for_model(member.id().source))
        ),
    };
    Err(Ok(failure(&text)))
}

/// Why a connected server's tool is not there any more.
fn held_back(gateway: &Gateway, server: &Server, name: &str) -> String {
    let catalogue = gateway.catalogue();
    let tool = catalogue.gone(name).map(|gone| gone.tool.as_str());
    let left_out = server.tools().left_out;
    let why = left_out
        .iter()
        .find(|(left, _)| Some(left.as_str()) == tool);
    why.map_or_else(
        || "its server lists it no more".to_owned(),
        |(_, why)| clean::line(why, 300),
    )
}

fn unknown(name: &str) -> RpcError {
    RpcError::new(
        INVALID_PARAMS,
        format!(
            "unknown tool `{}`; the tool {} tells which servers are ready",
            clean::line(name, 100),
            status::TOOL
        ),
    )
}

pub(super) fn options(
    gateway: &Gateway,
    member: &Member,
    token: Option<Json>,
    cancel: Cancel,
) -> CallOptions {
    let timeout = Duration::from_millis(member.definition.timeout_ms);
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
        offers: gateway.offers_now(member),
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

/// A server's error with its own code, its text cleaned, and what it was not let out to.
pub(super) fn clean_error(error: &RpcError, unreached: &str) -> RpcError {
    let message = clean::mask(error.message());
    let mut message = clean::text(&message).into_owned();
    if !unreached.is_empty() {
        message.push('\n');
        message.push_str(unreached);
    }
    let cleaned = RpcError::new(error.code(), message);
    match error.data() {
        Some(data) => {
            let mut data = data.clone();
            crate::enforce::reply::clean_and_mask_strings(&mut data);
            cleaned.with_data(data)
        }
        None => cleaned,
    }
}
