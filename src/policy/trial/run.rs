//! Runs tests. With mutation each policy in reach of a test is taken out in turn: a policy whose
//! loss no test notices is not held.

use std::collections::BTreeMap;
use std::sync::Arc;

use cedar_policy::{Policy, PolicyId, PrincipalConstraint, ResourceConstraint};

use crate::policy::evaluate::{Judge, Ruling};
use crate::policy::facts::{self, Mentioned, Scene};
use crate::policy::load::{Loaded, load_with};
use crate::policy::verdict::PolicyOutcome;
use crate::policy::{PolicyProblem, PolicySet, PolicySource};
use crate::request::{Because, Layer};

use super::case::{PolicyTest, word};
use super::report::{PolicyCover, TestReport, TestResult};

/// What tests said about one policy.
#[derive(Clone, Debug, Default)]
struct Seen {
    decides: usize,
    spares: usize,
    held: bool,
}

impl PolicySet {
    /// Runs tests against this store; coverage and mutation are of the policies of these layers.
    #[must_use]
    pub fn test(&self, tests: &[PolicyTest], layers: &[Layer]) -> TestReport {
        let mut seen: BTreeMap<String, Seen> = BTreeMap::new();
        let mut results = Vec::new();
        for test in tests {
            // Policies that stand beside those that are tested, for this one test.
            let result = match self.beside(test) {
                Ok(Some(store)) => store.one(test, &mut seen),
                Ok(None) => self.one(test, &mut seen),
                Err(problem) => blank(test, Some(problem)),
            };
            results.push(result);
        }
        let covered = self.0.policies.values();
        let covered = covered.filter(|policy| layers.contains(&policy.layer));
        let mut policies: Vec<PolicyCover> = covered
            .map(|loaded| cover(loaded, &seen, results.len()))
            .collect();
        policies.sort_by(|a, b| (&a.file, a.line).cmp(&(&b.file, b.line)));
        TestReport { results, policies }
    }

    fn beside(&self, test: &PolicyTest) -> Result<Option<Self>, String> {
        let Some(text) = &test.beside else {
            return Ok(None);
        };
        let source = PolicySource {
            layer: Layer::User,
            file: "beside.cedar".to_owned(),
            text: text.clone(),
        };
        let said = |problems: Vec<PolicyProblem>| {
            let first = problems.iter().find(|problem| problem.fatal);
            first.map_or_else(String::new, ToString::to_string)
        };
        let mut all: Vec<Arc<Loaded>> = self.0.policies.values().cloned().collect();
        let checked = load_with(&[source], &self.0.locks, &all).map_err(said)?;
        all.extend(checked.policies.into_iter().map(Arc::new));
        let words = (checked.vocabulary, self.0.locks.clone());
        Self::with(all, self.0.members.clone(), words).map(Some)
    }

    fn one(&self, test: &PolicyTest, seen: &mut BTreeMap<String, Seen>) -> TestResult {
        let mentioned = Mentioned::Only(self.0.index.looks());
        let scene = match facts::scene(&test.request, mentioned, self.0.terms()) {
            Ok(scene) => scene,
            Err(error) => return blank(test, Some(error.to_string())),
        };
        let judge = Judge::new(&self.0, &scene.judged);
        let (outcome, because) = attended(&scene, judge.ruling(None, scene.held));
        self.note(test, &scene, &because, seen);
        let mut missing = test.because.iter().filter(|id| !names(&because, id));
        let problem = if !test.expect.is(outcome) {
            let (want, got) = (test.expect.word(), word(outcome));
            Some(format!("wanted {want}, got {got}"))
        } else {
            missing.next().map(|id| self.missed(id))
        };
        TestResult {
            got: word(outcome),
            what: scene.what,
            because,
            ..blank(test, problem)
        }
    }

    /// Why a policy is not among the reasons.
    fn missed(&self, id: &str) -> String {
        if self.0.policies.contains_key(&PolicyId::new(id)) {
            format!("not because of {id}")
        } else {
            format!("there is no policy `{id}`")
        }
    }

    /// Notes what a test shows about each policy that it reaches.
    fn note(
        &self,
        test: &PolicyTest,
        scene: &Scene,
        because: &[Because],
        seen: &mut BTreeMap<String, Seen>,
    ) {
        for id in self.0.index.reach(&scene.judged.env) {
            let name = id.to_string();
            let seen = seen.entry(name.clone()).or_default();
            if names(because, &name) {
                seen.decides += 1;
            } else {
                seen.spares += 1;
            }
            seen.held = seen.held || !test.expect.is(self.without(scene, &id));
        }
    }

    /// The outcome of a request if one policy were not there.
    fn without(&self, scene: &Scene, id: &PolicyId) -> PolicyOutcome {
        let mut judge = Judge::new(&self.0, &scene.judged);
        judge.rules.retain(|rule| rule.loaded.policy.id() != id);
        let ruling = judge.ruling(None, scene.held);
        attended(scene, ruling).0
    }
}

/// A test without its outcome.
fn blank(test: &PolicyTest, problem: Option<String>) -> TestResult {
    TestResult {
        file: test.file.clone(),
        line: test.line,
        name: test.name.clone(),
        what: String::new(),
        want: test.expect.word(),
        got: String::new(),
        because: Vec::new(),
        problem,
    }
}

/// What the tests show about one policy. One that holds for every request in its reach leaves those
/// alone that are not.
fn cover(loaded: &Loaded, seen: &BTreeMap<String, Seen>, tests: usize) -> PolicyCover {
    let id = loaded.policy.id().to_string();
    let seen = seen.get(&id).cloned().unwrap_or_default();
    let spares = if is_narrow(&loaded.policy) {
        seen.spares
    } else {
        tests.saturating_sub(seen.decides)
    };
    PolicyCover {
        id,
        file: loaded.file.clone(),
        line: loaded.line,
        decides: seen.decides,
        spares,
        held: seen.held,
    }
}

/// Whether something beside the types decides whether a policy holds.
fn is_narrow(policy: &Policy) -> bool {
    let anybody = matches!(
        policy.principal_constraint(),
        PrincipalConstraint::Any | PrincipalConstraint::Is(_)
    );
    let anything = matches!(
        policy.resource_constraint(),
        ResourceConstraint::Any | ResourceConstraint::Is(_)
    );
    let always = policy.as_ref().non_scope_constraints().is_none();
    !(anybody && anything && always)
}

fn names(because: &[Because], id: &str) -> bool {
    because.iter().any(|because| because.policy == id)
}

/// A question that nobody is there to answer is a denial.
fn attended(scene: &Scene, (outcome, because): Ruling) -> Ruling {
    match outcome {
        PolicyOutcome::Ask(_) if !scene.attended => (PolicyOutcome::Deny, because),
        outcome => (outcome, because),
    }
}
