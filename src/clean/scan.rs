//! Reads a text once and says of each character what a reader would see of it. What `text` drops
//! and what `line` and `person` mark is decided here alone, so that they cannot disagree.

use std::str::Chars;

use super::class::{
    is_control, is_emoji, is_hidden, is_joiner, is_joining, is_mark, is_odd_break, is_selector,
};

/// How many combining marks one letter may carry.
const MARKS_MAX: u8 = 4;

/// One character and what a reader sees of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// Drawn as it is; also newline and tab.
    Plain(char),
    /// A line end other than newline.
    Break(char),
    /// A control character.
    Control(char),
    /// Not drawn, or out of place.
    Hidden(char),
}

/// The characters of a text, judged with their neighbours.
#[derive(Clone, Debug)]
pub(super) struct Scan<'a> {
    rest: Chars<'a>,
    previous: Option<char>,
    marks: u8,
}

impl<'a> Scan<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            rest: text.chars(),
            previous: None,
            marks: 0,
        }
    }

    fn plain(&mut self, c: char) -> Seen {
        self.previous = Some(c);
        Seen::Plain(c)
    }

    /// One text or emoji selector behind a character that has both forms.
    fn selector(&mut self, c: char) -> Seen {
        let base = |p: char| is_emoji(p) || matches!(p, '0'..='9' | '#' | '*');
        if matches!(c, '\u{fe0e}' | '\u{fe0f}') && self.previous.is_some_and(base) {
            return self.plain(c);
        }
        Seen::Hidden(c)
    }

    /// A joiner stays between emoji and between letters of a script that needs it. The next
    /// character must be one that stays itself, or a second reading would judge otherwise.
    fn joiner(&mut self, c: char) -> Seen {
        let (Some(before), Some(after)) = (self.previous, self.rest.clone().next()) else {
            return Seen::Hidden(c);
        };
        let emoji =
            c == '\u{200d}' && (is_emoji(before) || before == '\u{fe0f}') && is_emoji(after);
        let full = is_mark(after) && self.marks >= MARKS_MAX;
        if emoji || (is_joining(before) && is_joining(after) && !full) {
            return self.plain(c);
        }
        Seen::Hidden(c)
    }

    fn mark(&mut self, c: char) -> Seen {
        if self.marks >= MARKS_MAX {
            return Seen::Hidden(c);
        }
        self.marks += 1;
        self.plain(c)
    }
}

impl Iterator for Scan<'_> {
    type Item = Seen;

    fn next(&mut self) -> Option<Seen> {
        let c = self.rest.next()?;
        if matches!(c, ' '..='~' | '\n' | '\t') {
            self.marks = 0;
            return Some(self.plain(c));
        }
        let seen = match c {
            _ if is_odd_break(c) => {
                // `text` makes a newline of it.
                self.previous = Some('\n');
                self.marks = 0;
                Seen::Break(c)
            }
            _ if is_control(c) => Seen::Control(c),
            _ if is_hidden(c) => Seen::Hidden(c),
            _ if is_selector(c) => self.selector(c),
            _ if is_joiner(c) => self.joiner(c),
            _ if is_mark(c) => self.mark(c),
            _ => {
                self.marks = 0;
                self.plain(c)
            }
        };
        Some(seen)
    }
}
