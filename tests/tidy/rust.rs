//! Just enough Rust: a lexer that knows comments, strings and lifetimes, and the paths of a file.
//! Tokens instead of lines, so that no rule is fooled by a comment, a string or a line break.

/// One token: an identifier, a string literal (with its quotes), `::`, or one other character.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// A path as it is written, and where: `crate::{a::{b, c as d}}` gives `crate a b` and `crate a c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) line: usize,
    pub(crate) parts: Vec<String>,
}

/// The tokens of a file without comments.
pub(crate) fn lex(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let (mut at, mut line) = (0, 1);
    while at < chars.len() {
        let len = length(&chars, at);
        let piece: String = chars[at..at + len].iter().collect();
        if !piece.trim().is_empty() && !piece.starts_with("//") && !piece.starts_with("/*") {
            tokens.push(Token {
                line,
                text: piece.clone(),
            });
        }
        line += piece.matches('\n').count();
        at += len;
    }
    tokens
}

/// How many characters the piece that starts at `at` has.
fn length(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let next = rest.get(1).copied().unwrap_or(' ');
    match rest[0] {
        '/' if next == '/' => rest.iter().position(|c| *c == '\n').unwrap_or(rest.len()),
        '/' if next == '*' => block_comment(rest),
        '"' => 1 + quoted(&rest[1..], '"'),
        '\'' => character(rest),
        'b' if next == '\'' => 1 + character(&rest[1..]),
        ':' if next == ':' => 2,
        c if is_word(c) => word(rest),
        _ => 1,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Block comments nest in Rust.
fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match (rest[at], rest.get(at + 1)) {
            ('/', Some('*')) => (depth, at) = (depth + 1, at + 2),
            ('*', Some('/')) => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at.min(rest.len())
}

/// The length up to and with the closing quote; a backslash hides the next character.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 0;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// `'a'` and `'\n'` are characters, `'a` is a lifetime.
fn character(rest: &[char]) -> usize {
    let closed = rest.get(1) == Some(&'\\') || rest.get(2) == Some(&'\'');
    if closed {
        1 + quoted(&rest[1..], '\'')
    } else {
        1
    }
}

/// A word, or the string that it introduces: `r"…"`, `br#"…"#`, `b"…"`, `c"…"`.
fn word(rest: &[char]) -> usize {
    let end = rest.iter().position(|c| !is_word(*c)).unwrap_or(rest.len());
    let prefix: String = rest[..end].iter().collect();
    let hashes = rest[end..].iter().take_while(|c| **c == '#').count();
    if rest.get(end + hashes) != Some(&'"') {
        return end;
    }
    match prefix.as_str() {
        "r" | "br" | "cr" => raw(rest, end + hashes + 1, hashes),
        "b" | "c" if hashes == 0 => end + 1 + quoted(&rest[end + 1..], '"'),
        _ => end,
    }
}

/// The end of a raw string whose body starts at `from`.
fn raw(rest: &[char], from: usize, hashes: usize) -> usize {
    let close: Vec<char> = std::iter::once('"')
        .chain(std::iter::repeat_n('#', hashes))
        .collect();
    (from..rest.len())
        .find(|at| rest[*at..].starts_with(&close))
        .map_or(rest.len(), |at| at + close.len())
}

/// The tokens without inline modules under `#[cfg(test)]`: tests may look anywhere.
pub(crate) fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let text = |n: usize| tokens.get(at + n).map_or("", |t| t.text.as_str());
        let guarded = (0..7)
            .map(text)
            .eq(["#", "[", "cfg", "(", "test", ")", "]"]);
        if guarded && let Some(end) = test_module_end(tokens, at + 7) {
            at = end;
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// Where the module that starts at `at` (attributes and `pub` first) ends.
fn test_module_end(tokens: &[Token], at: usize) -> Option<usize> {
    let head = tokens[at..]
        .iter()
        .position(|t| t.text == "{" || t.text == ";")?
        + at;
    if !tokens[at..head].iter().any(|t| t.text == "mod") {
        return None;
    }
    if tokens[head].text == ";" {
        return Some(head + 1);
    }
    Some(closing(tokens, head) + 1)
}

/// The index of the brace that closes the one at `open`.
pub(crate) fn closing(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    tokens.len() - 1
}

/// Every path that starts with `head`, in `use` lines and in code, with groups split.
pub(crate) fn paths_from(tokens: &[Token], head: &str) -> Vec<Path> {
    let mut found = Vec::new();
    for at in 0..tokens.len() {
        if tokens[at].text == head && begins_path(tokens, at) {
            branch(tokens, at, &[], &mut found);
        }
    }
    found
}

/// Whether the word at `at` heads a path: not a field, a method or a later segment.
fn begins_path(tokens: &[Token], at: usize) -> bool {
    let text = |back: usize| at.checked_sub(back).map_or("", |n| tokens[n].text.as_str());
    let next = tokens.get(at + 1).map_or("", |t| t.text.as_str());
    let absolute = text(1) == "::"
        && !text(2)
            .chars()
            .next_back()
            .is_some_and(|c| is_word(c) || c == '>');
    let free = absolute || !["::", "."].contains(&text(1));
    free && (next == "::" || ["use", "crate"].contains(&text(1)))
}

/// Reads the path at `at`, adds its leaves, and returns the index after it.
fn branch(tokens: &[Token], at: usize, before: &[String], found: &mut Vec<Path>) -> usize {
    let mut parts = before.to_vec();
    let mut at = at;
    loop {
        let Some(token) = tokens.get(at) else {
            return at;
        };
        if token.text == "{" {
            return group(tokens, at, &parts, found);
        }
        parts.push(token.text.clone());
        if tokens.get(at + 1).is_none_or(|t| t.text != "::") {
            found.push(Path {
                line: token.line,
                parts,
            });
            return at + 1;
        }
        at += 2;
    }
}

/// Reads `{a, b::c as d}` and returns the index after it.
fn group(tokens: &[Token], open: usize, before: &[String], found: &mut Vec<Path>) -> usize {
    let end = closing(tokens, open);
    let mut at = open + 1;
    while at < end {
        at = branch(tokens, at, before, found);
        while at < end && tokens[at].text != "," {
            at += 1;
        }
        at += 1;
    }
    end + 1
}

#[test]
fn lexer_is_not_fooled() {
    let words = |text: &str| lex(text).into_iter().map(|t| t.text).collect::<Vec<_>>();
    for (text, want) in [
        ("a // b\nc", vec!["a", "c"]),
        ("a /* b /* c */ d */ e", vec!["a", "e"]),
        (r#"a "b // c \" d" e"#, vec!["a", r#""b // c \" d""#, "e"]),
        (r###"r#"a "b"# c"###, vec![r###"r#"a "b"#"###, "c"]),
        (
            "b\"a\" 'x' '\\'' &'a b b'\\n'",
            vec!["b\"a\"", "'x'", "'\\''", "&", "'", "a", "b", "b'\\n'"],
        ),
        ("a::b", vec!["a", "::", "b"]),
        ("\"open", vec!["\"open"]),
    ] {
        assert_eq!(words(text), want, "{text}");
    }
}

#[test]
fn paths_are_split() {
    let leaves = |text: &str| {
        paths_from(&lex(text), "crate")
            .into_iter()
            .map(|p| p.parts.join(" "))
            .collect::<Vec<_>>()
    };
    for (text, want) in [
        ("use crate::a::B;", vec!["crate a B"]),
        (
            "use crate::{a::{B, c::D as E}, f};",
            vec!["crate a B", "crate a c D", "crate f"],
        ),
        (
            "fn x() -> crate::a::B { crate::c::d() }",
            vec!["crate a B", "crate c d"],
        ),
        ("pub(crate) fn x(self.crate_::y) {}", vec![]),
        ("/// crate::a\nlet s = \"crate::b\";", vec![]),
    ] {
        assert_eq!(leaves(text), want, "{text}");
    }
}

#[test]
fn test_modules_are_set_aside() {
    let words = |text: &str| {
        without_tests(&lex(text))
            .into_iter()
            .map(|t| t.text)
            .collect::<String>()
    };
    assert_eq!(words("a; #[cfg(test)] mod t { b { c } } d"), "a;d");
    assert_eq!(words("a; #[cfg(test)] mod t; d"), "a;d");
    assert_eq!(words("#[cfg(test)] use x; d"), "#[cfg(test)]usex;d");
    assert_eq!(words("#[cfg(unix)] mod t { b }"), "#[cfg(unix)]modt{b}");
}
