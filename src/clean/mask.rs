//! Secrets in free text, masked as `[secret:kind:hash]`.
//!
//! The hash is the first eight digits of a SHA-256 over the secret, so that the same key can be
//! followed through a log. Only keys that an issuer made at random get one: nobody can guess
//! those. Passwords, card numbers and what else could be found by trying get a mask without a
//! hash, because a hash of something guessable gives it away.

use std::borrow::Cow;

use super::name::is_secret_key;
use super::shape::{card, decoded, issued, private_key};
use crate::digest::Digest;

/// One secret in a text.
#[derive(Clone, Debug)]
struct Span {
    start: usize,
    end: usize,
    mask: String,
}

/// Free text with every known secret masked. Hashes, UUIDs and words stay. Masking twice is
/// masking once.
pub(crate) fn mask(text: &str) -> Cow<'_, str> {
    let mut spans = find(text, Depth::Outer);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans {
        // One that overlaps an earlier one only hides more.
        if span.start >= done {
            out.push_str(text.get(done..span.start).unwrap_or_default());
            out.push_str(&span.mask);
        }
        done = done.max(span.end);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// Whether free text holds a secret.
pub(super) fn holds_secret(text: &str) -> bool {
    !find(text, Depth::Outer).is_empty()
}

/// Base64 is opened once, not within itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Outer,
    Inner,
}

fn hashed(kind: &str, secret: &str) -> String {
    let digest = Digest::of_fields("masked-secret/1", [secret]).to_string();
    format!("[secret:{kind}:{}]", digest.get(..8).unwrap_or_default())
}

fn find(text: &str, depth: Depth) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut before = ' ';
    let mut at = 0;
    while let Some(here) = text.get(at..).filter(|here| !here.is_empty()) {
        let mut chars = here.chars();
        let c = chars.next().unwrap_or(' ');
        let start = !before.is_ascii_alphanumeric();
        let found = match c {
            '[' => masked(here).map(|len| at + len),
            ':' => url_password(text, at, &mut spans),
            '-' if start => secret_at(here, at, (depth, before), &mut spans),
            c if start && c.is_ascii_alphanumeric() => {
                secret_at(here, at, (depth, before), &mut spans)
                    .or_else(|| assigned(text, at, before, &mut spans))
            }
            '+' | '/' | '_' if start => base64(here, at, (depth, before), &mut spans),
            _ => None,
        };
        match found {
            Some(end) if end > at => {
                at = end;
                before = ' ';
            }
            _ => {
                at += c.len_utf8();
                before = c;
            }
        }
    }
    spans
}

/// The length of a mask that stands here already.
fn masked(here: &str) -> Option<usize> {
    let inside = here.strip_prefix("[secret:")?;
    let len = inside.bytes().take(60).position(|b| b == b']')?;
    let inside = inside.get(..len)?;
    let (kind, tail) = inside.split_once(':').unwrap_or((inside, ""));
    let hash = tail.len() == 8 && tail.bytes().all(|b| b.is_ascii_hexdigit());
    let size = tail
        .strip_suffix(" characters")
        .is_some_and(|n| n.len() <= 8 && n.parse::<u32>().is_ok());
    let known = kind
        .bytes()
        .all(|b| b.is_ascii_lowercase() || matches!(b, b'-' | b'0'..=b'9'));
    (known && kind.len() <= 20 && (tail.is_empty() || hash || size))
        .then_some("[secret:]".len() + inside.len())
}

/// A secret that starts here, by its shape; the end of it.
fn secret_at(
    here: &str,
    at: usize,
    context: (Depth, char),
    spans: &mut Vec<Span>,
) -> Option<usize> {
    let mut put = |len: usize, mask: String| {
        spans.push(Span {
            start: at,
            end: at + len,
            mask,
        });
        Some(at + len)
    };
    if let Some(len) = private_key(here) {
        return put(len, hashed("private-key", here.get(..len)?));
    }
    if let Some((kind, len)) = issued(here) {
        return put(len, hashed(kind, here.get(..len)?));
    }
    if let Some(len) = card(here) {
        return put(len, "[secret:card]".to_owned());
    }
    if let Some((skip, len)) = scheme(here) {
        let (start, end) = (at + skip, at + skip + len);
        spans.push(Span {
            start,
            end,
            mask: "[secret:authorization]".to_owned(),
        });
        return Some(end);
    }
    base64(here, at, context, spans)
}

