//! A policy text into policies, each with what is found in it. A long text is read in parts, side by
//! side: reading is most of the work of loading.

use cedar_policy::{ParseErrors, Policy};
use cedar_policy_core::parser::err::ParseErrors as Unread;
use cedar_policy_core::parser::{Loc, parse_policyset_to_ests_and_pset};
use serde_json::Value;

/// One policy of a text.
pub(super) struct Written<F> {
    pub(super) policy: Policy,
    /// As it is written.
    pub(super) text: String,
    /// Where it begins, in bytes of the whole text.
    pub(super) start: usize,
    /// What was found in it.
    pub(super) found: F,
}

/// The policies of a text in their order, and where its templates begin.
pub(super) struct Read<F> {
    pub(super) policies: Vec<Written<F>>,
    pub(super) templates: Vec<usize>,
}

impl<F> Default for Read<F> {
    fn default() -> Self {
        Self {
            policies: Vec::new(),
            templates: Vec::new(),
        }
    }
}

/// Bytes of a text that is worth a thread of its own.
const LONG: usize = 64 * 1024;
/// Parts of a long text, however many cores there are.
const PARTS: usize = 4;

/// Reads a text. `find` is given each policy in Cedar's own form and, where it has one, in its JSON
/// form.
pub(super) fn read<F: Send>(
    text: &str,
    find: fn(&Policy, Option<&Value>) -> F,
) -> Result<Read<F>, Box<ParseErrors>> {
    if text.len() >= LONG
        && let Some(read) = in_parts(text, find)
    {
        return Ok(read);
    }
    part(text, find).map_err(|error| Box::new((*error).into()))
}

/// `None` when any part cannot be read: what is wrong is then said of the whole.
fn in_parts<F: Send>(text: &str, find: fn(&Policy, Option<&Value>) -> F) -> Option<Read<F>> {
    let parts = parts(text, PARTS);
    let read = std::thread::scope(|scope| {
        let readers = parts.iter().map(|text| scope.spawn(|| part(text, find)));
        // All of them begin before the first is waited for.
        let readers: Vec<_> = readers.collect();
        let read = readers.into_iter().map(|reader| reader.join().ok()?.ok());
        read.collect::<Option<Vec<_>>>()
    })?;
    let mut whole = Read::default();
    for part in read {
        whole.policies.extend(part.policies);
        whole.templates.extend(part.templates);
    }
    Some(whole)
}

/// A text in at most so many parts, each with its policies whole and at their places: what stands
/// before them is blank.
fn parts(text: &str, count: usize) -> Vec<String> {
    let size = text.len().div_ceil(count);
    let mut parts = Vec::new();
    let mut begin = 0;
    for end in ends(text) {
        if end - begin >= size {
            parts.push(blank_before(text, begin, end));
            begin = end;
        }
    }
    parts.push(blank_before(text, begin, text.len()));
    parts
}

fn blank_before(text: &str, begin: usize, end: usize) -> String {
    let mut part = " ".repeat(begin);
    part.push_str(text.get(begin..end).unwrap_or_default());
    part
}

/// The places behind the semicolons that end policies: those outside of strings and comments.
fn ends(text: &str) -> impl Iterator<Item = usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let rest = bytes.get(at..)?;
            let step = rest.iter().position(|b| matches!(b, b';' | b'"' | b'/'))?;
            at += step;
            match bytes.get(at)? {
                b';' => {
                    at += 1;
                    return Some(at);
                }
                b'"' => at += string(bytes.get(at..)?),
                _ if bytes.get(at + 1) == Some(&b'/') => at += comment(bytes.get(at..)?),
                _ => at += 1,
            }
        }
    })
}

/// The length of the string at the start, with its quotes.
fn string(bytes: &[u8]) -> usize {
    let mut escaped = true;
    let end = bytes.iter().position(|b| {
        let ends = *b == b'"' && !escaped;
        // The quote that opens it ends nothing.
        escaped = *b == b'\\' && !escaped;
        ends
    });
    end.map_or(bytes.len(), |end| end + 1)
}

