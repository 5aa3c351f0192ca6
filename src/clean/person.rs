//! Untrusted text for a person who must see all of it before agreeing. Nothing is dropped: what
//! would not be seen is marked, what would push text out of view is folded and counted. Marks are
//! in `⟦…⟧`; such brackets in the text itself are marked too, so that no text can fake a mark.

use std::fmt::Write as _;

use super::class::{is_odd_blank, is_tag};
use super::scan::{Scan, Seen};
use super::word::look_alikes;

/// The longest text that is shown, in bytes.
const BYTES_MAX: usize = 64 * 1024;

/// The most lines that are shown.
const LINES_MAX: usize = 2_000;

/// Longer runs of blanks within a line are folded.
const BLANKS_MAX: usize = 8;

/// Deeper indentation is folded.
const INDENT_MAX: usize = 64;

/// More empty lines in a row are folded.
const EMPTY_MAX: usize = 2;

/// A text as a person is shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Shown {
    /// Lines of drawn characters.
    pub(crate) text: String,
    /// How many characters were marked or runs folded.
    pub(crate) marks: usize,
    /// Whether all of it is there. When not, agreeing is not offered.
    pub(crate) complete: bool,
}

/// The text for a person who must see all of it.
pub(crate) fn person(raw: &str) -> Shown {
    let odd = look_alikes(raw);
    let mut odd = odd.iter().peekable();
    let mut view = View::default();
    let mut scan = Scan::new(raw).enumerate().peekable();
    while let Some((at, seen)) = scan.next() {
        if view.is_full() {
            return view.cut(raw.chars().count() - at);
        }
        let look_alike = odd.next_if_eq(&&at).is_some();
        let line_end = scan
            .peek()
            .is_some_and(|(_, next)| *next == Seen::Plain('\n'));
        match seen {
            Seen::Plain('\n') => view.newline(),
            Seen::Break('\r') if line_end => {}
            Seen::Plain(c @ (' ' | '\t')) => view.blank(c),
            Seen::Plain(c) if !look_alike && !is_odd_blank(c) && !matches!(c, '⟦' | '⟧') => {
                view.drawn(c);
            }
            Seen::Plain(c) | Seen::Break(c) | Seen::Control(c) | Seen::Hidden(c) => view.undrawn(c),
        }
    }
    view.finish()
}

/// What has been written, and what waits to be: blanks, empty lines, undrawn characters.
#[derive(Default)]
struct View {
    out: String,
    marks: usize,
    lines: usize,
    in_line: bool,
    empty_lines: usize,
    blanks: String,
    undrawn: Option<(char, usize)>,
    tags: String,
}

impl View {
    fn is_full(&self) -> bool {
        self.out.len() + self.blanks.len() + self.tags.len() >= BYTES_MAX || self.lines >= LINES_MAX
    }

    fn newline(&mut self) {
        self.write_undrawn();
        if !self.in_line {
            self.blanks.clear();
            self.empty_lines += 1;
            return;
        }
        self.write_blanks();
        self.out.push('\n');
        self.lines += 1;
        self.in_line = false;
    }

    fn blank(&mut self, c: char) {
        self.write_undrawn();
        self.blanks.push(c);
    }

    fn drawn(&mut self, c: char) {
        self.write_undrawn();
        self.write_waiting();
        self.out.push(c);
    }

    /// Gathers runs: of tag characters, and of one character repeated.
    fn undrawn(&mut self, c: char) {
        self.marks += 1;
        if is_tag(c) {
            if self.tags.is_empty() {
                self.write_undrawn();
            }
            self.tags.push(c);
            return;
        }
        match &mut self.undrawn {
            Some((same, times)) if *same == c => *times += 1,
            _ => {
                self.write_undrawn();
                self.undrawn = Some((c, 1));
            }
        }
    }

    fn write_undrawn(&mut self) {
        if let Some((c, times)) = self.undrawn.take() {
            self.write_waiting();
            let code = u32::from(c);
            let _ = match times {
                1 => write!(self.out, "⟦U+{code:04X}⟧"),
                _ => write!(self.out, "⟦U+{code:04X} ×{times}⟧"),
            };
        }
        if !self.tags.is_empty() {
            self.write_waiting();
            let tags = std::mem::take(&mut self.tags);
            let count = tags.chars().count();
            let _ = write!(
                self.out,
                "⟦{count} hidden characters: \"{}\"⟧",
                untagged(&tags)
            );
        }
    }

