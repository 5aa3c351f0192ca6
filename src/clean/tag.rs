//! Look-alikes of the tags and markers by which harnesses and models tell whose words they read.
//! They are matched on a folded copy and replaced on the original; never deleted, because what
//! stands around a deleted one could close up and form another.

use std::borrow::Cow;

use super::class::{is_hidden, is_joiner, is_mark, is_selector};
use super::fold::fold;

/// How a name must go on to count as a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closed {
    /// However.
    Any,
    /// With `>`, because the word alone is common.
    Angle,
}

/// Names of tags. A longer name stands before its own beginning. `-` and `_` match either, a
/// blank, or nothing.
const TAGS: &[(&str, Closed)] = &[
    ("creance_note", Closed::Any),
    ("creance_result", Closed::Any),
    ("creance_untrusted", Closed::Any),
    ("mcp_result", Closed::Any),
    ("mcp_error", Closed::Any),
    ("tool_result", Closed::Any),
    ("tool_response", Closed::Any),
    ("tool_output", Closed::Any),
    ("tool_use", Closed::Any),
    ("tool_calls", Closed::Any),
    ("tool_call", Closed::Any),
    ("function_results", Closed::Any),
    ("function_result", Closed::Any),
    ("function_response", Closed::Any),
    ("function_calls", Closed::Any),
    ("function_call", Closed::Any),
    ("antml:function_calls", Closed::Any),
    ("antml:invoke", Closed::Any),
    ("antml:parameter", Closed::Any),
    ("system-reminder", Closed::Any),
    ("system_prompt", Closed::Any),
    ("untrusted_content", Closed::Any),
    ("untrusted", Closed::Any),
    ("start_of_turn", Closed::Any),
    ("end_of_turn", Closed::Any),
    ("system", Closed::Angle),
];

/// Names of chat-template markers, `<|name|>`.
const MARKERS: &[&str] = &[
    "im_start",
    "im_end",
    "im_sep",
    "system",
    "user",
    "assistant",
    "tool",
    "endoftext",
    "endofprompt",
    "begin_of_text",
    "end_of_text",
    "eot_id",
    "eom_id",
    "start_header_id",
    "end_header_id",
    "python_tag",
    "start_of_role",
    "end_of_role",
    "start",
    "end",
    "message",
    "channel",
    "return",
    "call",
    "begin_of_sentence",
    "end_of_sentence",
    "tool_calls_begin",
    "tool_calls_end",
    "tool_call_begin",
    "tool_call_end",
    "tool_sep",
    "tool_outputs_begin",
    "tool_output_begin",
];

/// Characters drawn like `<`. They fold to other things, or to nothing known.
fn is_angle(c: char) -> bool {
    "<＜﹤‹〈⟨〈≪«⦑❮❬❰˂ᐸ⋖𐌂⟪《⧼".contains(c)
}

/// Characters drawn like `[`.
fn is_square(c: char) -> bool {
    "[［【〔〖⟦".contains(c)
}

/// Where a tag can begin.
fn begins(c: char) -> bool {
    match c {
        '<' | '&' | '\\' | '%' | '[' => true,
        c if c.is_ascii() => false,
        c => is_angle(c) || is_square(c),
    }
}

/// The text with every look-alike replaced.
pub(super) fn neutralise(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut kept = text;
    let mut rest = text;
    while let Some((_, at)) = rest.find(begins).and_then(|at| rest.split_at_checked(at)) {
        let Some((open, behind)) = brackets(at) else {
            rest = skip(at);
            continue;
        };
        let Some((said, after)) = named(open, behind) else {
            rest = behind;
            continue;
        };
        let before = kept.len() - at.len();
        out.push_str(kept.get(..before).unwrap_or_default());
        out.push_str(&said);
        kept = after;
        rest = after;
    }
    if kept.len() == text.len() {
        return Cow::Borrowed(text);
    }
    out.push_str(kept);
    Cow::Owned(out)
}

fn skip(text: &str) -> &str {
    let mut chars = text.chars();
    chars.next();
    chars.as_str()
}

/// The kind of bracket that stands in front of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Angle,
    Square,
}

/// One or more brackets, however written. The last one says the kind.
fn brackets(text: &str) -> Option<(Open, &str)> {
    let mut found = None;
    let mut rest = text;
    while let Some((open, behind)) = bracket(rest) {
        found = Some((open, behind));
        rest = behind;
    }
    found
}

fn bracket(text: &str) -> Option<(Open, &str)> {
    let rest = without_undrawn(text);
    let first = rest.chars().next()?;
    let angle = match first {
        '&' => entity(skip(rest)),
        '\\' => escape(rest),
        '%' => percent(skip(rest)),
        c if is_angle(c) => Some(skip(rest)),
        c if is_square(c) => return Some((Open::Square, skip(rest))),
        _ => None,
    };
    angle.map(|behind| (Open::Angle, behind))
}

