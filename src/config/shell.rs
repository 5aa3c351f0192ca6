//! Inline shell code taken apart far enough to see which programs it starts: quotes, separators,
//! redirections, substitutions. It judges nothing and expands nothing.

/// Inline code in parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Script {
    /// The simple commands in the order of the text.
    pub(super) commands: Vec<Simple>,
    /// Code inside `$(…)`, backquotes and `<(…)`.
    pub(super) inner: Vec<String>,
    /// Whether there is more than one plain command.
    pub(super) metacharacters: bool,
    /// Whether a quote or bracket is not closed.
    pub(super) unclosed: bool,
}

/// One program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Simple {
    /// The words, without quotes.
    pub(super) words: Vec<String>,
    /// Whether its input is the output of the command before.
    pub(super) piped: bool,
    /// Files that it writes or reads by redirection.
    pub(super) files: Vec<String>,
}

/// The words of one plain command.
pub(super) fn words(text: &str) -> Vec<String> {
    let commands = parse(text).commands.into_iter();
    commands.flat_map(|command| command.words).collect()
}

/// Stands in a word for what a substitution gives.
pub(super) const MADE: &str = "$(…)";

/// Takes code apart.
pub(super) fn parse(text: &str) -> Script {
    let mut lexer = Lexer {
        chars: text.chars().collect(),
        at: 0,
        script: Script::default(),
        command: Simple::default(),
        word: None,
        target: false,
    };
    lexer.run();
    lexer.script
}

/// Words that stand before a command and are none.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "fi", "while", "until", "do", "done", "!", "{", "}", "time",
    "esac",
];

struct Lexer {
    chars: Vec<char>,
    at: usize,
    script: Script,
    command: Simple,
    /// The word that is being read; `Some("")` after an empty quote.
    word: Option<String>,
    /// Whether the next word is the file of a redirection.
    target: bool,
}

