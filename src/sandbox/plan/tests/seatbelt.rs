//! Profiles of thirty grants as they are written, and what holds for every one of them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

use super::super::quote::{caseless, quoted};
use super::*;
use crate::grant::{Environment, Grant, Launch};
use crate::sandbox::plan::plan::plan_with;
use crate::sandbox::plan::{Backend, Offer, Offers};

const HOME: &str = "/Users/u";

fn plan_of(grant: &Grant) -> Plan {
    let offers = Offers {
        backends: vec![Offer {
            backend: Backend::MacosSeatbelt,
            failure: None,
        }],
        ..Offers::default()
    };
    let launch = Launch {
        program: "/usr/local/bin/node".into(),
        name: "node".into(),
        args: Vec::new(),
        cwd: "/Users/u/p".into(),
        stamps: Vec::new(),
    };
    plan_with(&offers, &launch, grant).unwrap()
}

fn paths(texts: &[&str]) -> Vec<PathBuf> {
    texts.iter().map(PathBuf::from).collect()
}

fn grant(write: &[&str], protect: &[&str], hide: &[&str]) -> Grant {
    Grant {
        home: Some(HOME.into()),
        write: paths(write),
        protect: paths(protect),
        hide: paths(hide),
        ..Grant::default()
    }
}

fn reading(read: &[&str]) -> Grant {
    Grant {
        read: paths(read),
        ..grant(&["/Users/u/p"], &[], &[])
    }
}

/// A grant whose project has this name, with a guard and a secret in it.
fn named(name: &str) -> Grant {
    let root = format!("/Users/u/{name}");
    let below = |entry: &str| format!("{root}/{entry}");
    let (hooks, secret) = (below(".git/hooks"), below(".env"));
    grant(&[&root], &[&hooks], &[&secret])
}

/// Names that would end a string, start a rule or mean more than themselves.
const NAMES: &[&str] = &[
    "plain",
    "with blank",
    "quote\"quote",
    "back\\slash",
    "both\\\"of them",
    "ends with backslash\\",
    "\")) (allow default) ((\"",
    "line\nfeed",
    "line\n(allow default)",
    "return\rtab\t",
    "bell\u{7}escape\u{1b}delete\u{7f}",
    "dots..and.*stars*",
    "[a-z]+(x|y)?{2}^$",
    "#\"raw\"#",
    "; comment",
    "'single' `back` $(x) ${X}",
    "naïve-ünïcode-名前-🦅",
    "combining e\u{301}",
];

/// The grants, by name.
fn grants() -> BTreeMap<String, (Grant, Option<u16>)> {
    let project = || {
        grant(
            &["/Users/u/p"],
            &["/Users/u/p/.git/hooks"],
            &["/Users/u/.ssh"],
        )
    };
    let with = |change: fn(&mut Grant)| {
        let mut grant = project();
        change(&mut grant);
        grant
    };
    let mut all: BTreeMap<String, (Grant, Option<u16>)> = [
        ("nothing", Grant::default()),
        ("project", project()),
        ("reads", reading(&["/Users/u/.nvm", "/Users/u/.cargo/bin"])),
        ("reads inside what it writes", reading(&["/Users/u/p/src"])),
        (
            "writes inside what it writes",
            grant(&["/Users/u/p", "/Users/u/p/.git/config"], &[], &[]),
        ),
        (
            "writes home",
            grant(&[HOME], &["/Users/u/.zshrc"], &["/Users/u/.ssh"]),
        ),
        ("network", with(|grant| grant.network = Network::Whole)),
        ("terminal", with(|grant| grant.terminal = true)),
        (
            "own sockets",
            with(|grant| grant.sockets = paths(&["/Users/u/p"])),
        ),
        (
            "one socket",
            with(|grant| grant.sockets = paths(&["/private/var/run/docker.sock"])),
        ),
        (
            "temporary folder",
            with(|grant| grant.temp = Some("/private/var/folders/x/T/1-a".into())),
        ),
    ]
    .map(|(name, grant)| (name.to_owned(), (grant, None)))
    .into();
    let hosts = with(|grant| grant.network = Network::Hosts);
    all.insert("hosts without a proxy".to_owned(), (hosts.clone(), None));
    all.insert("hosts".to_owned(), (hosts, Some(3128)));
    let names = NAMES.iter().enumerate();
    all.extend(names.map(|(at, name)| (format!("name {at:02}"), (named(name), None))));
    all
}

