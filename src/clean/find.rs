//! Finds secrets in free text. Most of a text is passed over: a secret begins with a word, a dash, a
//! slash or a colon, and most words are too short to be a key and have no value behind them. What a
//! secret looks like stands in `shape`, `name` and `assign`.

use std::borrow::Cow;

use super::assign::{is_assigned, value};
use super::name::is_secret_key;
use super::shape::{KEY_MIN, card, decoded, is_text, is_too_short, issued, private_key};
use crate::digest::Digest;

/// One secret in a text.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) mask: String,
}

/// Base64 is opened once, not within itself.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    Outer,
    Inner,
}

/// Every secret of a text.
pub(super) fn find(text: &str, depth: Depth) -> Vec<Span> {
    if is_too_short(text) {
        return Vec::new();
    }
    find_long(text, depth)
}

/// The same for a text that is not passed over by its length.
pub(super) fn find_long(text: &str, depth: Depth) -> Vec<Span> {
    let mut finder = Finder::new(text, depth);
    while finder.step() {}
    finder.spans
}

/// Whether free text holds a secret.
pub(super) fn holds_secret(text: &str) -> bool {
    first(text, Depth::Outer).is_some()
}

/// The secret that is found first.
fn first(text: &str, depth: Depth) -> Option<Span> {
    if is_too_short(text) {
        return None;
    }
    let mut finder = Finder::new(text, depth);
    while finder.spans.is_empty() && finder.step() {}
    finder.spans.into_iter().next()
}

/// A letter or digit of ASCII.
const ALNUM: u8 = 1;
/// Part of a name: ALNUM, `-`, `_`.
const NAME: u8 = 2;
/// Part of a key that an issuer made, or of base64.
const KEY: u8 = 4;
/// Part of base64 in either alphabet, without the padding.
const BASE64: u8 = 8;
/// No letter, and a secret may begin with it.
const OPENS: u8 = 16;
/// May stand between a name and its value.
const BEHIND: u8 = 32;
/// Fills base64 up.
const PAD: u8 = 64;

const fn kind_of(b: u8) -> u8 {
    match b {
        b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => ALNUM | NAME | KEY | BASE64,
        b'-' | b'_' => NAME | KEY | BASE64 | OPENS,
        b'+' | b'/' => KEY | BASE64 | OPENS,
        b'=' => KEY | BEHIND | PAD,
        b'.' => KEY,
        b':' => OPENS | BEHIND,
        b'[' => OPENS,
        b' ' | b'"' | b'\'' | b'\\' | b']' => BEHIND,
        _ => 0,
    }
}

#[expect(
    clippy::indexing_slicing,
    reason = "runs when it is compiled: a panic is an error there"
)]
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut b = 0_u8;
    loop {
        kinds[b as usize] = kind_of(b);
        if b == u8::MAX {
            break kinds;
        }
        b += 1;
    }
};

fn kind(b: u8) -> u8 {
    KINDS.get(usize::from(b)).copied().unwrap_or_default()
}

/// The length of the run of such bytes at the start, `most` at most.
fn run(bytes: &[u8], of: u8, most: usize) -> usize {
    let bytes = bytes.get(..most).unwrap_or(bytes);
    let end = bytes.iter().position(|b| kind(*b) & of == 0);
    end.unwrap_or(bytes.len())
}

/// How much of a word is looked at at once: the longest name.
const WORD_MAX: usize = 64;

/// Reads a text once.
struct Finder<'a> {
    text: &'a str,
    at: usize,
    /// The byte before, or a blank behind a secret.
    before: u8,
    depth: Depth,
    /// How much base64 that goes over several lines may still be opened.
    lines_left: usize,
    spans: Vec<Span>,
}

impl<'a> Finder<'a> {
    fn new(text: &'a str, depth: Depth) -> Self {
        Self {
            text,
            at: 0,
            before: b' ',
            depth,
            lines_left: LINES_FREE + text.len().saturating_mul(LINES_FACTOR),
            spans: Vec::new(),
        }
    }

