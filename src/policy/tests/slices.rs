//! Slicing, of policies and of folders, changes nothing: verdicts and reasons are those of one set of
//! all policies, judged on all that is known.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Arc, LazyLock};

use cedar_policy::{Authorizer, Decision, Entities, PolicySet as Cedar, Request};
use proptest::prelude::{Strategy, proptest};
use proptest::sample::{select, subsequence};

use super::base::{
    Asking, arg_path, call, env, exec, path, prompt, resource, start, tools, user, wish,
};
use crate::policy::evaluate::Judge;
use crate::policy::facts::{self, Judged, Mentioned};
use crate::policy::load::{Checked, Loaded, load_with};
use crate::policy::members::Members;
use crate::policy::typed::Locks;
use crate::policy::{PolicyOutcome, PolicyProblem, PolicySet, PolicySource};
use crate::request::{Answer, Layer, Source, Wish};

const EFFECTS: [&str; 2] = ["permit", "forbid"];
const ACTIONS: [&str; 6] = [
    "action",
    "action in Action::\"sandbox\"",
    "action in Action::\"tool\"",
    "action == Action::\"tool.call\"",
    "action == Action::\"sandbox.read\"",
    "action in [Action::\"start\", Action::\"write\"]",
];
const RESOURCES: [&str; 10] = [
    "resource",
    "resource is Path",
    "resource == Path::\"/w/p/docs/a.md\"",
    "resource in Path::\"./docs\"",
    "resource in Place::\"project\"",
    "resource is Path in Place::\"project-vcs\"",
    "resource in Server::\"user/files\"",
    "resource == Tool::\"user/files/read_text_file\"",
    "resource in Source::\"project\"",
    "resource == EnvVar::\"LANG\"",
];
const ANSWERS: [&str; 4] = ["", "approved", "approved_this_session", "approved_now"];

/// Every combination that the loader accepts.
static POOL: LazyLock<Vec<Arc<Loaded>>> = LazyLock::new(|| {
    let mut sources = Vec::new();
    for effect in EFFECTS {
        for (action, scope) in pairs() {
            for (at, answer) in ANSWERS.into_iter().enumerate() {
                let clause = match (effect, answer) {
                    (_, "") => String::new(),
                    ("permit", flag) => format!("when {{ context.{flag} }}"),
                    (_, flag) => format!("unless {{ context.{flag} }}"),
                };
                let text =
                    format!("@id(\"p{at}\") {effect} (principal, {action}, {scope}) {clause};");
                sources.push(PolicySource {
                    layer: Layer::User,
                    file: format!("f{}.cedar", sources.len()),
                    text,
                });
            }
        }
    }
    let refused = load(&sources).unwrap_err();
    let refused: HashSet<String> = refused
        .into_iter()
        .filter(|problem| problem.fatal)
        .map(|problem| problem.file)
        .collect();
    sources.retain(|source| !refused.contains(&source.file));
    load(&sources)
        .unwrap()
        .policies
        .into_iter()
        .map(Arc::new)
        .collect()
});

fn load(sources: &[PolicySource]) -> Result<Checked, Vec<PolicyProblem>> {
    load_with(sources, &Locks::default(), &[])
}

fn pairs() -> impl Iterator<Item = (&'static str, &'static str)> {
    ACTIONS.into_iter().flat_map(|action| {
        RESOURCES
            .into_iter()
            .map(move |resource| (action, resource))
    })
}

fn requests() -> Vec<Asking> {
    let read = |text: &str| wish(Wish::Read(path(text)));
    let mut cloned = call();
    cloned.server().id.source = Source::Project;
    let mut outside = call();
    outside
        .call()
        .paths
        .push(arg_path("to", "/home/u/.ssh/id_rsa"));
    vec![
        call(),
        cloned,
        outside,
        env("LANG"),
        env("X"),
        exec(),
        prompt(),
        resource(),
        start(),
        tools(),
        read("docs/a.md"),
        read("docs"),
        read(".git/config"),
        read("/usr/bin"),
        wish(Wish::Write(path("docs/a.md"))),
        wish(Wish::Write(path("/home/u/.ssh"))),
    ]
}

fn policies() -> impl Strategy<Value = Vec<Arc<Loaded>>> {
    subsequence((0..POOL.len()).collect::<Vec<_>>(), 1..12)
        .prop_map(|picked| picked.into_iter().map(|at| Arc::clone(&POOL[at])).collect())
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(48))]
    #[test]
    fn slices_judge_like_the_whole(extra in policies(), held in select(vec![
        Answer::None, Answer::Remembered, Answer::Session, Answer::Once,
    ])) {
        let builtin = PolicySet::builtin();
        let all: Vec<Arc<Loaded>> = builtin.0.policies.values().cloned().chain(extra).collect();
        let whole = Cedar::from_policies(all.iter().map(|one| one.policy.clone())).unwrap();
        let set = PolicySet::new(all, Members::default()).unwrap();
        judges_like(&set, &whole, (requests(), held));
    }
}

/// A sliced set decides what all policies decide with all that is known, and what Cedar decides.
pub(super) fn judges_like(
    set: &PolicySet,
    whole: &Cedar,
    (requests, held): (impl IntoIterator<Item = Asking>, Answer),
) {
    for asking in requests {
        let query = asking.query();
        let judged = set.judged(&query).unwrap();
        let sliced = Judge::new(&set.0, &judged).ruling(Some(&query), held);
        let judged = facts::judged(&query, Mentioned::Any, set.0.terms()).unwrap();
        let mut judge = Judge::new(&set.0, &judged);
        judge.rules = set.0.index.all();
        assert_eq!(sliced, judge.ruling(Some(&query), held), "{query:?}");
        same_as_cedar(&judge, &judged, held, whole);
    }
}