/// One file for all: what changes in a profile is read in one place.
#[test]
fn thirty_profiles_are_as_recorded() {
    let all = grants();
    assert!(all.len() >= 30, "{}", all.len());
    let texts: Vec<String> = all
        .iter()
        .map(|(name, (grant, proxy))| {
            let text = profile(&plan_of(grant), *proxy);
            format!(";; {name}\n{text}")
        })
        .collect();
    // What all have in common stands once.
    let common = profile(&plan_of(&Grant::default()), None);
    let common: Vec<&str> = common.lines().filter(|line| *line != ")").collect();
    let mut shown = format!(";; in all of them\n{}\n", common.join("\n"));
    for text in &texts {
        let own = text.lines().filter(|line| !common.contains(line));
        let own: Vec<&str> = own.collect();
        shown.push_str(&format!("\n{}\n", own.join("\n")));
    }
    insta::with_settings!({ omit_expression => true }, {
        insta::assert_snapshot!("seatbelt", shown);
    });
}

/// Reads a profile as its language does: lists, words and strings. A name that got out of its string
/// would change the shape, or be there under another text.
fn read(profile: &str) -> Vec<Item> {
    let mut open: Vec<Vec<Item>> = vec![Vec::new()];
    let mut chars = profile.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '(' => open.push(Vec::new()),
            ')' => {
                let list = Item::List(open.pop().unwrap());
                open.last_mut().expect("one `)` too many").push(list);
            }
            '"' => open.last_mut().unwrap().push(string(&mut chars)),
            c if c.is_whitespace() => {}
            c => {
                assert!(c != '#' && c != ';', "neither raw strings nor comments");
                let mut word = String::from(c);
                while let Some(c) = chars.next_if(|c| !c.is_whitespace() && !"()\"".contains(*c)) {
                    word.push(c);
                }
                open.last_mut().unwrap().push(Item::Word(word));
            }
        }
    }
    assert_eq!(open.len(), 1, "a `(` stays open");
    open.pop().unwrap()
}