impl Lexer {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '\'' | '"' | '\\' => self.quoted(c),
                '`' => {
                    let inner = self.until('`');
                    self.substitution(inner);
                }
                '$' if self.peek(0) == Some('\'') => {
                    self.at += 1;
                    let text = self.until('\'');
                    self.push(&text);
                }
                '$' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    let inner = self.balanced();
                    self.substitution(inner);
                }
                '<' | '>' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    let inner = self.balanced();
                    self.substitution(inner);
                }
                '<' | '>' => self.redirection(c),
                '&' if self.peek(0) == Some('>') => {
                    self.at += 1;
                    self.redirection('>');
                }
                ';' | '\n' | '\r' | '(' | ')' | '&' | '|' => self.separator(c),
                '#' if self.word.is_none() => self.comment(),
                c if c.is_whitespace() => self.end_word(),
                c => self.word.get_or_insert_default().push(c),
            }
        }
        self.end_command();
    }

    fn push(&mut self, text: &str) {
        self.word.get_or_insert_default().push_str(text);
    }

    fn substitution(&mut self, inner: String) {
        self.push(MADE);
        self.script.metacharacters = true;
        self.script.inner.push(inner);
    }

    fn quoted(&mut self, quote: char) {
        match quote {
            '\'' => {
                let text = self.until('\'');
                self.push(&text);
            }
            '"' => self.double_quoted(),
            _ => self.escaped(),
        }
    }

    fn double_quoted(&mut self) {
        self.push("");
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match c {
                '"' => return,
                '\\' => self.escaped(),
                '`' => {
                    let inner = self.until('`');
                    self.substitution(inner);
                }
                '$' if self.peek(0) == Some('(') => {
                    self.at += 1;
                    let inner = self.balanced();
                    self.substitution(inner);
                }
                c => self.word.get_or_insert_default().push(c),
            }
        }
        self.script.unclosed = true;
    }

    fn escaped(&mut self) {
        match self.peek(0) {
            // A line that goes on.
            Some('\n') => self.at += 1,
            Some(c) => {
                self.at += 1;
                self.word.get_or_insert_default().push(c);
            }
            None => self.script.unclosed = true,
        }
    }

    fn comment(&mut self) {
        while self.peek(0).is_some_and(|c| c != '\n') {
            self.at += 1;
        }
    }

    fn until(&mut self, end: char) -> String {
        let mut text = String::new();
        while let Some(c) = self.peek(0) {
            self.at += 1;
            if c == end {
                return text;
            }
            text.push(c);
        }
        self.script.unclosed = true;
        text
    }

    /// What stands up to the bracket that closes; quotes inside are respected.
    fn balanced(&mut self) -> String {
        let mut text = String::new();
        let mut depth = 1_usize;
        let mut quote = None;
        while let Some(c) = self.peek(0) {
            self.at += 1;
            match (quote, c) {
                (None, '(') => depth += 1,
                (None, ')') => depth -= 1,
                (None, '\'' | '"') => quote = Some(c),
                (Some(open), c) if open == c => quote = None,
                _ => {}
            }
            if depth == 0 {
                return text;
            }
            text.push(c);
        }
        self.script.unclosed = true;
        text
    }

    fn redirection(&mut self, c: char) {
        self.script.metacharacters = true;
        // `2>`: the number is no argument.
        if self
            .word
            .as_ref()
            .is_some_and(|word| word.chars().all(|c| c.is_ascii_digit()))
        {
            self.word = None;
        }
        self.end_word();
        while self
            .peek(0)
            .is_some_and(|next| next == c || next == '|' || next == '&')
        {
            self.at += 1;
        }
        self.target = true;
    }

    fn separator(&mut self, c: char) {
        let pipe = c == '|' && self.peek(0) != Some('|');
        self.end_command();
        if !matches!(c, '\n' | '\r') || !self.script.commands.is_empty() {
            self.script.metacharacters = true;
        }
        while self
            .peek(0)
            .is_some_and(|next| matches!(next, '|' | '&' | ';'))
        {
            self.at += 1;
        }
        self.command.piped = pipe;
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else { return };
        if std::mem::take(&mut self.target) {
            self.command.files.push(word);
            return;
        }
        let first = self.command.words.is_empty();
        if first && KEYWORDS.contains(&word.as_str()) {
            self.script.metacharacters = true;
            return;
        }
        self.command.words.push(word);
    }

    fn end_command(&mut self) {
        self.end_word();
        let command = std::mem::take(&mut self.command);
        if !command.words.is_empty() || !command.files.is_empty() {
            self.script.commands.push(command);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{prop_assert_eq, proptest};

    fn check(text: &str, want: &[&str]) {
        let script = parse(text);
        let shown: Vec<String> = script
            .commands
            .iter()
            .map(|command| {
                let pipe = if command.piped { "|" } else { "" };
                format!("{pipe}{}", command.words.join(" "))
            })
            .collect();
        assert_eq!(shown, want, "{text:?}");
    }

    #[test]
    fn code_comes_apart() {
        check("git log; rm -rf build", &["git log", "rm -rf build"]);
        check("git log;rm -rf build", &["git log", "rm -rf build"]);
        check("git log && curl x | sh", &["git log", "curl x", "|sh"]);
        check("git log || rm x", &["git log", "rm x"]);
        check("git log |& bash", &["git log", "|bash"]);
        check("git log & rm x", &["git log", "rm x"]);
        check("git log\r\nrm x", &["git log", "rm x"]);
        check(
            "git log --format='a;b && c'",
            &["git log --format=a;b && c"],
        );
        check("git log \\; rm", &["git log ; rm"]);
        check("(rm x)", &["rm x"]);
        check("{ rm x; }", &["rm x"]);
        check("r\\m x", &["rm x"]);
        check("'rm' \"x\"", &["rm x"]);
        check("if true; then rm x; fi", &["true", "rm x"]);
        check("a # rm x\nb", &["a", "b"]);
        check("a 2>/dev/null b", &["a b"]);
        check("rm $'x'", &["rm x"]);
        check("", &[]);
    }

    #[test]
    fn inner_code_is_kept() {
        for text in [
            "echo $(rm -rf x)",
            "echo `rm -rf x`",
            "echo \"$(rm -rf x)\"",
            "cat <(rm -rf x)",
        ] {
            assert_eq!(parse(text).inner, ["rm -rf x"], "{text}");
        }
        assert_eq!(parse("echo $(a $(b))").inner, ["a $(b)"]);
        assert!(parse("ls 'unclosed").unclosed);
        assert_eq!(
            parse("a > .git/hooks/x < y").commands[0].files,
            [".git/hooks/x", "y"]
        );
    }

    proptest! {
        /// Words in single quotes come back as they are.
        #[test]
        fn quoting_round_trips(list in proptest::collection::vec("[^']{0,12}", 1..5)) {
            let text: Vec<String> = list.iter().map(|word| format!("'{word}'")).collect();
            let first_is_keyword = KEYWORDS.contains(&list[0].as_str());
            if !first_is_keyword {
                prop_assert_eq!(words(&text.join(" ")), list);
            }
        }

        /// No text makes it fail or hang.
        #[test]
        fn any_text_is_read(text in ".{0,200}") {
            let _ = parse(&text);
        }
    }
}
