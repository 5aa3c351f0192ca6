//! The documented forms of variables in configuration values: `${NAME}`, `${NAME:-default}` and
//! `$${` for a literal `${`. Expanded once; everything else is text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A configured text: as it is used, and as it was written. `Debug` and every message show the
/// written form only, because the used one may hold a secret of the environment.
#[derive(Clone, Default, PartialEq, Eq)]
pub(crate) struct Text {
    /// What is used: variables expanded.
    pub(crate) value: String,
    /// What stands in the file.
    pub(crate) written: String,
    /// Variables of the user's environment whose value is part of it.
    pub(crate) takes: BTreeSet<String>,
}

impl Text {
    /// A text that stands for itself.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            written: text.clone(),
            value: text,
            takes: BTreeSet::new(),
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.written, f)
    }
}

/// A variable that is not set and has no default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Missing {
    /// Its name.
    pub(crate) name: String,
}

/// Expands the documented forms. As in a shell, `:-` also replaces an empty value.
///
/// # Errors
/// The first variable that is not set and has no default.
pub(crate) fn expand(
    written: &str,
    environment: &BTreeMap<String, String>,
) -> Result<Text, Missing> {
    let mut value = String::with_capacity(written.len());
    let mut takes = BTreeSet::new();
    let mut rest = written;
    while let Some((before, after)) = rest.split_once('$') {
        value.push_str(before);
        if let Some(literal) = after.strip_prefix("${") {
            value.push_str("${");
            rest = literal;
            continue;
        }
        let Some((reference, next)) = after.strip_prefix('{').and_then(reference) else {
            value.push('$');
            rest = after;
            continue;
        };
        rest = next;
        let set = environment.get(reference.name);
        match (set, reference.default) {
            (Some(found), default) if default.is_none() || !found.is_empty() => {
                value.push_str(found);
                takes.insert(reference.name.to_owned());
            }
            (_, Some(default)) => value.push_str(default),
            (_, None) => {
                return Err(Missing {
                    name: reference.name.to_owned(),
                });
            }
        }
    }
    value.push_str(rest);
    Ok(Text {
        value,
        written: written.to_owned(),
        takes,
    })
}

struct Reference<'a> {
    name: &'a str,
    default: Option<&'a str>,
}

/// Reads `NAME}` or `NAME:-default}`, and gives what follows.
fn reference(text: &str) -> Option<(Reference<'_>, &str)> {
    let (inner, next) = text.split_once('}')?;
    let (name, default) = match inner.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inner, None),
    };
    is_name(name).then_some((Reference { name, default }, next))
}

/// Whether a text is a portable variable name (POSIX 3.231).
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::{any, prop_assert_eq, proptest};

    fn check(written: &str, want: Result<&str, &str>) {
        let environment = BTreeMap::from(
            [
                ("TOKEN", "s3cr3t-${HOME}"),
                ("HOME", "/home/u"),
                ("NONE", ""),
            ]
            .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        let got = expand(written, &environment);
        let got = got
            .as_ref()
            .map(|text| text.value.as_str())
            .map_err(|missing| missing.name.as_str());
        assert_eq!(got, want, "{written}");
    }

    #[test]
    fn documented_forms_expand_once() {
        check("${HOME}/x", Ok("/home/u/x"));
        check("${TOKEN}", Ok("s3cr3t-${HOME}"));
        check("${UNSET:-d}", Ok("d"));
        check("${UNSET:-}", Ok(""));
        check("${NONE:-d}", Ok("d"));
        check("${NONE}", Ok(""));
        check("${UNSET:-${HOME}}", Ok("${HOME}"));
        check("${UNSET}", Err("UNSET"));
        check("${HOME}${UNSET}", Err("UNSET"));
    }

    #[test]
    fn everything_else_is_text() {
        for text in [
            "$HOME",
            "~/x",
            "${env:TOKEN}",
            "${HOME",
            "${}",
            "${1A}",
            "$",
            "$$",
            "a$b}",
            "${HOME-x}",
        ] {
            check(text, Ok(text));
        }
        check("$${LITERAL}", Ok("${LITERAL}"));
        check("$$${HOME}", Ok("$${HOME}"));
        check("$${HOME}${HOME}", Ok("${HOME}/home/u"));
    }

    #[test]
    fn values_are_not_printed() {
        let environment = BTreeMap::from([("T".to_owned(), "hunter2".to_owned())]);
        let text = expand("Bearer ${T}", &environment).unwrap();
        assert_eq!(text.value, "Bearer hunter2");
        assert_eq!(format!("{text:?}"), "\"Bearer ${T}\"");
    }

    proptest! {
        /// Text without a dollar sign is never touched, whatever the environment.
        #[test]
        fn plain_text_is_untouched(text in "[^$]{0,40}", value in any::<String>()) {
            let environment = BTreeMap::from([("A".to_owned(), value)]);
            prop_assert_eq!(expand(&text, &environment).unwrap().value, text);
        }

        /// An escaped reference gives back the reference, whatever it holds.
        #[test]
        fn escapes_round_trip(name in "[A-Z]{1,8}") {
            let got = expand(&format!("$${{{name}}}"), &BTreeMap::new()).unwrap().value;
            prop_assert_eq!(got, format!("${{{name}}}"));
        }
    }
}
