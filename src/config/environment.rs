//! The variables that every sandboxed process gets, out of those of its parent.

use std::collections::BTreeMap;

/// Names that are passed on. None names code, a socket, or a place of credentials; `TMPDIR` is the
/// sandbox's own and is set there.
const PASSED: &[&str] = &[
    "PATH",
    "HOME",
    "LANG",
    "LANGUAGE",
    "TERM",
    "COLORTERM",
    "NO_COLOR",
    "USER",
    "LOGNAME",
    "SHELL",
    "TZ",
    "TMPDIR",
];

/// On Windows besides: without these neither libraries nor programs are found there. Names have no
/// case.
const PASSED_ON_WINDOWS: &[&str] = &[
    "SystemRoot",
    "SystemDrive",
    "windir",
    "ComSpec",
    "PATHEXT",
    "USERPROFILE",
    "USERNAME",
    "NUMBER_OF_PROCESSORS",
    "PROCESSOR_ARCHITECTURE",
];

/// The part of the parent's environment that a sandboxed process gets. What a server's entry names
/// comes on top of it.
pub(crate) fn run_environment(parent: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    parent
        .iter()
        .filter(|(name, value)| is_passed(name) && !is_function(value))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

fn is_passed(name: &str) -> bool {
    let locale = name.strip_prefix("LC_").is_some_and(|rest| {
        !rest.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase() || c == '_')
    });
    let windows = || {
        let mut names = PASSED.iter().chain(PASSED_ON_WINDOWS);
        names.any(|passed| passed.eq_ignore_ascii_case(name))
    };
    PASSED.contains(&name) || locale || (cfg!(windows) && windows())
}

/// CVE-2014-6271: a shell read a function, and what follows it, from any variable.
fn is_function(value: &str) -> bool {
    value.starts_with("() {")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SBX-17: a short fixed list, and nothing else of the parent's environment.
    #[test]
    fn sbx_17_only_the_list_is_passed() {
        let parent: BTreeMap<String, String> = include_str!("../../tests/cases/SBX-17.parent.env")
            .lines()
            .filter_map(|line| line.split_once('='))
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let passed = run_environment(&parent);
        let names: Vec<&str> = passed.keys().map(String::as_str).collect();
        assert_eq!(names, ["HOME", "LANG", "PATH", "TERM", "TMPDIR"]);
        for line in include_str!("../../tests/cases/SBX-17.want.tsv")
            .lines()
            .skip(1)
        {
            let (name, want) = line.split_once('\t').unwrap();
            let named = want.contains("named in the entry");
            let present = want.starts_with("present") && !named;
            assert_eq!(passed.contains_key(name), present, "{name}: {want}");
        }
    }

    #[test]
    fn locale_names_are_exact() {
        for (name, want) in [
            ("LC_ALL", true),
            ("LC_", false),
            ("LC_x", false),
            ("LC_TIME=", false),
        ] {
            assert_eq!(is_passed(name), want, "{name}");
        }
        let parent = BTreeMap::from([("LANG".to_owned(), "() { :; }; id".to_owned())]);
        assert!(run_environment(&parent).is_empty());
    }
}