    /// Goes on to the next place at which something may begin, and takes it; whether there was one.
    fn step(&mut self) -> bool {
        let rest = self.text.as_bytes().get(self.at..).unwrap_or_default();
        let Some(skip) = rest.iter().position(|b| kind(*b) & (ALNUM | OPENS) != 0) else {
            return false;
        };
        self.pass(skip);
        // Only ASCII was looked for: this is the start of a character.
        let here = self.text.get(self.at..).unwrap_or_default();
        let Some(&b) = here.as_bytes().first() else {
            return false;
        };
        let start = !self.before.is_ascii_alphanumeric();
        let mut len = 1;
        let found = match b {
            b'[' => masked(here).map(|len| self.at + len),
            b':' => url_password(self.text, self.at, &mut self.spans),
            b'-' if start => self.secret_at(here),
            b'+' | b'/' | b'_' if start => self.base64(here),
            b if kind(b) & ALNUM != 0 => {
                len = run(here.as_bytes(), ALNUM, WORD_MAX);
                if start { self.word(here, len) } else { None }
            }
            _ => None,
        };
        match found {
            Some(end) if end > self.at => {
                self.at = end;
                self.before = b' ';
            }
            _ => self.pass(len),
        }
        true
    }

    /// Leaves so many bytes behind.
    fn pass(&mut self, len: usize) {
        let last = (self.at + len).checked_sub(1);
        let last = last.and_then(|last| self.text.as_bytes().get(last));
        if len > 0 {
            self.before = last.copied().unwrap_or(b' ');
        }
        self.at += len;
    }

    /// What begins with a word whose letters and digits are so many.
    fn word(&mut self, here: &str, len: usize) -> Option<usize> {
        let behind = here.as_bytes().get(len).map_or(0, |b| kind(*b));
        let first = here.as_bytes().first().copied().unwrap_or_default();
        // Most words: nothing goes on behind them that would make them long enough for a key.
        let short = len < KEY_MIN && behind & KEY == 0;
        let odd = first.is_ascii_digit() || matches!(first, b'b' | b'B');
        if short && !odd {
            let valued = behind & BEHIND != 0 || self.before == b'-';
            return if valued { self.assigned(here) } else { None };
        }
        self.secret_at(here).or_else(|| self.assigned(here))
    }

    fn put(&mut self, len: usize, mask: String) -> Option<usize> {
        let (start, end) = (self.at, self.at + len);
        self.spans.push(Span { start, end, mask });
        Some(end)
    }

    /// A secret that starts here, by its shape; the end of it.
    fn secret_at(&mut self, here: &str) -> Option<usize> {
        let first = here.as_bytes().first()?;
        if *first == b'-'
            && let Some(len) = private_key(here)
        {
            return self.put(len, hashed("private-key", here.get(..len)?));
        }
        if let Some((kind, len)) = issued(here) {
            return self.put(len, hashed(kind, here.get(..len)?));
        }
        if first.is_ascii_digit()
            && let Some(len) = card(here)
        {
            return self.put(len, "[secret:card]".to_owned());
        }
        if matches!(first, b'b' | b'B')
            && let Some((skip, len)) = scheme(here)
        {
            let (start, end) = (self.at + skip, self.at + skip + len);
            let mask = "[secret:authorization]".to_owned();
            self.spans.push(Span { start, end, mask });
            return Some(end);
        }
        self.base64(here)
    }

    /// Base64 of a text that holds a secret.
    fn base64(&mut self, here: &str) -> Option<usize> {
        let bytes = here.as_bytes();
        if self.depth == Depth::Inner || run(bytes, BASE64 | PAD, BASE64_MIN) < BASE64_MIN {
            return None;
        }
        // Within a run of the alphabet (`…/QUtJ…`) only short ones, or a hostile run would be read
        // once from each of its parts.
        let within = matches!(self.before, b'+' | b'/' | b'-' | b'_');
        let len = padded(bytes, if within { WITHIN_MAX } else { usize::MAX })?;
        let line = here.get(..len)?;
        if !is_text(line) {
            return None;
        }
        let (plain, len) = self.lines(here, line)?;
        let inner = decoded(&plain)?;
        let span = first(&inner, Depth::Inner)?;
        let secret = inner.get(span.start..span.end).unwrap_or_default();
        let mask = match issued(secret) {
            Some((kind, _)) => hashed(kind, secret),
            None => span.mask,
        };
        self.put(len, mask)
    }

