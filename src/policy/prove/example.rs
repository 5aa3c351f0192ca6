//! A request that refutes a claim, told as a test of policies wherever a told request is like it.

use cedar_policy::{Authorizer, Decision, Policy, PolicySet as Cedar};
use cedar_policy_symcc::Env;
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

use crate::policy::evaluate::{Judge, Ruling};
use crate::policy::facts::{self, Mentioned, Scene};
use crate::policy::set::PolicySet;
use crate::policy::trial::word;
use crate::policy::verdict::PolicyOutcome;
use crate::request::Because;

use super::claim::{Implies, Question};
use super::told;

/// A request that a claim does not hold for.
#[derive(Clone, Debug, Serialize)]
pub struct Counterexample {
    /// What kind of request it is: `Agent tool.call Tool`.
    pub environment: String,
    /// The request as a test of policies, which passes once that is mended: an object with `name`,
    /// `do`, `expect` and `because`. `None` when no words tell such a request.
    pub test: Option<Json>,
    /// What it is about: `fs.read /home/u/.ssh/id_ed25519`, or all of the solver's example.
    pub request: String,
    /// The policies that allow it, or that end in an error.
    pub by: Vec<String>,
    /// What should come of it: the word of an outcome.
    pub instead: String,
    /// The policies that say so; none when no policy permits it.
    pub because: Vec<String>,
}

impl Counterexample {
    /// Of two sets, the first of which allows more.
    pub(super) fn of_sets(
        sides: &Implies,
        question: &Question,
        found: &Env,
    ) -> Result<Self, String> {
        let judge = Authorizer::new();
        let first = judge.is_authorized(&found.request, &sides.narrow.cedar, &found.entities);
        let second = judge.is_authorized(&found.request, &sides.wide.cedar, &found.entities);
        if (first.decision(), second.decision()) != (Decision::Allow, Decision::Deny) {
            return Err(NOT_SO.to_owned());
        }
        let differs = |words: &Map<String, Json>| {
            let allows =
                |store| outcome(store, words).is_some_and(|(_, now)| now.0 == PolicyOutcome::Allow);
            let (narrow, wide) = (&sides.narrow.store, &sides.wide.store);
            allows(narrow) && outcome(wide, words).is_some() && !allows(wide)
        };
        if let Some(words) = told::words(&sides.narrow.store, found, &differs)
            && let Some((scene, now)) = outcome(&sides.narrow.store, &words)
            && let Some((_, then)) = outcome(&sides.mended, &words)
        {
            return Ok(Self::told(question, words, (&scene, now), then));
        }
        let names = |response: &cedar_policy::Response| {
            let mut names: Vec<String> = response
                .diagnostics()
                .reason()
                .map(ToString::to_string)
                .collect();
            names.sort();
            names
        };
        Ok(Self {
            environment: question.environment(),
            test: None,
            request: written(found),
            by: names(&first),
            instead: "no permission".to_owned(),
            because: names(&second),
        })
    }

    /// Of a policy that ends in an error.
    pub(super) fn of_error(
        (store, policy): (&PolicySet, &Policy),
        question: &Question,
        found: &Env,
    ) -> Result<Self, String> {
        let alone = Cedar::from_policies([policy.clone()]).map_err(|why| why.to_string())?;
        let response = Authorizer::new().is_authorized(&found.request, &alone, &found.entities);
        if response.diagnostics().errors().next().is_none() {
            return Err(NOT_SO.to_owned());
        }
        let id = policy.id().to_string();
        let errs = |words: &Map<String, Json>| errs(store, words, &id);
        if let Some(words) = told::words(store, found, &errs)
            && let Some((scene, now)) = outcome(store, &words)
        {
            let mut example = Self::told(question, words, (&scene, now.clone()), now);
            example.by = vec![id];
            return Ok(example);
        }
        Ok(Self {
            environment: question.environment(),
            test: None,
            request: written(found),
            by: vec![id],
            instead: "no error".to_owned(),
            because: Vec::new(),
        })
    }

    fn told(
        question: &Question,
        words: Map<String, Json>,
        (scene, now): (&Scene, Ruling),
        (then, because): Ruling,
    ) -> Self {
        let by = names(&now.1);
        let mut because = names(&because);
        because.retain(|id| !id.starts_with('('));
        let instead = word(then);
        let what = &scene.what;
        let test = json!({
            "name": format!("{what} {}", verb(then)),
            "do": words,
            "expect": instead,
            "because": because.iter().filter(|id| !id.starts_with("invariant/")).collect::<Vec<_>>(),
        });
        Self {
            environment: question.environment(),
            test: Some(test),
            request: what.clone(),
            by,
            instead,
            because,
        }
    }
}

/// A solver's example as text, without the entities of which there is nothing to say.
fn written(found: &Env) -> String {
    let text = found.to_string();
    let says = |line: &&str| {
        let bare = line.starts_with("  ") && line.ends_with("\",") && !line.contains(": ");
        !bare && !line.starts_with("  Action::")
    };
    let lines: Vec<&str> = text.lines().filter(says).collect();
    lines.join("\n")
}

const NOT_SO: &str = "the solver's example does not hold when it is evaluated";

fn verb(outcome: PolicyOutcome) -> &'static str {
    match outcome {
        PolicyOutcome::Allow => "is allowed",
        PolicyOutcome::Ask(_) => "needs an answer",
        PolicyOutcome::Deny => "is denied",
    }
}

/// How a told request comes out; `None` when it cannot be told.
fn outcome(store: &PolicySet, words: &Map<String, Json>) -> Option<(Scene, Ruling)> {
    let mentioned = Mentioned::Only(store.0.index.looks());
    let scene = facts::scene(words, mentioned, store.0.terms()).ok()?;
    let ruling = Judge::new(&store.0, &scene.judged).ruling(None, scene.held);
    Some((scene, ruling))
}

/// Whether a policy ends in an error for a told request.
fn errs(store: &PolicySet, words: &Map<String, Json>, id: &str) -> bool {
    let Some((scene, _)) = outcome(store, words) else {
        return false;
    };
    let judge = Judge::new(&store.0, &scene.judged);
    let Ok(request) = scene.judged.request(scene.held) else {
        return false;
    };
    let evaluation = judge.evaluation(request);
    let mut errors = evaluation.errors.iter();
    errors.any(|(rule, _)| rule.loaded.policy.id().to_string() == id)
}

fn names(because: &[Because]) -> Vec<String> {
    let mut names: Vec<String> = because.iter().map(|one| one.policy.clone()).collect();
    names.dedup();
    names
}
