//! A command line of Windows: one text that the started program takes apart again. Written so that
//! the C runtime, and all that follow it, read back what was given.

use std::fmt;

/// Why a command line cannot be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoLine {
    /// The program is a batch file: the shell would read its arguments once more, by other rules
    /// (CVE-2024-24576).
    Batch,
    /// A NUL ends the text early.
    Nul,
    /// Longer than the system takes.
    Long,
}

impl fmt::Display for NoLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Batch => {
                "a batch file cannot be given arguments safely: name the program that it starts \
                 (`node` with the script, in place of `npx.cmd`)"
            }
            Self::Nul => "an argument holds a NUL character",
            Self::Long => "the command line is longer than 32,767 characters",
        })
    }
}

/// The longest command line, in UTF-16 units, with the NUL at its end.
const UNITS_MAX: usize = 32_767;

/// The line for a program, in UTF-16 with a NUL at its end.
pub(crate) fn command_line(program: &str, name: &str, args: &[String]) -> Result<Vec<u16>, NoLine> {
    let folded = program.trim_end_matches(['.', ' ']).to_ascii_lowercase();
    if folded.ends_with(".bat") || folded.ends_with(".cmd") {
        return Err(NoLine::Batch);
    }
    let mut line = String::new();
    // The first word knows no backslashes: quotes are around it, and none can be in it.
    let first: String = name.chars().filter(|c| *c != '"').collect();
    line.push_str(&format!("\"{first}\""));
    for arg in args {
        line.push(' ');
        push(&mut line, arg);
    }
    if line.contains('\0') {
        return Err(NoLine::Nul);
    }
    let units: Vec<u16> = line.encode_utf16().chain([0]).collect();
    if units.len() > UNITS_MAX {
        return Err(NoLine::Long);
    }
    Ok(units)
}

/// One argument. Backslashes count only before a quote: there each is doubled.
fn push(line: &mut String, arg: &str) {
    let plain = !arg.is_empty() && !arg.contains([' ', '\t', '\n', '\u{b}', '"']);
    if plain {
        line.push_str(arg);
        return;
    }
    line.push('"');
    let mut backslashes = 0;
    for c in arg.chars() {
        if c == '"' {
            line.extend(std::iter::repeat_n('\\', backslashes + 1));
        }
        backslashes = if c == '\\' { backslashes + 1 } else { 0 };
        line.push(c);
    }
    line.extend(std::iter::repeat_n('\\', backslashes));
    line.push('"');
}

/// The environment as one block: sorted, each variable with a NUL, one more at the end.
pub(crate) fn block<'a>(variables: impl Iterator<Item = (&'a String, &'a String)>) -> Vec<u16> {
    let mut block = Vec::new();
    for (name, value) in variables {
        block.extend(format!("{name}={value}").encode_utf16().chain([0]));
    }
    if block.is_empty() {
        block.push(0);
    }
    block.push(0);
    block
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert_eq, proptest};

    use super::*;

    /// Takes a line apart as the C runtime does.
    fn read(units: &[u16]) -> Vec<String> {
        let text = String::from_utf16(units).unwrap();
        let text = text.strip_suffix('\0').unwrap();
        let (first, mut rest) = text.strip_prefix('"').unwrap().split_once('"').unwrap();
        let mut words = vec![first.to_owned()];
        while !rest.is_empty() {
            rest = rest.trim_start_matches([' ', '\t']);
            let (word, length) = word(rest);
            words.push(word);
            rest = rest.split_at(length).1;
        }
        words
    }

    fn word(text: &str) -> (String, usize) {
        let mut word = String::new();
        let (mut quoted, mut backslashes) = (false, 0);
        for (at, c) in text.char_indices() {
            match c {
                '\\' => {
                    backslashes += 1;
                    continue;
                }
                '"' => {
                    word.extend(std::iter::repeat_n('\\', backslashes / 2));
                    let literal = backslashes % 2 == 1;
                    word.extend(literal.then_some('"'));
                    quoted ^= !literal;
                }
                ' ' | '\t' if !quoted => {
                    word.extend(std::iter::repeat_n('\\', backslashes));
                    return (word, at);
                }
                c => {
                    word.extend(std::iter::repeat_n('\\', backslashes));
                    word.push(c);
                }
            }
            backslashes = 0;
        }
        word.extend(std::iter::repeat_n('\\', backslashes));
        (word, text.len())
    }

    #[test]
    fn batch_files_and_broken_lines_are_refused() {
        for (program, arg, want) in [
            ("C:\\n\\npx.cmd", "x", Some(NoLine::Batch)),
            ("C:\\n\\NPX.CMD", "x", Some(NoLine::Batch)),
            ("C:\\n\\a.bat. ", "x", Some(NoLine::Batch)),
            ("C:\\n\\node.exe", "a\0b", Some(NoLine::Nul)),
            ("C:\\n\\node.exe", &"x".repeat(40_000), Some(NoLine::Long)),
            ("C:\\n\\node.exe", "a.cmd", None),
        ] {
            let line = command_line(program, "node", &[arg.to_owned()]);
            assert_eq!(line.err(), want, "{program}");
        }
    }

    #[test]
    fn an_environment_is_one_block() {
        let check = |pairs: &[(&str, &str)], want: &str| {
            let pairs: Vec<(String, String)> = pairs
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
            let block = block(pairs.iter().map(|(name, value)| (name, value)));
            assert_eq!(String::from_utf16(&block).unwrap(), want);
        };
        check(&[], "\0\0");
        check(&[("A", "1"), ("B", "")], "A=1\0B=\0\0");
    }

    proptest! {
        /// What is read back is what was given, whatever it is.
        #[test]
        fn words_are_read_back(args in proptest::collection::vec("[ \\\\\"a\u{e9}\t\n%^&|<>!]{0,9}", 0..4)) {
            let line = command_line("C:\\p.exe", "C:\\a b\\p.exe", &args).unwrap();
            let words = read(&line);
            prop_assert_eq!(&words[0], "C:\\a b\\p.exe");
            prop_assert_eq!(&words[1..], args.as_slice());
        }
    }
}