    /// Base64 is often broken into lines: all of them that belong to the first one, joined, and how
    /// far they reach.
    fn lines<'t>(&mut self, here: &'t str, line: &'t str) -> Option<(Cow<'t, str>, usize)> {
        let mut plain = Cow::Borrowed(line);
        let mut len = line.len();
        while let Some(tail) = here.get(len..).filter(|_| len <= self.lines_left) {
            let next = tail.trim_start_matches(['\r', '\n']);
            let more = run(next.as_bytes(), BASE64 | PAD, usize::MAX);
            if next.len() == tail.len() || more < 16 {
                break;
            }
            plain.to_mut().push_str(next.get(..more)?);
            len += tail.len() - next.len() + more;
        }
        if plain.len() > line.len() {
            self.lines_left = self.lines_left.saturating_sub(len);
        }
        Some((plain, len))
    }

    /// A value behind a secret name: `password=…`, `"apiKey": "…"`, `Authorization: …`, `--token …`.
    fn assigned(&mut self, here: &str) -> Option<usize> {
        // The whole name, once: from its start only.
        if self.before == b'_' {
            return None;
        }
        let name = run(here.as_bytes(), NAME, WORD_MAX);
        let (name, behind) = here.split_at_checked(name)?;
        // What follows is looked at first: most words of a text are no names, and weighing one costs
        // more.
        if !(self.before == b'-' || is_assigned(behind)) || !is_secret_key(name) {
            return None;
        }
        let (value, len) = value(name, behind, char::from(self.before))?;
        let start = self.text.len() - value.len();
        let secret = value.get(..len).unwrap_or_default();
        let whole = issued(secret).is_some_and(|(_, known)| known == len);
        if len == 0 || whole || masked(secret) == Some(len) {
            return None;
        }
        let (end, mask) = (start + len, "[secret:named]".to_owned());
        self.spans.push(Span { start, end, mask });
        Some(end)
    }
}

/// The length of the base64 at the start with its padding; `None` where it cannot be decoded, as
/// padding stands in the middle, or where it is longer than `most`.
fn padded(bytes: &[u8], most: usize) -> Option<usize> {
    let body = run(bytes, BASE64, most.saturating_add(1));
    let tail = bytes.get(body..)?;
    let pad = run(tail, PAD, most.saturating_add(1));
    let whole = tail.get(pad).is_none_or(|b| kind(*b) & BASE64 == 0);
    (whole && body + pad <= most).then_some(body + pad)
}

/// The shortest base64 that is opened.
const BASE64_MIN: usize = 20;
/// The longest that is opened within a longer run of its alphabet.
const WITHIN_MAX: usize = 256;
/// Base64 in lines is read again from each of its lines; in all so much of it, and so many times the
/// text, or a hostile text of such lines would take for ever.
const LINES_FREE: usize = 64 * 1024;
const LINES_FACTOR: usize = 16;

/// The length of a mask that stands here already.
pub(super) fn masked(here: &str) -> Option<usize> {
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

/// `Bearer …` and `Basic …` with something that is no word: where it starts and how long it is.
pub(super) fn scheme(here: &str) -> Option<(usize, usize)> {
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

/// How far a URL's authority is looked at.
const AUTHORITY_MAX: usize = 1024;

/// The password in `scheme://user:password@host`; `at` is at the colon.
pub(super) fn url_password(text: &str, at: usize, spans: &mut Vec<Span>) -> Option<usize> {
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
    if masked(user_info) == Some(user_info.len()) {
        // A token that was masked before: its colon parts no user from a password.
        return Some(end);
    }
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

/// A mask with the hash of what it hides.
pub(super) fn hashed(kind: &str, secret: &str) -> String {
    let digest = Digest::of_fields("masked-secret/1", [secret]).to_string();
    format!("[secret:{kind}:{}]", digest.get(..8).unwrap_or_default())
}
