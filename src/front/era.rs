//! Legacy or modern, by the body; and that the fields which a modern client repeats from its body agree
//! with it. Whoever stands between may go by the fields: what is decided is what the body says.

use hyper::{HeaderMap, StatusCode};

use crate::protocol::json::{Json, Object};
use crate::protocol::mcp::Revision;
use crate::protocol::mcp::era::{
    META_CAPABILITIES, META_CLIENT, META_VERSION, MODERN, UNSUPPORTED_VERSION,
};
use crate::protocol::rpc::{INVALID_PARAMS, Request, RpcError};

use super::headers::{self, METHOD, NAME, REVISION};
use super::reply::Refusal;

/// A field and the body do not agree.
const HEADER_MISMATCH: i64 = -32020;

/// Whether a request is a modern one: its body says a revision that has no `initialize`, or its fields
/// do while the body says none.
pub(super) fn is_modern(headers: &HeaderMap, request: &Request) -> Result<bool, Refusal> {
    if let Some(version) = meta(request, META_VERSION) {
        return Ok(version
            .as_str()
            .is_none_or(|name| Revision::from_name(name).is_none()));
    }
    let said = headers::one(headers, &REVISION)?;
    Ok(request.method != "initialize" && said == Some(MODERN))
}

/// Checks a modern request; what it says about its client, as one text.
///
/// # Errors
/// What is missing, or does not agree.
pub(super) fn check_modern(headers: &HeaderMap, request: &Request) -> Result<String, Refusal> {
    let refuse = |code, why: String| {
        let error = RpcError::new(code, why);
        Refusal::with(StatusCode::BAD_REQUEST, error).to(request.id.clone())
    };
    let version = meta(request, META_VERSION).and_then(Json::as_str);
    let version = version.ok_or_else(|| missing(request, META_VERSION, "a string"))?;
    let capabilities = meta(request, META_CAPABILITIES).filter(|it| it.as_object().is_some());
    let capabilities =
        capabilities.ok_or_else(|| missing(request, META_CAPABILITIES, "an object"))?;
    let said = headers::one(headers, &REVISION)?;
    if said != Some(version) && !is_quirk(said, request) {
        let why = format!("the field `{REVISION}` must say what `_meta` says");
        return Err(refuse(HEADER_MISMATCH, why));
    }
    if version != MODERN {
        return Err(unsupported(version).to(request.id.clone()));
    }
    if headers::one(headers, &METHOD)? != Some(request.method.as_str()) {
        let why = format!("the field `{METHOD}` must say the method of the body");
        return Err(refuse(HEADER_MISMATCH, why));
    }
    if let Some(name) = named(request) {
        let said = headers::one(headers, &NAME)?.map(plain);
        if said.flatten().as_deref() != Some(name) {
            let why = format!("the field `{NAME}` must say what the body is about");
            return Err(refuse(HEADER_MISMATCH, why));
        }
    }
    let client = meta(request, META_CLIENT).unwrap_or(&Json::Null);
    Ok(format!("{client}\n{capabilities}"))
}

/// A revision that is not spoken here, with those that are.
pub(super) fn unsupported(version: &str) -> Refusal {
    let shown = crate::clean::line(version, 32);
    let error = RpcError::new(
        UNSUPPORTED_VERSION,
        format!("revision `{shown}` is not spoken here"),
    );
    // As `server/discover` says it: who speaks an older revision begins with `initialize`.
    let data = Json::object([
        ("supported", Json::Array(vec![MODERN.into()])),
        ("requested", Json::String(shown)),
    ]);
    Refusal::with(StatusCode::BAD_REQUEST, error.with_data(data))
}

fn missing(request: &Request, key: &str, kind: &str) -> Refusal {
    let error = RpcError::new(INVALID_PARAMS, format!("`_meta` must hold `{key}`: {kind}"));
    Refusal::with(StatusCode::BAD_REQUEST, error).to(request.id.clone())
}

fn meta<'a>(request: &'a Request, key: &str) -> Option<&'a Json> {
    let params: &Object = request.params.as_ref()?;
    params.get("_meta")?.get(key)
}

/// Claude Code sends the revision of its last `initialize` in the field while the body is modern
/// (anthropics/claude-code#93290). The body is what counts.
fn is_quirk(said: Option<&str>, request: &Request) -> bool {
    let client = meta(request, META_CLIENT).and_then(|info| info.get("name")?.as_str());
    let ours = client.is_some_and(|name| name.starts_with("claude-code"));
    let quirk = ours && said.is_some_and(|name| Revision::from_name(name).is_some());
    if quirk {
        tracing::info!(
            quirk = "claude-code#93290",
            "the field of the revision is older than the body; the body counts"
        );
    }
    quirk
}

/// What a request is about, where a field must repeat it.
fn named(request: &Request) -> Option<&str> {
    let key = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        method if method.starts_with("tasks/") => "taskId",
        _ => return None,
    };
    request.params.as_ref()?.get(key)?.as_str()
}

/// The value of a field that may be encoded: `=?base64?…?=`.
fn plain(said: &str) -> Option<String> {
    let encoded = said
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    match encoded {
        None => Some(said.to_owned()),
        Some(text) => String::from_utf8(base64(text)?).ok(),
    }
}

/// Standard base64 with its padding (RFC 4648, section 4).
fn base64(text: &str) -> Option<Vec<u8>> {
    const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let body = text.trim_end_matches('=');
    if text.len() - body.len() > 2 {
        return None;
    }
    let (mut bits, mut count, mut bytes) = (0_u32, 0, Vec::new());
    for letter in body.bytes() {
        let value = LETTERS.iter().position(|known| *known == letter)?;
        bits = (bits << 6 | u32::try_from(value).ok()?) & 0xFF_FFFF;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 0xFF).ok()?);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        for (text, want) in [
            ("", Some("")),
            ("Zg==", Some("f")),
            ("Zm8=", Some("fo")),
            ("Zm9v", Some("foo")),
            ("w7ZsL2Rlw6k=", Some("öl/deé")),
            ("Zm9", None),
            ("Zg=a", None),
            ("Z===", None),
            ("Zm-v", None),
        ] {
            let got = base64(text).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(got.as_deref(), want, "{text}");
        }
        assert_eq!(plain("=?base64?Zm9v?=").as_deref(), Some("foo"));
        assert_eq!(plain("Zm9v").as_deref(), Some("Zm9v"));
    }
}