/// Evaluating is what Cedar's own authorizer does with all policies as one set.
fn same_as_cedar(judge: &Judge<'_>, judged: &Judged, held: Answer, whole: &Cedar) {
    let request = judged.request(held).unwrap();
    let ours = judge.evaluation(request.clone());
    let entities = Entities::from(judged.entities.clone());
    let response = Authorizer::new().is_authorized(&Request::from(request), whole, &entities);
    assert_eq!(ours.allows(), response.decision() == Decision::Allow);
    let deciding = if ours.allows() {
        &ours.permits
    } else {
        &ours.forbids
    };
    let deciding = deciding
        .iter()
        .map(|rule| rule.loaded.policy.id().to_string());
    let theirs = response.diagnostics().reason().map(ToString::to_string);
    assert_eq!(
        deciding.collect::<BTreeSet<_>>(),
        theirs.collect::<BTreeSet<_>>()
    );
    let ours = ours.errors.iter().map(|(_, error)| error.clone());
    let theirs = response.diagnostics().errors().map(ToString::to_string);
    assert_eq!(
        ours.collect::<BTreeSet<_>>(),
        theirs.collect::<BTreeSet<_>>()
    );
}

proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(24))]
    /// A stronger answer never takes away what a weaker one gave.
    #[test]
    fn answers_only_help(extra in policies()) {
        let builtin = PolicySet::builtin();
        let all = builtin.0.policies.values().cloned().chain(extra).collect();
        let set = PolicySet::new(all, Members::default()).unwrap();
        for asking in requests() {
            let outcome = |held| set.evaluate_all(&[asking.query()], held).outcome;
            let mut before = outcome(Answer::None);
            for held in Answer::LADDER {
                let now = outcome(held);
                let expected = match before {
                    PolicyOutcome::Ask(enough) if enough <= held => PolicyOutcome::Allow,
                    other => other,
                };
                assert_eq!(now, expected, "{asking:?} {held:?}");
                before = now;
            }
        }
    }
}

/// The pool is what it should be: most combinations load.
#[test]
fn the_pool_is_large() {
    assert!(POOL.len() > 200, "{}", POOL.len());
}

/// Folders count when a condition names them, and when the request itself does.
#[test]
fn folders_that_can_be_looked_at_stay() {
    let mut moved = call();
    moved.call().paths = vec![arg_path("from", "docs/a.md"), arg_path("to", "docs")];
    let check = |condition: &str, want: PolicyOutcome| {
        let rule = format!(
            "@id(\"all\") permit (principal, action, resource);
             @id(\"no\") forbid (principal, action == Action::\"tool.call\", resource) when {{ {condition} }};"
        );
        assert_eq!(moved.outcome(&user(&rule)), want, "{condition}");
    };
    check("context.every_path in Path::\"/w\"", PolicyOutcome::Deny);
    check("context.every_path in Path::\"/x\"", PolicyOutcome::Allow);
    check(
        "context.some_path in [Path::\"/x\", Path::\"./docs\"]",
        PolicyOutcome::Deny,
    );
    let both = "context.arg_paths.hasTag(\"from\") && context.arg_paths.hasTag(\"to\")";
    let tags = |one: &str, other: &str| {
        format!(
            "{both} && context.arg_paths.getTag(\"{one}\") in context.arg_paths.getTag(\"{other}\")"
        )
    };
    check(&tags("from", "to"), PolicyOutcome::Deny);
    check(&tags("to", "from"), PolicyOutcome::Allow);
}

/// Arguments are put in where any policy reads them, however it comes to them.
#[test]
fn arguments_that_are_read_are_there() {
    let check = |condition: &str| {
        let rule = format!(
            "@id(\"all\") permit (principal, action, resource);
             @id(\"no\") forbid (principal, action == Action::\"tool.call\", resource) when {{ {condition} }};"
        );
        assert_eq!(
            call().outcome(&user(&rule)),
            PolicyOutcome::Deny,
            "{condition}"
        );
    };
    check("context.args.hasTag(\"path\")");
    check("context[\"args\"].hasTag(\"path\")");
    check("Args::\"call\".hasTag(\"path\")");
    check("context.run.now > datetime(\"2026-01-01\")");
    check("context[\"run\"][\"now\"] > datetime(\"2026-01-01\")");
    check("context.run == context.run && context.args_valid");
    check("action in Action::\"tool\"");
    check("Action::\"sandbox.read\" in Action::\"sandbox\"");
    check("context.args_json like \"*path*\"");
}

/// A path is in its own place alone, whatever else a call names: a rule about `project` must not hold
/// for `.git/config` because the root of the project is named beside it.
#[test]
fn a_second_path_lends_no_place() {
    let rule = "@id(\"in\") permit (principal, action == Action::\"tool.call\", resource)
        when { context.every_path in Place::\"project\" };";
    let check = |paths: &[&str], want: PolicyOutcome| {
        let mut asking = call();
        let names = ["a", "b", "c"].into_iter().zip(paths);
        asking.call().paths = names.map(|(name, path)| arg_path(name, path)).collect();
        assert_eq!(asking.outcome(&user(rule)), want, "{paths:?}");
    };
    check(&["docs/a.md"], PolicyOutcome::Allow);
    check(&["docs/a.md", "docs", "/w/p"], PolicyOutcome::Allow);
    check(&[".git/config"], PolicyOutcome::Ask(Answer::Remembered));
    check(
        &["/w/p", ".git/config"],
        PolicyOutcome::Ask(Answer::Remembered),
    );
    check(
        &[".git/config", "docs", "/w/p"],
        PolicyOutcome::Ask(Answer::Remembered),
    );
}
