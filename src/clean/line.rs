//! Untrusted text as one line: a field of a question, a log line, an error. It cannot fake another
//! line, move the cursor, or hide a character.

use std::fmt::Write as _;

use super::class::is_odd_blank;
use super::scan::{Scan, Seen};
use super::word::look_alikes;

/// One line of at most `max_chars` characters, and what is said about a cut behind them.
///
/// Controls, undrawn characters, odd blanks, and look-alike letters within ASCII words are shown
/// as `\u{…}`, line ends as `\n`; a run of blanks is one blank. Blanks at the ends stay, as one: a
/// name with a blank behind it is not the name without.
pub(crate) fn line(raw: &str, max_chars: usize) -> String {
    let odd = look_alikes(raw);
    let mut odd = odd.iter().peekable();
    let mut out = String::new();
    let mut width = 0;
    let mut piece = String::new();
    for (at, seen) in Scan::new(raw).enumerate() {
        let look_alike = odd.next_if_eq(&&at).is_some();
        piece.clear();
        let _ = match seen {
            Seen::Plain('\n') => piece.write_str("\\n"),
            Seen::Break('\r') => piece.write_str("\\r"),
            Seen::Plain(' ' | '\t') if out.ends_with(' ') => Ok(()),
            Seen::Plain(' ' | '\t') => piece.write_char(' '),
            Seen::Plain(c) if !look_alike && !is_odd_blank(c) => piece.write_char(c),
            Seen::Plain(c) | Seen::Break(c) | Seen::Control(c) | Seen::Hidden(c) => {
                write!(piece, "\\u{{{:x}}}", u32::from(c))
            }
        };
        width += piece.chars().count();
        if width > max_chars {
            let left = raw.chars().count() - at;
            let _ = write!(out, "… (+{left} characters)");
            return out;
        }
        out.push_str(&piece);
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::text::tests::hostile;
    use super::*;

    #[test]
    fn one_line_and_nothing_hidden() {
        for (raw, want) in [
            ("plain", "plain"),
            ("a  \t b", "a b"),
            ("command ", "command "),
            ("a\nb\r\nc", "a\\nb\\r\\nc"),
            ("a\u{1b}[2Kb\u{0}", "a\\u{1b}[2Kb\\u{0}"),
            ("a\u{202e}b\u{200b}", "a\\u{202e}b\\u{200b}"),
            ("comm\u{430}nd", "comm\\u{430}nd"),
            ("команда", "команда"),
            ("a\u{a0}b", "a\\u{a0}b"),
            ("12345678901", "1234567890… (+1 characters)"),
            ("123456789\nx", "123456789… (+2 characters)"),
        ] {
            let max = if want.contains('…') { 10 } else { 100 };
            assert_eq!(line(raw, max), want);
        }
    }

    proptest! {
        #[test]
        fn never_a_second_line(raw in hostile(), max in 0_usize..80) {
            let line = line(&raw, max);
            let second = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{202e}');
            prop_assert!(!line.contains(second));
            prop_assert!(line.chars().count() <= max + 40);
        }
    }
}