/// The length of the comment at the start.
fn comment(bytes: &[u8]) -> usize {
    let end = bytes.iter().position(|b| *b == b'\n');
    end.unwrap_or(bytes.len())
}

/// Reads a text at once. Cedar makes a parser of its own for each text, which is most of the work for
/// a short one.
fn part<F>(text: &str, find: fn(&Policy, Option<&Value>) -> F) -> Result<Read<F>, Box<Unread>> {
    let (mut forms, set) = parse_policyset_to_ests_and_pset(text)?;
    let begin = |loc: Option<&Loc>| loc.map(Loc::start).unwrap_or_default();
    let templates = set.templates().map(|template| begin(template.loc()));
    let templates = templates.collect();
    let mut policies: Vec<Written<F>> = Vec::new();
    for policy in set.into_policies() {
        let form = forms.remove(policy.id());
        let form = form.and_then(|form| serde_json::to_value(form).ok());
        let text = policy.loc().and_then(Loc::snippet);
        let (text, start) = (text.unwrap_or_default().to_owned(), begin(policy.loc()));
        let policy = Policy::from(policy);
        let found = find(&policy, form.as_ref());
        policies.push(Written {
            policy,
            text,
            start,
            found,
        });
    }
    policies.sort_by_key(|written| written.start);
    Ok(Read {
        policies,
        templates,
    })
}

#[cfg(test)]
mod tests {
    use cedar_policy_core::ast;
    use proptest::prelude::*;

    use super::*;

    fn told(read: &Read<bool>) -> Vec<(String, usize, String, bool)> {
        let told = |written: &Written<bool>| {
            let ast: &ast::Policy = written.policy.as_ref();
            let text = written.text.clone();
            (
                text,
                written.start,
                ast.condition().to_string(),
                written.found,
            )
        };
        read.policies.iter().map(told).collect()
    }

    fn found(_: &Policy, form: Option<&Value>) -> bool {
        form.is_some()
    }

    #[test]
    fn policies_end_at_semicolons_outside_of_strings_and_comments() {
        let check = |text: &str, want: &[&str]| {
            let mut begin = 0;
            let got = ends(text).map(|end| text.get(std::mem::replace(&mut begin, end)..end));
            let got: Vec<&str> = got.map(Option::unwrap).collect();
            assert_eq!(got, want, "{text}");
        };
        check("a;b", &["a;"]);
        check("a;b;", &["a;", "b;"]);
        check(r#"@x(";")a;"\";"b;"#, &[r#"@x(";")a;"#, r#""\";"b;"#]);
        check(r#""\\";"#, &[r#""\\";"#]);
        check("a// ;\";\nb;c", &["a// ;\";\nb;"]);
        check("a/b;/", &["a/b;"]);
        check("\";", &[]);
        check("// ;", &[]);
    }

    /// What stands around policies, and within them.
    const SPICE: &[&str] = &[
        "// a comment; with \" in it\n",
        "@note(\"semicolon; and \\\" and // no comment\")\n",
        "\n\n",
        "@reason(\"é漢🦅;\")\n",
        "",
    ];

    proptest! {
        #[test]
        fn parts_hold_what_the_whole_holds(picks in prop::collection::vec(0..SPICE.len(), 1..40), count in 1_usize..7) {
            let mut text = String::new();
            for (at, pick) in picks.iter().enumerate() {
                let spice = SPICE.get(*pick).unwrap();
                text.push_str(&format!("{spice}@id(\"p{at}\")permit(principal,action,resource)when{{\"a;\\\"b\"!=\"//\"}};"));
            }
            let whole = part(&text, found).unwrap();
            prop_assert_eq!(whole.policies.len(), picks.len());
            let mut joined = Read::default();
            for text in parts(&text, count) {
                joined.policies.extend(part(&text, found).unwrap().policies);
            }
            prop_assert_eq!(told(&joined), told(&whole));
        }
    }
}
