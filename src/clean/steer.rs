//! The one list of characters that steer a terminal or hide in it, and texts in which they stand
//! written out. Every line that Creance prints or writes goes by this list.

use super::class::{is_hidden, is_joiner, is_odd_break, is_selector};

/// Whether a terminal or an editor would obey a character, break the line at it, turn the text
/// around, or show nothing for it. Line ends and tabs count, too.
#[must_use]
pub fn steers(c: char) -> bool {
    // Most text is plain ASCII.
    if matches!(c, ' '..='~') {
        return false;
    }
    c.is_control() || is_odd_break(c) || is_hidden(c) || is_joiner(c) || is_selector(c)
}

/// A text as one line for people: what [`steers`] stands as `\n`, `\t` or `\u{1b}`.
#[must_use]
pub fn visible(text: &str) -> String {
    written_out(text, |_| false)
}

/// The same for a text of several lines: its line ends and tabs stay.
#[must_use]
pub fn visible_lines(text: &str) -> String {
    written_out(text, |c| matches!(c, '\n' | '\t'))
}

fn written_out(text: &str, stays: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for c in text.chars() {
        if steers(c) && !stays(c) {
            shown.extend(c.escape_default());
        } else {
            shown.push(c);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each of the places that had a list of its own held back.
    #[test]
    fn every_steering_character_is_written_out() {
        let hidden = [
            '\u{0}'..='\u{1f}',
            '\u{7f}'..='\u{9f}',
            '\u{ad}'..='\u{ad}',
            '\u{61c}'..='\u{61c}',
            '\u{180e}'..='\u{180e}',
            '\u{200b}'..='\u{200f}',
            '\u{2028}'..='\u{202e}',
            '\u{2060}'..='\u{206f}',
            '\u{fe00}'..='\u{fe0f}',
            '\u{feff}'..='\u{feff}',
            '\u{fff9}'..='\u{fffb}',
            '\u{e0000}'..='\u{e0fff}',
        ];
        for c in hidden.into_iter().flatten() {
            assert!(steers(c), "{c:?}");
            assert!(visible(&c.to_string()).is_ascii());
        }
        for c in "aZ~ é漢🦅ß→…".chars() {
            assert!(!steers(c), "{c:?}");
        }
    }

    #[test]
    fn people_see_escapes() {
        let text = "a\n\t\u{1b}[2Kb\u{202e}\u{9b}é中";
        assert_eq!(visible(text), "a\\n\\t\\u{1b}[2Kb\\u{202e}\\u{9b}é中");
        assert_eq!(visible_lines(text), "a\n\t\\u{1b}[2Kb\\u{202e}\\u{9b}é中");
    }
}