/// `Bearer …` and `Basic …` with something that is no word: where it starts and how long it is.
fn scheme(here: &str) -> Option<(usize, usize)> {
    let word = ["bearer ", "basic "].into_iter().find(|word| {
        here.get(..word.len())
            .is_some_and(|head| head.eq_ignore_ascii_case(word))
    })?;
    let tail = here.get(word.len()..)?;
    let value = tail.trim_start_matches(' ');
    let len = value
        .bytes()
        .take_while(|b| b.is_ascii_alphanumeric() || b"-._~+/=".contains(b))
        .count();
    let value_text = value.get(..len)?;
    let random = value_text.bytes().any(|b| b.is_ascii_digit()) || len >= 20;
    (len >= 6 && random).then_some((here.len() - value.len(), len))
}

/// Base64 of a text that holds a secret.
fn base64(
    here: &str,
    at: usize,
    (depth, before): (Depth, char),
    spans: &mut Vec<Span>,
) -> Option<usize> {
    if depth == Depth::Inner {
        return None;
    }
    let run = |text: &str, most: usize| {
        text.bytes()
            .take(most)
            .take_while(|b| b.is_ascii_alphanumeric() || b"+/-_=".contains(b))
            .count()
    };
    // Within a run of the alphabet (`…/QUtJ…`) only short ones, or a hostile run would be read once
    // from each of its parts.
    let within = matches!(before, '+' | '/' | '-' | '_');
    let mut len = run(here, if within { 257 } else { usize::MAX });
    if len < 20 || (within && len > 256) {
        return None;
    }
    let mut plain = here.get(..len)?.to_owned();
    // Base64 is often broken into lines.
    while let Some(tail) = here.get(len..) {
        let next = tail.trim_start_matches(['\r', '\n']);
        let more = run(next, usize::MAX);
        if next.len() == tail.len() || more < 16 {
            break;
        }
        plain.push_str(next.get(..more)?);
        len += tail.len() - next.len() + more;
    }
    let inner = decoded(&plain)?;
    let span = find(&inner, Depth::Inner).into_iter().next()?;
    let secret = inner.get(span.start..span.end).unwrap_or_default();
    let mask = match issued(secret) {
        Some((kind, _)) => hashed(kind, secret),
        None => span.mask,
    };
    spans.push(Span {
        start: at,
        end: at + len,
        mask,
    });
    Some(at + len)
}

/// How far a URL's authority is looked at.
const AUTHORITY_MAX: usize = 1024;

/// The password in `scheme://user:password@host`; `at` is at the colon.
fn url_password(text: &str, at: usize, spans: &mut Vec<Span>) -> Option<usize> {
    let behind = text.get(at..)?.strip_prefix("://")?;
    let head = text.get(..at)?;
    let web = ["http", "https", "ws", "wss", "ftp"]
        .iter()
        .any(|scheme| head.ends_with(scheme));
    let ends = |c: char| c.is_whitespace() || "\"'<>`".contains(c) || (web && "/?#\\".contains(c));
    let end = behind
        .char_indices()
        .find(|(at, c)| *at > AUTHORITY_MAX || ends(*c))
        .map_or(behind.len(), |(at, _)| at);
    let user_info = behind.get(..end)?.rsplit_once('@')?.0;
    let start = at + "://".len();
    let end = start + user_info.len();
    let secret_from = match user_info.split_once(':') {
        Some((user, _)) => start + user.len() + 1,
        // A token in place of the user's name.
        None if user_info.len() >= 16 && user_info.contains(|c: char| c.is_ascii_digit()) => start,
        None => return None,
    };
    let secret = text.get(secret_from..end)?;
    if !secret.is_empty() && masked(secret) != Some(secret.len()) {
        spans.push(Span {
            start: secret_from,
            end,
            mask: "[secret:url-password]".to_owned(),
        });
    }
    Some(end)
}

