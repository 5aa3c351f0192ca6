//! Keys to lines: the few keys that a question needs. What is echoed is what was understood.

/// The line so far.
#[derive(Debug, Default)]
pub(super) struct Editor {
    line: String,
}

/// What a key led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Nothing to do.
    Ignored,
    /// This is to be echoed.
    Echo(String),
    /// The line is done.
    Line(String),
    /// Ctrl-C or Ctrl-D.
    Quit,
}

/// No answer is longer.
const LINE_MAX: usize = 32;

impl Editor {
    /// Takes one byte of input.
    pub(super) fn key(&mut self, byte: u8) -> Key {
        match byte {
            0x03 | 0x04 => Key::Quit,
            b'\r' | b'\n' => Key::Line(std::mem::take(&mut self.line)),
            0x08 | 0x7f => match self.line.pop() {
                Some(_) => Key::Echo("\u{8} \u{8}".to_owned()),
                None => Key::Ignored,
            },
            b' '..=b'~' if self.line.len() < LINE_MAX => {
                self.line.push(char::from(byte));
                Key::Echo(char::from(byte).to_string())
            }
            _ => Key::Ignored,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_make_lines() {
        fn check(input: &[u8], want: &[Key]) {
            let mut editor = Editor::default();
            let ends = input
                .iter()
                .map(|byte| editor.key(*byte))
                .filter(|key| matches!(key, Key::Line(_) | Key::Quit));
            assert_eq!(ends.collect::<Vec<_>>(), want, "{input:?}");
        }
        let line = |text: &str| Key::Line(text.to_owned());
        check(b"o\r", &[line("o")]);
        check(b"ab\x7f\x7f\x7fno\n2\n", &[line("no"), line("2")]);
        check(b"o\x03", &[Key::Quit]);
        check(b"\x04", &[Key::Quit]);
        check(b"\x1b[A\n", &[line("[A")]);
        check("é\n".as_bytes(), &[line("")]);
        check(&[b'x'; 99], &[]);
    }
}
