//! Calls a tool: facts, decision, the call itself, its outcome on record, and a clean reply.

use std::convert::Infallible;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::audit::{AuditError, EventKind, Outcome};
use crate::clean;
use crate::decision::{Decision, DecisionError, Denial, Permit};
use crate::digest::Digest;
use crate::protocol::json::Json;
use crate::protocol::schema::{self, ResultCheck};
use crate::request::{Agent, CallTool};
use crate::transport::{CallError as UpstreamError, CallOptions, Progress};

use super::arguments;
use super::line::Line;
use super::present;
use super::reach;
use super::reply;
use super::server::Server;
use super::tool::Tool;

/// Why a call has no result.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The arguments cannot be judged exactly, so they are not sent.
    Inexact,
    /// Policy or a person said no.
    Denied(Denial),
    /// The decision could not be taken.
    Decision(DecisionError),
    /// The server failed; with what it was not let out to meanwhile, in words.
    Upstream(UpstreamError, String),
    /// The call was made, and its outcome could not be put on record.
    Unrecorded(AuditError),
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Inexact => f.write_str(
                "the arguments hold a number beyond 64 bits, which cannot be judged exactly",
            ),
            Self::Denied(denial) => denial.fmt(f),
            Self::Decision(error) => error.fmt(f),
            Self::Upstream(error, unreached) if unreached.is_empty() => error.fmt(f),
            Self::Upstream(error, unreached) => write!(f, "{error}\n{unreached}"),
            Self::Unrecorded(error) => write!(
                f,
                "the call was made, but its outcome could not be recorded, so it is withheld: {error}"
            ),
        }
    }
}

impl std::error::Error for CallError {}

impl From<DecisionError> for CallError {
    fn from(error: DecisionError) -> Self {
        Self::Decision(error)
    }
}

/// The action of calling a tool with these arguments.
pub(crate) fn action(
    line: &Line,
    server: &Server,
    tool: &Tool,
    arguments: &Json,
) -> Result<CallTool, CallError> {
    let exact = arguments.to_value();
    if exact.inexact > 0 {
        return Err(CallError::Inexact);
    }
    let valid = tool.takes(arguments);
    let facts = server.tool_facts(tool);
    Ok(describe(line, (facts, valid), exact.value, server.bases()))
}

/// The facts of a call.
pub(crate) fn describe(
    line: &Line,
    (tool, valid): (crate::request::ToolFacts, bool),
    arguments: Value,
    bases: &[std::path::PathBuf],
) -> CallTool {
    let text = arguments.to_string();
    let strings = arguments::strings(&arguments);
    CallTool {
        tool,
        arguments_digest: Digest::of(&text),
        arguments_bytes: text.len() as u64,
        valid,
        secrets: clean::has_secret(&arguments),
        paths: arguments::paths(&strings, bases, &line.ground.places),
        option_like: arguments::option_like(&strings),
        calls_this_session: 0,
        arguments,
    }
}

/// Calls a tool. `None` of a result never happens silently: every way out is an error.
pub(crate) async fn call(
    line: &Line,
    agent: &Agent,
    (server, tool): (&Server, &Tool),
    arguments: &Json,
    options: CallOptions,
) -> Result<Json, CallError> {
    let mut action = action(line, server, tool, arguments)?;
    action.calls_this_session = server.count_call(tool.name());
    let run = line.run();
    let asking = line.asking(agent, &run);
    let waits = AtomicBool::new(false);
    let decide = (line.point).decide(asking, action, |action| {
        waits.store(true, Ordering::Relaxed);
        present::call(action)
    });
    let decision = tokio::select! {
        decision = decide => decision?,
        // Nobody wants it any more: the question is withdrawn.
        why = options.cancel.cancelled() => {
            return Err(CallError::Upstream(UpstreamError::Cancelled(why), String::new()));
        }
        never = tell_waiting(&options.progress, || waits.load(Ordering::Relaxed)) => match never {},
    };
    match decision {
        Decision::Deny(denial) => Err(CallError::Denied(denial)),
        Decision::Allow(permit) => spend(line, permit, (server, tool), options).await,
    }
}

