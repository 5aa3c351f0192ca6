//! A message as a line, and which answers stand in it.

use crate::protocol::json::{Json, read};
use crate::protocol::rpc::{Id, Message, Response, RpcError};
use crate::protocol::tools::{ParamField, param_fields};

/// What goes wrong between Creance and a remote server. Own codes lie outside the range of JSON-RPC.
const TRANSPORT: i64 = 1;

/// A message as one line. In JSON a line break can only stand between tokens, where a blank means the
/// same.
pub(super) fn line(message: &[u8]) -> Vec<u8> {
    let blank = |byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            *byte
        }
    };
    let mut line: Vec<u8> = message.trim_ascii().iter().map(blank).collect();
    line.push(b'\n');
    line
}

/// The line that tells a request of a fault.
pub(super) fn fault(id: &Id, why: &str) -> Vec<u8> {
    let error = RpcError::new(TRANSPORT, why);
    Message::from(Response::err(id.clone(), error))
        .to_line()
        .into_bytes()
}

/// What of a message matters to the transport.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    /// It answers the request.
    pub(super) answers: bool,
    /// The revision that an answer to `initialize` agrees to.
    pub(super) version: Option<String>,
    /// The arguments of the tools that an answer lists, as far as they stand in fields.
    pub(super) tools: Vec<(String, Vec<ParamField>)>,
    /// Why it cannot be read.
    pub(super) unreadable: Option<String>,
}

impl Told {
    /// Reads a message, or a batch of them (2025-03-26), for who waits for this answer.
    pub(super) fn of(message: &[u8], id: Option<&Id>) -> Self {
        let parsed = match read(message) {
            Ok(parsed) => parsed.json,
            Err(error) => {
                return Self {
                    unreadable: Some(error.to_string()),
                    ..Self::default()
                };
            }
        };
        let one = std::slice::from_ref(&parsed);
        let messages = parsed.as_array().unwrap_or(one);
        let answer = messages.iter().find(|message| is_answer(message, id));
        let version = answer.and_then(|answer| answer.get("result")?.get("protocolVersion"));
        Self {
            answers: answer.is_some(),
            version: version.and_then(Json::as_str).map(str::to_owned),
            tools: answer.map(tools_in_fields).unwrap_or_default(),
            unreadable: None,
        }
    }
}

/// The tools that an answer lists, with their arguments that stand in fields.
fn tools_in_fields(answer: &Json) -> Vec<(String, Vec<ParamField>)> {
    let listed = answer.get("result").and_then(|result| result.get("tools"));
    let listed = listed.and_then(Json::as_array).unwrap_or_default();
    let fields = |tool: &Json| {
        let name = tool.get("name")?.as_str()?.to_owned();
        // One whose marks are bad is not used.
        Some((name, param_fields(tool.get("inputSchema")?).ok()?))
    };
    listed.iter().filter_map(fields).collect()
}

fn is_answer(message: &Json, id: Option<&Id>) -> bool {
    let is = message.get("id").and_then(Id::from_json);
    let same = match (&is, id) {
        (Some(is), Some(id)) => is == id || is.as_counter() == id.as_counter(),
        _ => false,
    };
    let outcome = message.get("result").is_some() || message.get("error").is_some();
    same && outcome && message.get("method").is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_found() {
        let id = Id::from(7);
        for (message, want) in [
            (r#"{"jsonrpc":"2.0","id":7,"result":{}}"#, true),
            (
                r#"{"jsonrpc":"2.0","id":"7","error":{"code":1,"message":""}}"#,
                true,
            ),
            (
                r#"[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":7,"result":{}}]"#,
                true,
            ),
            (r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, false),
            (r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#, false),
            ("", false),
        ] {
            assert_eq!(
                Told::of(message.as_bytes(), Some(&id)).answers,
                want,
                "{message}"
            );
        }
    }

    #[test]
    fn a_message_of_many_lines_is_one_line() {
        let text = line(b"{\r\n  \"a\": \"\\n\"\n}\n");
        assert_eq!(text, b"{    \"a\": \"\\n\" }\n");
    }
}
