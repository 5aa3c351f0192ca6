//! Hostile text made visible and wrapped: what a terminal would hide is marked, nothing is cut.
//! The producer of a question has cleaned it already; this holds even if it has not.

use crate::clean::{is_invisible, is_mark};

use super::line::{Line, Tone};

/// A run of this many blanks, or more, is shown as its length: blanks push text out of sight.
const BLANKS_MAX: usize = 16;
/// More blank lines than this are shown as their number.
const BLANK_LINES_MAX: usize = 2;
/// Combining marks beyond this many on one character are marked: they draw over other lines.
const COMBINING_MAX: usize = 2;

/// Wraps a text of several lines. Each of them begins with the first gutter and goes on with the
/// second, so that no text can pose as a line of ours.
pub(super) fn wrap(text: &str, width: usize, gutters: [&str; 2]) -> Vec<Line> {
    fold_blank_lines(text)
        .into_iter()
        .flat_map(|tokens| wrap_line(&tokens, room(width, gutters), gutters))
        .collect()
}

/// Wraps a text that is one line: its line breaks are marked, so that it cannot begin a second one.
pub(super) fn wrap_one(text: &str, width: usize, gutters: [&str; 2]) -> Vec<Line> {
    wrap_line(&tokens(text), room(width, gutters), gutters)
}

fn room(width: usize, [first, next]: [&str; 2]) -> usize {
    width
        .saturating_sub(columns(first).max(columns(next)))
        .max(MARK_MAX)
}

/// A text that nobody vouches for, wrapped to a width in columns: what a terminal would hide is
/// marked, nothing is cut, and no line holds a control character.
#[must_use]
pub fn wrap_untrusted(text: &str, width: usize) -> Vec<Line> {
    wrap(text, width, ["", ""])
}

impl Line {
    /// Adds a text that nobody vouches for: what a terminal would hide, line breaks too, is marked.
    pub fn push_untrusted(&mut self, tone: Tone, text: &str) {
        for token in tokens(text) {
            self.push(if token.marked { Tone::Marked } else { tone }, &token.text);
        }
    }

    /// Columns that the line takes at most.
    #[must_use]
    pub fn columns(&self) -> usize {
        columns(&self.to_string())
    }
}

/// The widest mark is `<U+10FFFF>`; a blank mark is shorter unless the run is absurd.
const MARK_MAX: usize = 24;

/// A character as it is shown, or the mark that stands for it.
struct Token {
    text: String,
    marked: bool,
}

impl Token {
    fn mark(text: String) -> Self {
        Self { text, marked: true }
    }
}

fn fold_blank_lines(text: &str) -> Vec<Vec<Token>> {
    let mut folded = Vec::new();
    let mut blank = 0;
    for line in text.split('\n') {
        if line.trim_matches(' ').is_empty() {
            blank += 1;
            continue;
        }
        push_blank_lines(&mut folded, blank);
        blank = 0;
        folded.push(tokens(line));
    }
    push_blank_lines(&mut folded, blank);
    folded
}

fn push_blank_lines(folded: &mut Vec<Vec<Token>>, blank: usize) {
    if blank > BLANK_LINES_MAX {
        folded.push(vec![Token::mark(format!("<{blank} blank lines>"))]);
    } else {
        folded.extend((0..blank).map(|_| Vec::new()));
    }
}

fn tokens(line: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut blanks = 0;
    let mut combining = 0;
    for c in line.chars() {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        push_blanks(&mut tokens, blanks);
        blanks = 0;
        combining = if is_mark(c) { combining + 1 } else { 0 };
        tokens.push(if hides(c) || combining > COMBINING_MAX {
            Token::mark(mark(c))
        } else {
            Token {
                text: c.to_string(),
                marked: false,
            }
        });
    }
    // At the end of a line blanks cannot be seen at all.
    match blanks {
        0 => {}
        1 => tokens.push(Token::mark("<blank>".to_owned())),
        _ => tokens.push(Token::mark(format!("<{blanks} blanks>"))),
    }
    tokens
}

fn push_blanks(tokens: &mut Vec<Token>, blanks: usize) {
    if blanks >= BLANKS_MAX {
        tokens.push(Token::mark(format!("<{blanks} blanks>")));
    } else {
        tokens.extend((0..blanks).map(|_| Token {
            text: " ".to_owned(),
            marked: false,
        }));
    }
}

fn mark(c: char) -> String {
    match c {
        '\t' => "<tab>".to_owned(),
        '\n' => "<line break>".to_owned(),
        '\r' => "<carriage return>".to_owned(),
        '\u{1b}' => "<escape>".to_owned(),
        _ => format!("<U+{:04X}>", u32::from(c)),
    }
}

/// Whether a terminal would not show this character as itself: what is invisible, and marks and
/// selectors without ink.
fn hides(c: char) -> bool {
    is_invisible(c)
        || matches!(
            c,
            '\u{34f}' | '\u{17b4}' | '\u{17b5}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}'
        )
}

/// Columns that a text takes at most. Guessing too many only wraps early; too few would let the
/// terminal wrap, and the rest of the text would start at the margin like a line of ours.
pub(super) fn columns(text: &str) -> usize {
    text.chars()
        .map(|c| match c {
            '\u{2500}'..='\u{257f}' | '\u{2010}'..='\u{2027}' => 1,
            _ if c < '\u{1100}' => 1,
            _ => 2,
        })
        .sum()
}

fn wrap_line(tokens: &[Token], room: usize, [first, next]: [&str; 2]) -> Vec<Line> {
    let mut lines = Vec::new();
    let mut rest = tokens;
    while lines.is_empty() || !rest.is_empty() {
        let (head, tail) = rest.split_at(break_at(rest, room));
        let gutter = if lines.is_empty() { first } else { next };
        let mut line = Line::new(Tone::Quiet, gutter);
        for token in head {
            let tone = if token.marked {
                Tone::Marked
            } else {
                Tone::Plain
            };
            line.push(tone, &token.text);
        }
        lines.push(line);
        rest = tail;
    }
    lines
}

/// How many tokens go on this line: all that fit, or up to the last blank of its second half.
fn break_at(tokens: &[Token], room: usize) -> usize {
    let mut used = 0;
    let mut after_blank = 0;
    for (at, token) in tokens.iter().enumerate() {
        used += columns(&token.text);
        if used > room {
            return if after_blank > 0 {
                after_blank
            } else {
                at.max(1)
            };
        }
        if token.text == " " && used > room / 2 {
            after_blank = at + 1;
        }
    }
    tokens.len()
}
