//! Finds secrets in free text by looking at every character; slow and plain.

use super::name::is_secret_key;
use crate::clean::assign::{is_assigned, value};
use crate::clean::find::{Depth, Span, hashed, masked, scheme, url_password};
use crate::clean::shape::{SHAPES, card, decoded, private_key, web_token};

pub(in crate::clean) fn find(text: &str, depth: Depth) -> Vec<Span> {
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

/// The secret at the start of `text`: its kind and its length in bytes.
fn issued(text: &str) -> Option<(&'static str, usize)> {
    let bytes = text.as_bytes();
    let first = bytes.first()?;
    let shape = SHAPES
        .iter()
        .filter(|s| s.prefix.as_bytes().first() == Some(first));
    shape
        .filter_map(|shape| {
            let tail = bytes.strip_prefix(shape.prefix.as_bytes())?;
            let most = shape.max.saturating_add(1);
            let run = tail
                .iter()
                .take(most)
                .take_while(|b| (shape.set)(**b))
                .count();
            let fits = (shape.min..=shape.max).contains(&run);
            fits.then_some((shape.kind, shape.prefix.len() + run))
        })
        .next()
        .or_else(|| web_token(text))
}
