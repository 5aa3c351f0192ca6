//! What is given to a name: how far the value behind `password=`, `"apiKey":`, `Cookie:` reaches.

/// Whether what stands behind a name gives it a value.
pub(super) fn is_assigned(behind: &str) -> bool {
    unquoted(behind)
        .trim_start_matches(' ')
        .starts_with([':', '='])
}

/// What stands behind the quotes that close a name.
fn unquoted(behind: &str) -> &str {
    behind.trim_start_matches(['\\', '"', '\'', ']'])
}

/// How much of a value without quotes is looked at to tell whether it is one.
const LOOK_MAX: usize = 4096;

/// The text from the value on, and the value's length.
pub(super) fn value<'a>(name: &str, behind: &'a str, before: char) -> Option<(&'a str, usize)> {
    let closed = unquoted(behind);
    let spaced = closed.trim_start_matches(' ');
    let Some(tail) = spaced.strip_prefix([':', '=']) else {
        // `--password hunter2`.
        let flag = before == '-' && closed.len() == behind.len() && spaced.len() < closed.len();
        return (flag && !spaced.starts_with('-')).then_some((spaced, word(spaced)));
    };
    let tail = tail.trim_start_matches(['=', '>']);
    let start = tail.trim_start_matches([' ', '\t']);
    let value = start.trim_start_matches('\\');
    if let Some(quote @ ('"' | '\'' | '`')) = value.chars().next() {
        let inside = value.get(1..)?;
        return Some((inside, quoted(inside, quote)));
    }
    let colon = spaced.starts_with(':');
    let header = colon
        && (name.contains('-')
            || ["authorization", "cookie"].contains(&name.to_ascii_lowercase().as_str()));
    if header {
        let len = start
            .find(['\n', '\r', '"', '\'', '\\'])
            .unwrap_or(start.len());
        return Some((start, len));
    }
    if start.starts_with(['$', '<', '{', '%', '(']) {
        return None;
    }
    let tight = !colon && spaced.len() == closed.len() && start.len() == tail.len();
    if tight {
        return Some((start, word(start)));
    }
    // Looks at a bounded part, or hostile runs of names would each be read to the end.
    let len = start
        .bytes()
        .take(LOOK_MAX)
        .take_while(|b| !ends_word(char::from(*b)))
        .count();
    let seen = start.as_bytes().get(..len)?;
    let random = len >= 6 && seen.iter().any(u8::is_ascii_digit) && !seen.contains(&b'(');
    (random || len == LOOK_MAX).then(|| (start, word(start)))
}

fn word(text: &str) -> usize {
    text.find(ends_word).unwrap_or(text.len())
}

fn ends_word(c: char) -> bool {
    c.is_ascii_whitespace() || "&\"'`;,".contains(c)
}

/// Up to the closing quote; a backslash keeps a quote from closing, unless it was opened so.
fn quoted(inside: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match c {
            '\n' => return at,
            c if c == quote && !escaped => return at,
            _ => escaped = c == '\\' && !escaped,
        }
    }
    inside.len()
}