/// `&lt;`, `&#60;`, `&#x3c;`, padded, without the semicolon, escaped twice; behind the `&`.
fn entity(mut text: &str) -> Option<&str> {
    while let Some(inner) = without_case(text, "amp;") {
        text = inner;
    }
    let behind = match text.strip_prefix('#') {
        None => without_case(text, "lt")?,
        Some(number) => match without_case(number, "x") {
            Some(hex) => without_case(hex.trim_start_matches('0'), "3c")?,
            None => number.trim_start_matches('0').strip_prefix("60")?,
        },
    };
    Some(behind.strip_prefix(';').unwrap_or(behind))
}

/// `\u003c`, `\x3c`, `\u{3c}`, with one to eight backslashes. The bound keeps a long run of
/// backslashes from being read once from each of them.
fn escape(text: &str) -> Option<&str> {
    let slashes = text.bytes().take(8).take_while(|b| *b == b'\\').count();
    let text = text.get(slashes..)?;
    without_case(text, "u003c")
        .or_else(|| without_case(text, "x3c"))
        .or_else(|| without_case(text, "u{3c}"))
}

/// `%3c`, escaped any number of times; behind the `%`.
fn percent(mut text: &str) -> Option<&str> {
    while let Some(inner) = text.strip_prefix("25") {
        text = inner;
    }
    without_case(text, "3c")
}

fn without_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, tail) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(tail)
}

/// Marks and undrawn characters do not keep a tag from looking like one.
fn without_undrawn(text: &str) -> &str {
    text.trim_start_matches(|c: char| !c.is_ascii() && is_undrawn(c))
}

fn is_undrawn(c: char) -> bool {
    is_mark(c) || is_hidden(c) || is_joiner(c) || is_selector(c)
}

/// The words that replace a tag or marker whose brackets stand before `text`, and what follows it.
fn named(open: Open, text: &str) -> Option<(String, &str)> {
    let text = blanks(text, |c| c == '!');
    if open == Open::Angle
        && let Some(inside) = folded_prefix(text, "|")
    {
        return marker(inside);
    }
    let name = blanks(text, |c| matches!(c, '/' | '\\') || fold(c).eq(['/']));
    // Most of what follows a bracket in code ends here.
    let first = name.chars().next()?;
    if first.is_ascii()
        && !TAGS
            .iter()
            .any(|(tag, _)| tag.starts_with(first.to_ascii_lowercase()))
    {
        return None;
    }
    let closing = text.len() != name.len()
        && text
            .get(..text.len() - name.len())
            .is_some_and(|between| between.contains(|c: char| !c.is_whitespace()));
    let (tag, after) = TAGS.iter().find_map(|(tag, closed)| {
        let after = folded_prefix(name, tag)?;
        let fits = match (open, closed) {
            (Open::Square, _) => tag.contains(['-', '_']),
            (Open::Angle, Closed::Any) => true,
            (Open::Angle, Closed::Angle) => ends_tag(after),
        };
        (fits && !goes_on(after)).then_some((tag, after))
    })?;
    let slash = if closing { "/" } else { "" };
    Some((format!("({slash}{tag} tag)"), after))
}

fn marker(inside: &str) -> Option<(String, &str)> {
    let inside = blanks(inside, |_| false);
    MARKERS.iter().find_map(|name| {
        let behind = blanks(folded_prefix(inside, name)?, |_| false);
        let behind = blanks(folded_prefix(behind, "|")?, |_| false);
        let after = folded_prefix(behind, ">")?;
        Some((format!("({name} marker)"), after))
    })
}

/// Skips blanks, undrawn characters and what else is told.
fn blanks(text: &str, also: impl Fn(char) -> bool) -> &str {
    text.trim_start_matches(|c: char| {
        c.is_whitespace() || also(c) || (!c.is_ascii() && is_undrawn(c))
    })
}

fn ends_tag(text: &str) -> bool {
    let text = blanks(text, |c| c == '/');
    text.chars().next().is_some_and(|c| fold(c).eq(['>']))
}

/// Whether the name continues, and so is another one.
fn goes_on(text: &str) -> bool {
    let next = text.chars().next().and_then(|c| fold(c).next());
    next.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
}

/// Letters that cannot be told apart in many fonts.
fn alike(c: char) -> char {
    match c {
        'i' | '1' => 'l',
        '0' => 'o',
        '-' => '_',
        other => other,
    }
}

/// What stands behind `name` (folded) at the start of `text`. Undrawn characters behind the name
/// go with it: they belong to its last letter.
fn folded_prefix<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let mut wanted = name.chars().peekable();
    let mut rest = text;
    while wanted.peek().is_some() {
        let c = rest.chars().next()?;
        for got in fold(c) {
            accept(&mut wanted, got)?;
        }
        rest = skip(rest);
    }
    Some(without_undrawn(rest))
}

/// Takes one folded character against what is wanted; a wanted separator may be absent.
fn accept(wanted: &mut std::iter::Peekable<std::str::Chars<'_>>, got: char) -> Option<()> {
    let want = *wanted.peek()?;
    let separator = matches!(want, '-' | '_');
    if alike(want) == alike(got) || (separator && got == ' ') {
        wanted.next();
        return Some(());
    }
    if !separator {
        return None;
    }
    wanted.next();
    let behind = wanted.next()?;
    (alike(behind) == alike(got)).then_some(())
}
