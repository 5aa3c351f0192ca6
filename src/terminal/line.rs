//! Lines for a terminal: text with a tone. No line ever holds a control character, whatever it was
//! made from; colours are added by `Line::coloured` alone.

use std::fmt;

/// How a piece of a line is meant. Complete on purpose: every tone has its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Ordinary text.
    Plain,
    /// What it is about.
    Title,
    /// The name of a part.
    Label,
    /// What deserves attention.
    Warning,
    /// What is not permitted.
    Refused,
    /// What explains and can be skipped.
    Quiet,
    /// Stands for a character that a terminal would not show.
    Marked,
}

impl Tone {
    /// The parameters of its ANSI "select graphic rendition" sequence.
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Title => "1",
            Self::Label => "36",
            Self::Warning => "1;33",
            Self::Refused => "1;31",
            Self::Quiet => "2",
            Self::Marked => "7",
        }
    }

    /// The text in this tone's colour. Control characters of the text are replaced.
    #[must_use]
    pub fn coloured(self, text: &str) -> String {
        let text = harmless(text);
        match self.code() {
            "" => text,
            code => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        }
    }
}

/// One line for a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    spans: Vec<(Tone, String)>,
}

impl Line {
    /// A line of one tone. Control characters of the text are replaced.
    #[must_use]
    pub fn new(tone: Tone, text: &str) -> Self {
        let mut line = Self::default();
        line.push(tone, text);
        line
    }

    /// Adds a piece. Its control characters are replaced.
    pub fn push(&mut self, tone: Tone, text: &str) {
        let text = harmless(text);
        match self.spans.last_mut() {
            Some((last, so_far)) if *last == tone => so_far.push_str(&text),
            _ => self.spans.push((tone, text)),
        }
    }

    /// The line with colours for a terminal.
    #[must_use]
    pub fn coloured(&self) -> String {
        self.spans
            .iter()
            .map(|(tone, text)| tone.coloured(text))
            .collect()
    }
}

/// The line without colours.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.spans
            .iter()
            .try_for_each(|(_, text)| f.write_str(text))
    }
}

/// The last net: callers have marked what is invisible; what slipped through must not reach a
/// terminal as a command.
fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_control_character_enters_a_line() {
        let mut line = Line::new(Tone::Title, "a\u{1b}[2Jb\r\n");
        line.push(Tone::Plain, "c\u{9b}31m\u{7f}");
        assert_eq!(
            line.to_string(),
            "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}31m\u{fffd}"
        );
        let escapes = line.coloured().matches('\u{1b}').count();
        assert_eq!(escapes, 2, "only our own: one tone on and off");
    }
}
