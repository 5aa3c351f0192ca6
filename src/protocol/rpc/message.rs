//! Messages: from a tree, and to the line that is sent.

use crate::protocol::json::{Json, Object};

use super::error::RpcError;
use super::id::Id;
use super::misfit::{Fault, Misfit};

/// One JSON-RPC message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Message {
    /// Wants an answer.
    Request(Request),
    /// Wants none.
    Notification(Notification),
    /// Is one.
    Response(Response),
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    /// What the answer is tied to.
    pub(crate) id: Id,
    /// What is asked.
    pub(crate) method: String,
    /// With what: an object. Absent and `null` are the same.
    pub(crate) params: Option<Object>,
}

/// A notification.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notification {
    /// What happened.
    pub(crate) method: String,
    /// More about it.
    pub(crate) params: Option<Object>,
}

/// A response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Response {
    /// The id of the request that it answers.
    pub(crate) id: Id,
    /// Its result or its error.
    pub(crate) outcome: Result<Json, RpcError>,
}

impl Message {
    /// The message that a tree is.
    ///
    /// # Errors
    /// What does not fit, and what is known about the message anyway.
    pub(crate) fn from_json(json: Json) -> Result<Self, Misfit> {
        match json {
            Json::Object(object) => from_object(object),
            Json::Array(_) => Err(Misfit::unknown(Fault::Batch)),
            other => Err(Misfit::unknown(Fault::Kind(other.kind()))),
        }
    }

    /// The message as one line with its line feed.
    pub(crate) fn to_line(&self) -> String {
        let mut line = String::from("{\"jsonrpc\":\"2.0\"");
        match self {
            Self::Request(request) => {
                member("id", &request.id.to_json(), &mut line);
                call(&request.method, request.params.as_ref(), &mut line);
            }
            Self::Notification(note) => call(&note.method, note.params.as_ref(), &mut line),
            Self::Response(response) => {
                member("id", &response.id.to_json(), &mut line);
                match &response.outcome {
                    Ok(result) => member("result", result, &mut line),
                    Err(error) => member("error", &error.clone().into_json(), &mut line),
                }
            }
        }
        line.push_str("}\n");
        line
    }
}

impl Request {
    /// A request.
    pub(crate) fn new(id: Id, method: impl Into<String>, params: Option<Object>) -> Self {
        Self {
            id,
            method: method.into(),
            params,
        }
    }
}

impl Notification {
    /// A notification.
    pub(crate) fn new(method: impl Into<String>, params: Option<Object>) -> Self {
        Self {
            method: method.into(),
            params,
        }
    }
}

impl Response {
    /// The answer with an error.
    pub(crate) fn err(id: Id, error: RpcError) -> Self {
        Self {
            id,
            outcome: Err(error),
        }
    }
}

impl From<Request> for Message {
    fn from(request: Request) -> Self {
        Self::Request(request)
    }
}

impl From<Notification> for Message {
    fn from(note: Notification) -> Self {
        Self::Notification(note)
    }
}

impl From<Response> for Message {
    fn from(response: Response) -> Self {
        Self::Response(response)
    }
}

/// The answer to a message whose id nobody knows: its `id` is `null`.
pub(crate) fn anonymous_error_line(error: RpcError) -> String {
    let mut line = String::from("{\"jsonrpc\":\"2.0\"");
    member("id", &Json::Null, &mut line);
    member("error", &error.into_json(), &mut line);
    line.push_str("}\n");
    line
}

fn member(key: &'static str, value: &Json, line: &mut String) {
    line.push_str(",\"");
    line.push_str(key);
    line.push_str("\":");
    value.write_to(line);
}

fn call(method: &str, params: Option<&Object>, line: &mut String) {
    line.push_str(",\"method\":");
    crate::protocol::json::write_string(method, line);
    if let Some(params) = params {
        line.push_str(",\"params\":");
        params.write_to(line);
    }
}

fn from_object(mut object: Object) -> Result<Message, Misfit> {
    let misfit = |object: &Object, fault| Misfit {
        fault,
        id: object.get("id").and_then(Id::from_json),
        answers: is_answer(object),
        calls: object.get("method").is_some(),
    };
    if let Some(fault) = fault_of(&object) {
        return Err(misfit(&object, fault));
    }
    let id = object.get("id").and_then(Id::from_json);
    let params = match object.remove("params") {
        Some(Json::Object(params)) => Some(params),
        _ => None,
    };
    match (object.remove("method"), id) {
        (Some(Json::String(method)), Some(id)) => Ok(Request::new(id, method, params).into()),
        (Some(Json::String(method)), None) => Ok(Notification::new(method, params).into()),
        (_, Some(id)) => match outcome(&mut object) {
            Some(outcome) => Ok(Response { id, outcome }.into()),
            None => Err(Misfit {
                fault: Fault::Error,
                id: Some(id),
                answers: true,
                calls: false,
            }),
        },
        (_, None) => Err(misfit(&object, Fault::Id)),
    }
}

/// The first thing that keeps an object from being a message.
fn fault_of(object: &Object) -> Option<Fault> {
    if object.get("jsonrpc").and_then(Json::as_str) != Some("2.0") {
        return Some(Fault::Version);
    }
    let id_odd = |id: &Json| Id::from_json(id).is_none();
    if object.get("id").is_some_and(id_odd) {
        return Some(Fault::Id);
    }
    let (result, error) = (object.get("result"), object.get("error"));
    match object.get("method") {
        Some(Json::String(_)) if result.is_some() || error.is_some() => Some(Fault::Both),
        Some(Json::String(_)) => match object.get("params") {
            None | Some(Json::Null | Json::Object(_)) => None,
            Some(other) => Some(Fault::Params(other.kind())),
        },
        Some(_) => Some(Fault::Method),
        None if result.is_some() && error.is_some() => Some(Fault::Both),
        None if result.is_none() && error.is_none() => Some(Fault::Neither),
        None => None,
    }
}

fn is_answer(object: &Object) -> bool {
    object.get("method").is_none()
        && (object.get("result").is_some() || object.get("error").is_some())
}

fn outcome(object: &mut Object) -> Option<Result<Json, RpcError>> {
    match (object.remove("result"), object.remove("error")) {
        (Some(result), None) => Some(Ok(result)),
        (None, Some(error)) => RpcError::from_json(error).map(Err),
        _ => None,
    }
}
