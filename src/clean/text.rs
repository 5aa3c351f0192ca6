//! Untrusted text for a model: what it reads is what a person would see, and no part of it can
//! pose as the words of somebody else.

use std::borrow::Cow;

use super::class::{is_control, is_hidden, is_joiner, is_mark, is_odd_break, is_selector};
use super::escape::strip;
use super::scan::{Scan, Seen};
use super::tag::neutralise;

/// Text as a model may read it: terminal sequences, controls, invisible, tag and direction
/// characters removed, odd line ends made newlines, look-alikes of wrapper tags replaced by words.
///
/// Cleaning a cleaned text changes nothing. Linear in the length of the text.
pub(crate) fn text(raw: &str) -> Cow<'_, str> {
    if is_plain(raw) {
        return neutralise(raw);
    }
    let drawn = drawn(&strip(raw));
    if drawn == raw {
        return neutralise(raw);
    }
    match neutralise(&drawn) {
        Cow::Borrowed(_) => Cow::Owned(drawn),
        Cow::Owned(changed) => Cow::Owned(changed),
    }
}

/// Whether nothing but tags could be wrong with the text.
fn is_plain(text: &str) -> bool {
    let odd_ascii = |b: &u8| (*b < b' ' && !matches!(*b, b'\n' | b'\t')) || *b == 0x7f;
    let (blocks, tail) = text.as_bytes().as_chunks::<64>();
    let odd = |block: &[u8]| {
        block
            .iter()
            .fold(false, |odd, b| odd | odd_ascii(b) | !b.is_ascii())
    };
    if !blocks.iter().any(|block| odd(block)) && !odd(tail) {
        return true;
    }
    !text.chars().any(needs_scan)
}

fn needs_scan(c: char) -> bool {
    match c {
        ' '..='~' | '\n' | '\t' => false,
        _ => {
            c == '\u{2800}'
                || is_odd_break(c)
                || is_control(c)
                || is_hidden(c)
                || is_selector(c)
                || is_joiner(c)
                || is_mark(c)
        }
    }
}

/// What a reader would see. `text` holds no terminal sequence.
fn drawn(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut after_return = false;
    for seen in Scan::new(text) {
        match seen {
            Seen::Plain('\n') if after_return => {}
            // A blank Braille cell is drawn as a space.
            Seen::Plain('\u{2800}') => out.push(' '),
            Seen::Plain(c) => out.push(c),
            Seen::Break(_) => out.push('\n'),
            Seen::Control(_) | Seen::Hidden(_) => {}
        }
        after_return = seen == Seen::Break('\r');
    }
    out
}

#[cfg(test)]
#[path = "text_tests.rs"]
pub(super) mod tests;