/// A value behind a secret name: `password=…`, `"apiKey": "…"`, `Authorization: …`, `--token …`.
fn assigned(text: &str, at: usize, before: char, spans: &mut Vec<Span>) -> Option<usize> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    // The whole name, once: from its start only.
    if is_name(before) && before != '-' {
        return None;
    }
    let here = text.get(at..)?;
    let name = here
        .bytes()
        .take(64)
        .take_while(|b| is_name(char::from(*b)));
    let (name, behind) = here.split_at_checked(name.count())?;
    // What follows is looked at first: most words of a text are no names, and weighing one costs more.
    if !(before == '-' || is_assigned(behind)) || !is_secret_key(name) {
        return None;
    }
    let (value, len) = value(name, behind, before)?;
    let start = text.len() - value.len();
    let secret = value.get(..len).unwrap_or_default();
    let whole = issued(secret).is_some_and(|(_, known)| known == len);
    if len == 0 || whole || masked(secret) == Some(len) {
        return None;
    }
    spans.push(Span {
        start,
        end: start + len,
        mask: "[secret:named]".to_owned(),
    });
    Some(start + len)
}

/// Whether what stands behind a name gives it a value.
fn is_assigned(behind: &str) -> bool {
    unquoted(behind)
        .trim_start_matches(' ')
        .starts_with([':', '='])
}

/// What stands behind the quotes that close a name.
fn unquoted(behind: &str) -> &str {
    behind.trim_start_matches(['\\', '"', '\'', ']'])
}

/// How much of a value without quotes is looked at to tell whether it is one.
const LOOK_MAX: usize = 4096;

/// The text from the value on, and the value's length.
fn value<'a>(name: &str, behind: &'a str, before: char) -> Option<(&'a str, usize)> {
    let closed = unquoted(behind);
    let spaced = closed.trim_start_matches(' ');
    let Some(tail) = spaced.strip_prefix([':', '=']) else {
        // `--password hunter2`.
        let flag = before == '-' && closed.len() == behind.len() && spaced.len() < closed.len();
        return (flag && !spaced.starts_with('-')).then_some((spaced, word(spaced)));
    };
    let tail = tail.trim_start_matches(['=', '>']);
    let start = tail.trim_start_matches([' ', '\t']);
    let value = start.trim_start_matches('\\');
    if let Some(quote @ ('"' | '\'' | '`')) = value.chars().next() {
        let inside = value.get(1..)?;
        return Some((inside, quoted(inside, quote)));
    }
    let colon = spaced.starts_with(':');
    let header = colon
        && (name.contains('-')
            || ["authorization", "cookie"].contains(&name.to_ascii_lowercase().as_str()));
    if header {
        let len = start
            .find(['\n', '\r', '"', '\'', '\\'])
            .unwrap_or(start.len());
        return Some((start, len));
    }
    if start.starts_with(['$', '<', '{', '%', '(']) {
        return None;
    }
    let tight = !colon && spaced.len() == closed.len() && start.len() == tail.len();
    if tight {
        return Some((start, word(start)));
    }
    // Looks at a bounded part, or hostile runs of names would each be read to the end.
    let len = start
        .bytes()
        .take(LOOK_MAX)
        .take_while(|b| !ends_word(char::from(*b)))
        .count();
    let seen = start.as_bytes().get(..len)?;
    let random = len >= 6 && seen.iter().any(u8::is_ascii_digit) && !seen.contains(&b'(');
    (random || len == LOOK_MAX).then(|| (start, word(start)))
}

fn word(text: &str) -> usize {
    text.find(ends_word).unwrap_or(text.len())
}

fn ends_word(c: char) -> bool {
    c.is_ascii_whitespace() || "&\"'`;,".contains(c)
}

/// Up to the closing quote; a backslash keeps a quote from closing, unless it was opened so.
fn quoted(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '\n' => return at,
            c if c == quote && !escaped => return at,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    inside.len()
}

#[cfg(test)]
#[path = "mask_tests.rs"]
mod tests;
