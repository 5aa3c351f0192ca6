//! Fields of a request that decide something: each at most once, and readable.

use hyper::HeaderMap;
use hyper::header::{ACCEPT, CONTENT_ENCODING, CONTENT_TYPE, HeaderName};

use super::reply::Refusal;

/// The session of a legacy client.
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
/// The revision that is spoken.
pub(super) const REVISION: HeaderName = HeaderName::from_static("mcp-protocol-version");
/// The method, said beside the body by modern clients.
pub(super) const METHOD: HeaderName = HeaderName::from_static("mcp-method");
/// What the method is about.
pub(super) const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// Where a stream is taken up again.
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");

/// The value of a field that may stand once: two readers could go by different ones.
///
/// # Errors
/// It stands twice, or is no text.
pub(super) fn one<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
) -> Result<Option<&'a str>, Refusal> {
    let mut all = headers.get_all(name).iter();
    let Some(value) = all.next() else {
        return Ok(None);
    };
    if all.next().is_some() {
        return Err(Refusal::bad(format!(
            "the field `{name}` stands there twice"
        )));
    }
    let text = value.to_str();
    let text = text.map_err(|_| Refusal::bad(format!("the field `{name}` is no plain text")))?;
    Ok(Some(text.trim()))
}

/// The body is JSON, as it is. A form that a page may send to strangers is not.
///
/// # Errors
/// It says that it is something else.
pub(super) fn is_json(headers: &HeaderMap) -> Result<(), Refusal> {
    let wrong = || Refusal::media("the body must be `Content-Type: application/json`, not encoded");
    if headers.contains_key(CONTENT_ENCODING) {
        return Err(wrong());
    }
    let kind = one(headers, &CONTENT_TYPE)?.unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if essence.eq_ignore_ascii_case("application/json") {
        return Ok(());
    }
    Err(wrong())
}

/// The client takes each of these.
///
/// # Errors
/// It does not.
pub(super) fn accepts(headers: &HeaderMap, kinds: &[&str]) -> Result<(), Refusal> {
    let values = headers.get_all(ACCEPT).iter();
    let ranges: Vec<String> = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|range| range.split(';').next())
        .map(|range| range.trim().to_ascii_lowercase())
        .collect();
    let taken = |kind: &str| {
        let family = kind.split('/').next().unwrap_or_default();
        let fits = |range: &String| {
            range == "*/*" || range == kind || range.strip_suffix("/*") == Some(family)
        };
        ranges.iter().any(fits)
    };
    if kinds.iter().all(|kind| taken(kind)) {
        return Ok(());
    }
    Err(Refusal::not_acceptable(format!(
        "`Accept` must list {}",
        kinds.join(" and ")
    )))
}
