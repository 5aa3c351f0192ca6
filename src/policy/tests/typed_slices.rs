//! Slices judge calls of tools with actions of their own like the whole set.

use std::sync::Arc;

use proptest::prelude::{Strategy, proptest};
use proptest::sample::{select, subsequence};
use serde_json::json;

use super::base::{Asking, call, env, exec, tools};
use super::slices::judges_like;
use super::typed::{OWN, TOOL, lock, schema, source, with};
use crate::policy::load::{Checked, Loaded, load_with};
use crate::policy::members::Members;
use crate::policy::typed::Locks;
use crate::policy::{PolicySet, PolicySource};
use crate::request::{Answer, Layer};

const HEADS: [&str; 6] = [
    "action",
    "action in Action::\"tool.call\"",
    "action in Action::\"tool\"",
    "action == Action::\"user/files/read_text_file\"",
    "action in [Action::\"user/files/read_text_file\", Action::\"start\"]",
    "action == Action::\"sandbox.env\"",
];
const SCOPES: [&str; 4] = [
    "resource",
    "resource in Server::\"user/files\"",
    "resource == Tool::\"user/files/read_text_file\"",
    "resource is Tool in Source::\"user\"",
];
const CLAUSES: [&str; 4] = [
    "",
    "when { context.input.path like \"*.md\" }",
    "when { context.input has head && context.input.head > 5 }",
    "when { context.secrets_in_args }",
];

/// Every combination that Cedar accepts, with what they are written in.
fn pool() -> Checked {
    let (locks, _) = Locks::read(&[lock(&[(TOOL, &schema())])]).unwrap();
    let mut sources = vec![source(Layer::User, OWN)];
    let heads = HEADS
        .iter()
        .flat_map(|head| SCOPES.map(|scope| (head, scope)));
    let each = heads.flat_map(|of| ["permit", "forbid"].map(|effect| (of, effect)));
    for ((head, scope), effect) in each {
        let policy = |(at, clause): (usize, &&str)| {
            format!("@id(\"p{at}\") {effect} (principal, {head}, {scope}) {clause};")
        };
        for text in CLAUSES.iter().enumerate().map(policy) {
            sources.push(PolicySource {
                file: format!("f{}.cedar", sources.len()),
                ..source(Layer::User, &text)
            });
        }
    }
    let refused = load_with(&sources, &locks, &[]).unwrap_err();
    let refused: Vec<String> = refused
        .into_iter()
        .filter(|it| it.fatal)
        .map(|it| it.file)
        .collect();
    sources.retain(|source| !refused.contains(&source.file));
    load_with(&sources, &locks, &[]).unwrap()
}

fn requests() -> Vec<Asking> {
    let mut other = call();
    other.call().tool.name = "other".to_owned();
    let mut secret = call();
    secret.call().secrets = true;
    vec![
        call(),
        other,
        secret,
        with(json!({"path": "x", "head": 3})),
        env("LANG"),
        exec(),
        tools(),
    ]
}

#[test]
fn the_pool_is_large() {
    assert!(pool().policies.len() > 90, "{}", pool().policies.len());
}

fn picked() -> impl Strategy<Value = Vec<Arc<Loaded>>> {
    let all: Vec<Arc<Loaded>> = pool().policies.into_iter().map(Arc::new).collect();
    subsequence(all, 1..12)
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(32))]
    #[test]
    fn slices_judge_typed_calls_like_the_whole(extra in picked(), held in select(vec![
        Answer::None, Answer::Session, Answer::Once,
    ])) {
        let vocabulary = pool().vocabulary;
        let builtin = PolicySet::builtin();
        let all: Vec<Arc<Loaded>> = builtin.0.policies.values().cloned().chain(extra).collect();
        let whole = cedar_policy::PolicySet::from_policies(all.iter().map(|one| one.policy.clone())).unwrap();
        let set = PolicySet::with(all, Members::default(), (vocabulary, Locks::default())).unwrap();
        judges_like(&set, &whole, (requests(), held));
    }
}
