//! Which stream a line of the gateway belongs to, without a tree of it where its id says it already.

use crate::protocol::json::{Json, Object, read};
pub(super) use crate::protocol::mcp::era::META_SUBSCRIPTION as SUBSCRIPTION;
use crate::protocol::rpc::salvage;

/// A line of the gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// Answers the request with this number.
    Answer(u64),
    /// Reports on the request with this number.
    Progress(u64),
    /// Belongs to the subscription with this number.
    Subscribed(u64),
    /// Asks the client.
    Request,
    /// Tells of work that goes on: a log line.
    Log,
    /// Tells the session.
    Note,
}

impl Line {
    /// Reads as much of a line as it takes.
    pub(super) fn of(line: &[u8]) -> Option<Self> {
        let found = salvage(line);
        let id = found.id.as_ref();
        if found.answers && !found.calls {
            return id
                .and_then(crate::protocol::rpc::Id::as_counter)
                .map(Self::Answer);
        }
        if id.is_some() {
            return Some(Self::Request);
        }
        let json = read(line).ok()?.json;
        let params = json.get("params");
        let counter = |value: Option<&Json>| {
            let id = crate::protocol::rpc::Id::from_json(value?)?;
            id.as_counter()
        };
        let subscription = params.and_then(|params| params.get("_meta")?.get(SUBSCRIPTION));
        if let Some(number) = counter(subscription) {
            return Some(Self::Subscribed(number));
        }
        match json.get("method").and_then(Json::as_str)? {
            "notifications/progress" => {
                let token = params.and_then(|params| params.get("progressToken"));
                counter(token).map(Self::Progress)
            }
            "notifications/message" => Some(Self::Log),
            _ => Some(Self::Note),
        }
    }
}

/// An answer under the client's own id. The gateway writes the id right after the version.
pub(super) fn under(line: &[u8], number: u64, id: &Json) -> Option<Vec<u8>> {
    let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":{number},");
    let rest = line.strip_prefix(head.as_bytes())?;
    let mut answer = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},").into_bytes();
    answer.extend_from_slice(rest);
    Some(answer)
}

/// A notification whose token or subscription is the client's own again.
pub(super) fn named(line: &[u8], (key, own): (&str, &Json)) -> Option<Vec<u8>> {
    let mut json = read(line).ok()?.json;
    let params = json.as_object_mut()?.get_mut("params")?.as_object_mut()?;
    if key == SUBSCRIPTION {
        params
            .get_mut("_meta")?
            .as_object_mut()?
            .insert(key, own.clone());
    } else {
        params.insert(key, own.clone());
    }
    let mut text = json.to_string();
    text.push('\n');
    Some(text.into_bytes())
}

/// Puts the front's number in the place of the client's token for progress, which it gives back.
pub(super) fn own_token(params: Option<&mut Object>, number: u64) -> Option<Json> {
    let meta = params?.get_mut("_meta")?.as_object_mut()?;
    let token = meta.get_mut("progressToken")?;
    if !matches!(token, Json::String(_) | Json::Number(_)) {
        return None;
    }
    Some(std::mem::replace(token, number.into()))
}