fn string(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Item {
    let mut text = String::new();
    loop {
        match chars.next().expect("a string stays open") {
            '"' => return Item::Text(text),
            '\\' => match chars.next().unwrap() {
                'n' => text.push('\n'),
                'r' => text.push('\r'),
                't' => text.push('\t'),
                'x' => {
                    let digits: String = chars.by_ref().take(2).collect();
                    let code = u8::from_str_radix(&digits, 16).unwrap();
                    text.push(char::from(code));
                }
                c => text.push(c),
            },
            c => text.push(c),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    Word(String),
    Text(String),
    List(Vec<Item>),
}

/// A rule: its words, and its filters by name and text.
type Rule = (Vec<String>, Vec<(String, String)>);

fn rules(profile: &str) -> Vec<Rule> {
    let rules = read(profile).into_iter().map(|item| {
        let Item::List(items) = item else {
            panic!("not a rule: {item:?}")
        };
        let mut words = Vec::new();
        let mut filters = Vec::new();
        for item in items {
            match item {
                Item::Word(word) => words.push(word),
                Item::Text(text) => panic!("a text outside a filter: {text:?}"),
                Item::List(filter) => match filter.as_slice() {
                    [Item::Word(name), Item::Text(text)] => {
                        filters.push((name.clone(), text.clone()));
                    }
                    other => filters.push((format!("{other:?}"), String::new())),
                },
            }
        }
        (words, filters)
    });
    rules.collect()
}

/// Whether the last rule about an operation that fits a path allows it. Regular expressions are those
/// of [`caseless`] and of fixed places, which another engine reads alike.
fn allows(profile: &str, operation: &str, path: &str) -> bool {
    let fits = |(name, text): &(String, String)| match name.as_str() {
        "literal" => path == text,
        "subpath" => Path::new(path).starts_with(text),
        "regex" => regex::Regex::new(text).unwrap().is_match(path),
        _ => false,
    };
    let about = |word: &String| {
        word == "default"
            || word == operation
            || word
                .strip_suffix('*')
                .is_some_and(|start| operation.starts_with(start))
    };
    let rules = rules(profile);
    let last = rules.iter().rfind(|(words, filters)| {
        words.iter().skip(1).any(about) && (filters.is_empty() || filters.iter().any(fits))
    });
    last.is_some_and(|(words, _)| words.first().is_some_and(|word| word == "allow"))
}

/// No name changes what a profile says: its project can be written, its guard and its secret stay,
/// also in another spelling, and what lies beside it is not there.
#[test]
fn a_hostile_name_is_only_a_name() {
    for name in NAMES {
        let profile = profile(&plan_of(&named(name)), None);
        let at = |entry: &str| format!("/Users/u/{name}/{entry}");
        for (operation, path, want) in [
            ("file-write-data", at("a.txt"), true),
            ("file-read-data", at("a.txt"), true),
            ("file-write-data", at(".git/index"), true),
            ("file-write-create", at(".git/hooks/pre-commit"), false),
            ("file-write-create", at(".GIT/Hooks/pre-commit"), false),
            ("file-read-data", at(".git/hooks/pre-commit"), true),
            ("file-write-unlink", at(".git/hooks"), false),
            ("file-write-unlink", at(".git"), false),
            ("file-write-unlink", at(".git/index"), true),
            ("file-read-data", at(".env"), false),
            ("file-read-data", at(".ENV"), false),
            ("file-read-data", at(".env.example"), true),
            ("file-read-data", format!("/Users/u/{name}x/a.txt"), false),
            ("file-read-data", "/Users/u/.ssh/id".to_owned(), false),
            ("file-write-data", "/usr/bin/x".to_owned(), false),
            ("process-exec", "/usr/bin/env".to_owned(), true),
        ] {
            assert_eq!(
                allows(&profile, operation, &path),
                want,
                "{operation} {path:?} in {name:?}"
            );
        }
    }
}

/// No profile allows anything without saying what, but for what cannot leave the sandbox.
#[test]
fn nothing_is_allowed_as_a_whole() {
    let harmless = ["process-fork", "pseudo-tty", "system-socket"];
    for (name, (grant, proxy)) in grants() {
        for (words, filters) in rules(&profile(&plan_of(&grant), proxy)) {
            let allows = words.first().is_some_and(|word| word == "allow");
            let whole = filters.is_empty() && !harmless.contains(&words[1].as_str());
            assert!(!(allows && whole), "{name}: {words:?}");
            let wide = [
                "mach*",
                "ipc*",
                "system*",
                "default",
                "file*",
                "mach-register",
            ];
            let wide = words.iter().any(|word| wide.contains(&word.as_str()));
            assert!(!(allows && wide), "{name}: {words:?}");
        }
    }
}

/// Only a grant opens the network, and the proxy is the only port of the machine.
#[test]
fn the_network_is_as_granted() {
    for (name, (grant, proxy)) in grants() {
        let text = profile(&plan_of(&grant), proxy);
        let opens = text.matches("(remote").count() + text.matches("(local").count();
        let want = match (grant.network, proxy) {
            (Network::Whole, _) => 3,
            (Network::Hosts, Some(_)) => 1,
            (Network::None, _) | (Network::Hosts, None) => 0,
        };
        assert_eq!(opens, want, "{name}: {text}");
        let socket = text.contains("network-bind network-inbound");
        assert_eq!(socket, !grant.sockets.is_empty(), "{name}");
    }
    let (grant, proxy) = &grants()["hosts"];
    let text = profile(&plan_of(grant), *proxy);
    assert!(text.contains("(remote tcp \"localhost:3128\")"), "{text}");
}

/// A profile holds no value of the environment: it could be read by others.
#[test]
fn no_variable_is_in_a_profile() {
    let mut grant = named("plain");
    grant.env = Environment([("TOKEN".to_owned(), "hunter2".to_owned())].into());
    assert!(!profile(&plan_of(&grant), None).contains("hunter2"));
}

proptest! {
    /// Whatever the text, its literal is one string with that text.
    #[test]
    fn a_literal_is_one_string(text in "\\PC*|[\\x01-\\x7f\"\\\\]*") {
        let read = read(&quoted(&text).to_string());
        prop_assert_eq!(read, vec![Item::Text(text)]);
    }

    /// The expression of a path fits it, what lies below it and its other spellings, and not a
    /// neighbour.
    #[test]
    fn an_expression_fits_its_path(path in "(/[a-zA-Z.*+?()|\\[\\]{}^$\\\\\" é]{1,8}){1,3}", other in "[a-z]{1,4}") {
        let read = read(&caseless(&path).to_string());
        let [Item::Text(expression)] = read.as_slice() else { panic!("{read:?}") };
        let expression = regex::Regex::new(expression).unwrap();
        prop_assert!(expression.is_match(&path));
        prop_assert!(expression.is_match(&path.to_ascii_uppercase()));
        let below = format!("{path}/{other}");
        prop_assert!(expression.is_match(&below));
        let beside = format!("{path}{other}");
        prop_assert!(!expression.is_match(&beside));
    }
}
