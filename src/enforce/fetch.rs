//! Reads a resource or gets a prompt: decision, the request itself, its outcome on record, clean text.

use std::time::Instant;

use serde_json::json;

use crate::audit::{EventKind, Outcome};
use crate::clean;
use crate::decision::Decision;
use crate::protocol::json::{Json, Object};
use crate::request::{Action, Agent, Asked, GetPrompt, ReadResource};
use crate::transport::{CallError as UpstreamError, CallOptions};

use super::call::CallError;
use super::line::Line;
use super::reach;
use super::reply;
use super::server::Server;
use super::sheet::Sheet;

/// Characters of text that one resource or prompt may bring. More is refused: a file that is cut is
/// another file.
pub(crate) const TEXT_MAX: usize = 1_000_000;

/// The action of reading a resource.
pub(crate) fn reading(server: &Server, uri: &str) -> ReadResource {
    ReadResource {
        server: server.facts(),
        uri: uri.to_owned(),
    }
}

/// The action of getting a prompt.
pub(crate) fn getting(server: &Server, name: &str, arguments: Vec<(String, String)>) -> GetPrompt {
    GetPrompt {
        server: server.facts(),
        name: name.to_owned(),
        arguments,
    }
}

/// Whether policy denies a request whatever anybody answers.
pub(crate) fn hopeless<A: Action>(line: &Line, agent: &Agent, action: &A) -> bool {
    let run = line.run();
    let store = line.point.store();
    let queries = action.queries(agent, &run);
    queries
        .iter()
        .any(|query| store.never_allows(query).is_some())
}

/// Reads a resource.
///
/// # Errors
/// Why there is nothing to give.
pub(crate) async fn read(
    line: &Line,
    agent: &Agent,
    server: &Server,
    uri: &str,
    options: CallOptions,
) -> Result<Json, CallError> {
    let action = reading(server, uri);
    let words: Words<ReadResource> = (ask_reading, read_errand);
    fetch(line, agent, server, (action, words), options).await
}

/// Gets a prompt.
///
/// # Errors
/// Why there is nothing to give.
pub(crate) async fn get(
    line: &Line,
    agent: &Agent,
    server: &Server,
    (name, arguments): (&str, Vec<(String, String)>),
    options: CallOptions,
) -> Result<Json, CallError> {
    let action = getting(server, name, arguments);
    let words: Words<GetPrompt> = (ask_prompt, get_errand);
    fetch(line, agent, server, (action, words), options).await
}

/// A request to a server.
type Errand = (&'static str, Object);
/// How a person is asked about an action, and how it is asked of the server.
type Words<A> = (fn(&A) -> Asked, fn(&A) -> Errand);

fn read_errand(action: &ReadResource) -> Errand {
    let mut params = Object::default();
    params.insert("uri", Json::String(action.uri.clone()));
    ("resources/read", params)
}

fn get_errand(action: &GetPrompt) -> Errand {
    let mut params = Object::default();
    params.insert("name", Json::String(action.name.clone()));
    let given = action.arguments.iter();
    let given = given.map(|(key, value)| (key.clone(), Json::String(value.clone())));
    params.insert("arguments", Json::object(given));
    ("prompts/get", params)
}

/// Decides, sends what was judged, records what became of it, cleans what came.
async fn fetch<A: Action>(
    line: &Line,
    agent: &Agent,
    server: &Server,
    (action, (present, errand)): (A, Words<A>),
    options: CallOptions,
) -> Result<Json, CallError> {
    let run = line.run();
    let decide = (line.point).decide(line.asking(agent, &run), action, present);
    let decision = tokio::select! {
        decision = decide => decision?,
        // Nobody wants it any more: the question is withdrawn.
        why = options.cancel.cancelled() => {
            return Err(CallError::Upstream(UpstreamError::Cancelled(why), String::new()));
        }
    };
    let permit = match decision {
        Decision::Deny(denial) => return Err(CallError::Denied(denial)),
        Decision::Allow(permit) => permit,
    };
    let (action, seq) = line.point.redeem(permit).map_err(CallError::Denied)?;
    let (method, params) = errand(&action);
    let begun = Instant::now();
    let mark = server.refusals();
    let answer = server.upstream.request(method, Some(params), options).await;
    let answer = answer.and_then(finish);
    let (result, details) = match &answer {
        Ok((_, chars)) => ("done", json!({"text_chars": chars})),
        Err(error) => (
            error.word(),
            json!({"error": clean::mask(&clean::line(&error.to_string(), 500))}),
        ),
    };
    let outcome = EventKind::Outcome(Outcome {
        of: seq,
        ok: answer.is_ok(),
        result: result.to_owned(),
        details,
        took_ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
    });
    line.point.note(outcome).map_err(CallError::Unrecorded)?;
    let unreached = || reach::told(&server.refused_since(mark));
    let (result, _) = answer.map_err(|error| CallError::Upstream(error, unreached()))?;
    Ok(result)
}

/// The question about reading a resource.
fn ask_reading(read: &ReadResource) -> Asked {
    let id = clean::line(&read.server.id.to_string(), 120);
    let mut sheet = Sheet::new(format!("Read a resource of {id}?"));
    sheet.full("resource", &read.uri);
    sheet.asked
}

/// The question about getting a prompt.
fn ask_prompt(get: &GetPrompt) -> Asked {
    let id = clean::line(&get.server.id.to_string(), 120);
    let mut sheet = Sheet::new(format!("Get a prompt of {id}?"));
    sheet.full("prompt", &get.name);
    for (name, value) in &get.arguments {
        sheet.full(&format!("argument {}", clean::line(name, 120)), value);
    }
    sheet.asked
}

/// The result as it is given on, and how many characters of text it brings.
fn finish(mut result: Json) -> Result<(Json, usize), UpstreamError> {
    let Some(members) = result.as_object_mut() else {
        let kind = result.kind();
        return Err(UpstreamError::Reply(format!("the result is {kind}")));
    };
    for (key, value) in members.iter_mut() {
        if key != "_meta" {
            reply::clean_strings(value);
        }
    }
    let chars = text_chars(&result);
    if chars > TEXT_MAX {
        return Err(UpstreamError::Reply(format!(
            "it brings {chars} characters of text, at most {TEXT_MAX} are given on"
        )));
    }
    Ok((result, chars))
}

/// The characters of all members called `text`.
fn text_chars(value: &Json) -> usize {
    match value {
        Json::Array(items) => items.iter().map(text_chars).sum(),
        Json::Object(members) => members
            .iter()
            .map(|(key, value)| match value {
                Json::String(text) if key == "text" => text.chars().count(),
                value => text_chars(value),
            })
            .sum(),
        _ => 0,
    }
}
