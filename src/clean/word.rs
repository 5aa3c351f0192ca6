//! Words that mix ASCII letters with letters that only look like them.

use super::fold::is_look_alike;

/// The look-alike letters of a text, by their place among its characters: those that stand in one
/// word with an ASCII letter. A word all in another script is just that.
pub(super) fn look_alikes(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    let mut word = Word::default();
    for (at, c) in text.chars().enumerate() {
        if c.is_alphanumeric() {
            word.latin |= c.is_ascii_alphabetic();
            if is_look_alike(c) {
                word.odd.push(at);
            }
            continue;
        }
        // What is not drawn does not part a word.
        if !c.is_ascii() && !c.is_whitespace() {
            continue;
        }
        word.end(&mut found);
    }
    word.end(&mut found);
    found
}

#[derive(Default)]
struct Word {
    latin: bool,
    odd: Vec<usize>,
}

impl Word {
    fn end(&mut self, found: &mut Vec<usize>) {
        if self.latin {
            found.append(&mut self.odd);
        }
        *self = Self::default();
    }
}
