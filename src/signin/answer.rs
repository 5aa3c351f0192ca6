//! What comes back from the sign-in page, read from the request line of a browser.

use super::query::{pairs, value};

/// What a request to the callback is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Somebody else's, or nobody's: the waiting goes on.
    Stray(u16, &'static str),
    /// The answer to this sign-in, but not from the sign-in server that was asked.
    Foreign,
    /// A no, with its short code.
    No(String),
    /// A code: the query as it came.
    Code(String),
}

/// What an answer has to be like.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    /// `/callback`
    pub(super) path: String,
    pub(super) state: String,
    pub(super) issuer: String,
    /// Whether it has to name the sign-in server.
    pub(super) named: bool,
}

/// Reads a request line, `GET /callback?code=… HTTP/1.1`.
pub(super) fn read(line: &str, expected: &Expected) -> Answer {
    let mut words = line.split(' ');
    let (Some(method), Some(target), Some(version), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Answer::Stray(400, "not a request");
    };
    if !version.starts_with("HTTP/1.") {
        return Answer::Stray(400, "not a request");
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    if path != expected.path {
        return Answer::Stray(404, "nothing is here");
    }
    if method != "GET" {
        return Answer::Stray(405, "a sign-in comes back with GET");
    }
    let Ok(pairs) = pairs(query) else {
        return Answer::Stray(400, "not an answer to a sign-in");
    };
    if !value(&pairs, "state").is_some_and(|state| same(state, &expected.state)) {
        return Answer::Stray(400, "not an answer to this sign-in");
    }
    // An error of another server is not shown either (RFC 9207, 2.4).
    match value(&pairs, "iss") {
        Some(issuer) if issuer != expected.issuer => return Answer::Foreign,
        None if expected.named => return Answer::Foreign,
        _ => {}
    }
    if let Some(error) = value(&pairs, "error") {
        return Answer::No(super::error::short_code(error).to_owned());
    }
    match value(&pairs, "code") {
        Some(code) if !code.is_empty() => Answer::Code(query.to_owned()),
        _ => Answer::No("no code".to_owned()),
    }
}

/// Compares without telling by its time how far two texts agree.
fn same(one: &str, other: &str) -> bool {
    let pairs = one.bytes().zip(other.bytes());
    one.len() == other.len() && pairs.fold(0, |differ, (a, b)| differ | (a ^ b)) == 0
}