/// How often a client is told that a person is still being asked: well within the limits of clients
/// that start anew with each report, which are a minute as a rule.
const STILL_ASKED: Duration = Duration::from_secs(15);

/// Tells the client, now and then, that the call waits for a person.
async fn tell_waiting(progress: &Progress, waits: impl Fn() -> bool) -> Infallible {
    loop {
        tokio::time::sleep(STILL_ASKED).await;
        if waits() {
            progress.say("waits for a person's answer");
        }
    }
}

/// Spends the permit: sends what was judged, records what became of it.
async fn spend(
    line: &Line,
    permit: Permit<CallTool>,
    (server, tool): (&Server, &Tool),
    options: CallOptions,
) -> Result<Json, CallError> {
    let (action, seq) = line.point.redeem(permit).map_err(CallError::Denied)?;
    let params = Json::object([
        ("name", Json::String(action.tool.name.clone())),
        ("arguments", Json::from_value(&action.arguments)),
    ]);
    let begun = Instant::now();
    let mark = server.refusals();
    let (holds, progress) = (server.holds(), options.progress.clone());
    let call = (server.upstream).request("tools/call", params.as_object().cloned(), options);
    let answer = tokio::select! {
        answer = call => answer,
        // The server wants to reach a host, and a person is asked about it.
        never = tell_waiting(&progress, || holds.is_open()) => match never {},
    };
    let took_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let (result, details) = match &answer {
        Ok(result) if reply::is_error(result) => ("tool-error", json!({})),
        Ok(result) => ("done", json!({"text_chars": reply::text_len(result)})),
        Err(error) => (
            error.word(),
            json!({"error": clean::mask(&clean::line(&error.to_string(), 500))}),
        ),
    };
    let outcome = EventKind::Outcome(Outcome {
        of: seq,
        ok: result == "done",
        result: result.to_owned(),
        details,
        took_ms,
    });
    line.point.note(outcome).map_err(CallError::Unrecorded)?;
    let unreached = || reach::told(&server.refused_since(mark));
    let raw = answer.map_err(|error| CallError::Upstream(error, unreached()))?;
    let mut result = finish(raw, tool);
    if reply::is_error(&result) {
        reply::add_note(&mut result, &unreached());
    }
    Ok(result)
}

/// The reply as the model gets it.
fn finish(raw: Json, tool: &Tool) -> Json {
    let (result, _) = reply::clean_result(raw, reply::TEXT_MAX);
    match tool.check_result(&result) {
        ResultCheck::Pass => result,
        ResultCheck::Unknown(why) => {
            tracing::info!(tool = tool.name(), "the result cannot be checked: {why}");
            result
        }
        ResultCheck::Wrong(why) => schema::told_as_text(result, &clean::line(&why, 300)),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::transport::Report;

    #[tokio::test(start_paused = true)]
    async fn a_client_hears_that_a_person_is_asked() {
        let told = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&told);
        let progress = Progress::Report {
            token: Json::String("t".to_owned()),
            report: Report::new(move |params| {
                let mut text = String::new();
                Json::Object(params).write_to(&mut text);
                hears.lock().unwrap().push(text);
            }),
        };
        let asked = AtomicBool::new(false);
        let waits = || asked.load(Ordering::Relaxed);
        let limit = Duration::from_secs(46);
        let mute = tokio::time::timeout(limit, tell_waiting(&progress, waits)).await;
        assert!(mute.is_err() && told.lock().unwrap().is_empty());
        asked.store(true, Ordering::Relaxed);
        let _ = tokio::time::timeout(limit, tell_waiting(&progress, waits)).await;
        let report = |progress: &str| {
            let message = "waits for a person's answer";
            format!(r#"{{"progressToken":"t","progress":{progress},"message":"{message}"}}"#)
        };
        let want = ["0.001", "0.002", "0.003"].map(report);
        assert_eq!(*told.lock().unwrap(), want);
    }
}