    /// Writes the empty lines and blanks that wait in front of something seen.
    fn write_waiting(&mut self) {
        if self.empty_lines > EMPTY_MAX {
            let _ = writeln!(self.out, "⟦{} blank lines⟧", self.empty_lines);
            self.marks += 1;
            self.lines += 1;
        } else {
            self.out.extend(std::iter::repeat_n('\n', self.empty_lines));
            self.lines += self.empty_lines;
        }
        self.empty_lines = 0;
        self.write_blanks();
        self.in_line = true;
    }

    fn write_blanks(&mut self) {
        let most = if self.in_line { BLANKS_MAX } else { INDENT_MAX };
        let count = self.blanks.len();
        if count > most {
            let _ = write!(self.out, "⟦{count} blanks⟧");
            self.marks += 1;
        } else {
            self.out.push_str(&self.blanks);
        }
        self.blanks.clear();
    }

    fn finish(mut self) -> Shown {
        self.write_undrawn();
        if !self.blanks.is_empty() || self.empty_lines > 0 {
            self.write_waiting();
        }
        Shown {
            complete: self.out.len() <= 2 * BYTES_MAX,
            text: self.out,
            marks: self.marks,
        }
    }

    fn cut(self, left: usize) -> Shown {
        let mut shown = self.finish();
        let _ = write!(shown.text, "⟦cut here: {left} more characters⟧");
        shown.complete = false;
        shown
    }
}

/// What tag characters say.
fn untagged(tags: &str) -> String {
    tags.chars()
        .filter_map(|c| char::from_u32(u32::from(c) & 0x7f))
        .filter(|c| matches!(c, ' '..='~'))
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::super::text::tests::hostile;
    use super::*;

    #[test]
    fn all_is_seen() {
        for (raw, want, marks) in [
            ("a\n\n  b\tc\n", "a\n\n  b\tc\n", 0),
            ("ls          ; rm", "ls⟦10 blanks⟧; rm", 1),
            ("ls\n\n\n\n\n\nrm", "ls\n⟦5 blank lines⟧\nrm", 1),
            ("rm\recho\r\nx", "rm⟦U+000D⟧echo\nx", 1),
            ("\u{202e}a\u{3164}\u{3164}", "⟦U+202E⟧a⟦U+3164 ×2⟧", 3),
            ("\u{1b}[2K", "⟦U+001B⟧[2K", 1),
            (
                "ok\u{e0072}\u{e006d}.",
                "ok⟦2 hidden characters: \"rm\"⟧.",
                2,
            ),
            ("comm\u{430}nd", "comm⟦U+0430⟧nd", 1),
            ("⟦9 blanks⟧", "⟦U+27E6⟧9 blanks⟦U+27E7⟧", 2),
        ] {
            let got = person(raw);
            assert_eq!(
                (got.text.as_str(), got.marks, got.complete),
                (want, marks, true),
                "{raw:?}"
            );
        }
    }

    #[test]
    fn what_is_too_long_cannot_be_agreed_to() {
        for raw in ["x".repeat(BYTES_MAX + 1), "x\n".repeat(LINES_MAX + 1)] {
            let shown = person(&raw);
            assert!(!shown.complete && shown.text.ends_with("more characters⟧"));
        }
        assert!(person(&"x".repeat(1_000)).complete);
    }

    /// SH-08: the line that deletes is always there, whatever stands before it.
    #[test]
    fn sh_08_the_deleting_line_is_shown() {
        let calls = include_str!("../../tests/cases/SH-08.calls.jsonl");
        for call in calls.lines() {
            let call: Value = serde_json::from_str(call).unwrap();
            for (key, value) in call["arguments"].as_object().unwrap() {
                let value = value.as_str().unwrap();
                let shown = person(value);
                assert!(shown.complete);
                let mut words = value.split_whitespace().filter(|word| word.is_ascii());
                assert!(words.all(|word| shown.text.contains(word)), "{shown:?}");
                assert_eq!(person(key).marks > 0, !key.is_ascii());
            }
        }
    }

    proptest! {
        #[test]
        fn drawn_characters_only(raw in hostile()) {
            let shown = person(&raw);
            let unseen = |c: char| (c.is_control() && !matches!(c, '\n' | '\t')) || c == '\u{200b}';
            prop_assert!(!shown.text.contains(unseen));
            prop_assert_eq!(shown.text.matches('⟦').count(), shown.text.matches('⟧').count());
        }
    }
}
