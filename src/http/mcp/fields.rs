//! The fields of a request: what MCP wants there, by the revision that is spoken.

use crate::protocol::json::{Json, Object};
use crate::protocol::rpc::{Message, Request};

/// The member of `_meta` that tells the revision, since 2026-07-28.
const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";

/// What of a message stands in the fields as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Headed {
    /// The method of a request.
    pub(super) method: String,
    /// The revision that it tells of itself; `None` before 2026-07-28.
    pub(super) modern: Option<String>,
    name: Option<String>,
    /// Arguments that stand in fields, by the name of the field.
    params: Vec<(String, String)>,
}

impl Headed {
    /// The tool that is called, and its arguments.
    pub(super) fn called(message: &Message) -> Option<(&str, &Json)> {
        let Message::Request(request) = message else {
            return None;
        };
        let params = request
            .params
            .as_ref()
            .filter(|_| request.method == "tools/call")?;
        Some((params.get("name")?.as_str()?, params.get("arguments")?))
    }

    /// The same with arguments that stand in fields.
    pub(super) fn with(mut self, params: Vec<(String, String)>) -> Self {
        self.params = params;
        self
    }

    pub(super) fn of(message: &Message) -> Self {
        match message {
            Message::Request(Request { method, params, .. }) => Self::call(method, params.as_ref()),
            Message::Notification(note) => Self::call(&note.method, note.params.as_ref()),
            Message::Response(_) => Self::default(),
        }
    }

    fn call(method: &str, params: Option<&Object>) -> Self {
        let member = |key: &str| params.and_then(|params| params.get(key));
        let version = member("_meta").and_then(|meta| meta.get(META_VERSION));
        let key = match method {
            "tools/call" | "prompts/get" => "name",
            "resources/read" => "uri",
            _ if method.starts_with("tasks/") => "taskId",
            _ => "",
        };
        Self {
            method: method.to_owned(),
            modern: version.and_then(Json::as_str).map(str::to_owned),
            name: member(key).and_then(Json::as_str).map(str::to_owned),
            params: Vec::new(),
        }
    }

    /// The fields of 2026-07-28; none for a message of an older revision.
    pub(super) fn fields(&self) -> Vec<(String, String)> {
        let Some(version) = &self.modern else {
            return Vec::new();
        };
        let mut fields = vec![
            ("mcp-protocol-version".to_owned(), carried(version)),
            ("mcp-method".to_owned(), carried(&self.method)),
        ];
        let name = self
            .name
            .iter()
            .map(|name| ("mcp-name".to_owned(), carried(name)));
        fields.extend(name);
        let params = self.params.iter();
        fields.extend(params.map(|(name, value)| {
            (
                format!("mcp-param-{}", name.to_ascii_lowercase()),
                carried(value),
            )
        }));
        fields
    }
}

/// A value as a field carries it: plain ASCII as it is, all else in base64.
fn carried(value: &str) -> String {
    let plain = value.bytes().all(|b| matches!(b, b' '..=b'~'))
        && value.trim() == value
        && !value.starts_with("=?base64?");
    if plain {
        return value.to_owned();
    }
    format!("=?base64?{}?=", base64(value.as_bytes()))
}

/// RFC 4648, 4.
fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let six = bits >> (18 - 6 * place) & 63;
            let letter = usize::try_from(six).ok().and_then(|six| LETTERS.get(six));
            let beyond = place > three.len();
            text.push(if beyond {
                '='
            } else {
                letter.map_or('=', |b| char::from(*b))
            });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_carried_as_the_revision_says() {
        for (value, want) in [
            ("read_file", "read_file"),
            ("file:///a b", "file:///a b"),
            (" a", "=?base64?IGE=?="),
            ("日本", "=?base64?5pel5pys?="),
            ("a\r\nHost: x", "=?base64?YQ0KSG9zdDogeA==?="),
            ("=?base64?", "=?base64?PT9iYXNlNjQ/?="),
            ("", ""),
        ] {
            assert_eq!(carried(value), want, "{value:?}");
        }
    }
}
