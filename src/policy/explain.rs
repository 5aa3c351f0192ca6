//! Why: every policy in scope, clause by clause, beside the same verdict that decides.

use std::fmt;
use std::sync::Arc;

use cedar_policy::{Authorizer, Decision, Entities, Policy, PolicyId, PolicySet as Cedar, Request};
use cedar_policy_core::ast::Expr;
use serde::Serialize;
use serde_json::{Value, json};

use crate::request::{Answer, Query};

use super::evaluate::Judge;
use super::facts::Judged;
use super::index::Rule;
use super::load::Loaded;
use super::polarity::conditions;
use super::set::{PolicyEffect, PolicyInfo, PolicySet};
use super::source::one_line;
use super::verdict::{PolicyOutcome, Verdict};

/// Why an action is judged as it is.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Explanation {
    /// The verdict: the one that decides.
    pub verdict: Verdict,
    /// The answer that was held to be on file.
    pub held: Answer,
    /// Query by query.
    pub parts: Vec<ExplainedPart>,
}

/// One query of an action.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ExplainedPart {
    /// What was judged.
    pub what: String,
    /// Its outcome.
    pub outcome: PolicyOutcome,
    /// The facts.
    pub facts: Value,
    /// Every policy whose scope fits, those that hold first.
    pub policies: Vec<ExplainedPolicy>,
}

/// One policy whose scope fits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedPolicy {
    /// The policy.
    pub policy: PolicyInfo,
    /// Whether it holds with the answer at hand.
    pub satisfied: Truth,
    /// Its clauses; a chain of `&&` in a `when` is taken apart.
    pub clauses: Vec<Clause>,
    /// Whether the outcome would be another if this policy held where it does not, or the reverse.
    pub decides: bool,
}

/// One clause of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Clause {
    /// Its text.
    pub text: String,
    /// `when` or `unless`.
    pub kind: String,
    /// Its value.
    pub value: Truth,
    /// Whether the outcome would be another if this clause alone had another value.
    pub flips: bool,
}

/// The value of a clause or a policy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Truth {
    /// It holds.
    Yes,
    /// It does not hold.
    No,
    /// It could not be evaluated.
    Error(String),
}

impl PolicySet {
    /// Explains the verdict of [`PolicySet::evaluate_all`].
    #[must_use]
    pub fn explain(&self, queries: &[Query<'_>], held: Answer) -> Explanation {
        let verdict = self.evaluate_all(queries, held);
        let parts = queries
            .iter()
            .zip(&verdict.parts)
            .map(|(query, (what, outcome, _))| ExplainedPart {
                what: what.clone(),
                outcome: *outcome,
                facts: self.facts(query),
                policies: self.in_scope(query, (held, *outcome)),
            })
            .collect();
        Explanation {
            verdict,
            held,
            parts,
        }
    }

    fn in_scope(
        &self,
        query: &Query<'_>,
        (held, outcome): (Answer, PolicyOutcome),
    ) -> Vec<ExplainedPolicy> {
        let Some(probe) = Probe::new(self, query, held) else {
            return Vec::new();
        };
        let mut found: Vec<ExplainedPolicy> = self
            .0
            .index
            .rules(
                &probe.judged.env,
                &probe.judged.resource,
                &probe.judged.entities,
            )
            .into_iter()
            .filter_map(|rule| probe.policy(&rule.loaded))
            .collect();
        for policy in &mut found {
            self.flips(policy, &probe.judged, (held, outcome));
        }
        found.sort_by_key(|one| (one.satisfied == Truth::No, one.policy.id.clone()));
        found
    }
}

impl PolicySet {
    /// Marks what would turn the outcome: a policy, and the clauses on which alone it hangs.
    fn flips(
        &self,
        explained: &mut ExplainedPolicy,
        judged: &Judged,
        (held, outcome): (Answer, PolicyOutcome),
    ) {
        let id = PolicyId::new(&explained.policy.id);
        let mut judge = Judge::new(&self.0, judged);
        judge.rules.retain(|rule| *rule.loaded.policy.id() != id);
        // In place of one that does not hold, one that does whatever the circumstances.
        let holding = self.0.policies.get(&id).map(|loaded| Rule {
            loaded: Arc::clone(loaded),
            condition: Expr::val(true),
        });
        if explained.satisfied == Truth::No {
            judge.rules.extend(&holding);
        }
        let other = judge.ruling(None, held).0;
        explained.decides = other != outcome;
        let fails = |clause: &Clause| (clause.value == Truth::Yes) != (clause.kind == "when");
        let failing = explained
            .clauses
            .iter()
            .filter(|clause| fails(clause))
            .count();
        let holds = explained.satisfied == Truth::Yes;
        for clause in &mut explained.clauses {
            clause.flips = explained.decides && (holds || (failing == 1 && fails(clause)));
        }
    }
}

/// Evaluates pieces of policies on one request.
struct Probe {
    judged: Judged,
    request: Request,
    entities: Entities,
}

impl Probe {
    fn new(set: &PolicySet, query: &Query<'_>, held: Answer) -> Option<Self> {
        let judged = set.judged(query).ok()?;
        let request = judged.request(held).ok()?.into();
        let entities = judged.entities.clone().into();
        Some(Self {
            judged,
            request,
            entities,
        })
    }

    /// A policy in scope with its clauses; `None` when its scope does not fit.
    fn policy(&self, loaded: &Loaded) -> Option<ExplainedPolicy> {
        let whole = loaded.json().ok()?;
        if self.value(&piece(Some(&whole), None)?) != Truth::Yes {
            return None;
        }
        let mut clauses = Vec::new();
        for (kind, body) in conditions(&whole) {
            let mut bodies = Vec::new();
            if kind == "when" {
                take_apart(body, &mut bodies);
            } else {
                bodies.push(body);
            }
            clauses.extend(
                bodies
                    .into_iter()
                    .filter_map(|body| self.clause(kind, body)),
            );
        }
        let mut permit = whole.clone();
        if let Some(effect) = permit.get_mut("effect") {
            *effect = json!("permit");
        }
        let policy = Policy::from_json(Some(PolicyId::new("probe")), permit).ok()?;
        Some(ExplainedPolicy {
            policy: loaded.info(),
            satisfied: self.value(&policy),
            clauses,
            decides: false,
        })
    }

    fn clause(&self, kind: &str, body: &Value) -> Option<Clause> {
        let policy = piece(None, Some(body))?;
        let text = policy.to_cedar()?;
        let text = text.split_once("when").map_or("", |(_, rest)| rest);
        let text = text.trim().trim_end_matches(';').trim();
        let text = text.strip_prefix('{').unwrap_or(text);
        let text = text.strip_suffix('}').unwrap_or(text);
        Some(Clause {
            text: one_line(text),
            kind: kind.to_owned(),
            value: self.value(&policy),
            flips: false,
        })
    }

    fn value(&self, policy: &Policy) -> Truth {
        evaluate(&self.request, policy, &self.entities)
    }
}

fn evaluate(request: &Request, policy: &Policy, entities: &Entities) -> Truth {
    let set = match Cedar::from_policies([policy.clone()]) {
        Ok(set) => set,
        Err(error) => return Truth::Error(error.to_string()),
    };
    let response = Authorizer::new().is_authorized(request, &set, entities);
    if let Some(error) = response.diagnostics().errors().next() {
        return Truth::Error(one_line(&error.to_string()));
    }
    match response.decision() {
        Decision::Allow => Truth::Yes,
        Decision::Deny => Truth::No,
    }
}

/// A permit with the scope of one policy, or one clause, alone.
fn piece(scope_of: Option<&Value>, body: Option<&Value>) -> Option<Policy> {
    let scope = |part: &str| {
        scope_of
            .and_then(|policy| policy.get(part))
            .cloned()
            .unwrap_or_else(|| json!({ "op": "All" }))
    };
    let conditions = body.map(|body| json!({ "kind": "when", "body": body }));
    let policy = json!({
        "effect": "permit",
        "principal": scope("principal"),
        "action": scope("action"),
        "resource": scope("resource"),
        "conditions": conditions.into_iter().collect::<Vec<_>>(),
    });
    Policy::from_json(Some(PolicyId::new("probe")), policy).ok()
}

fn take_apart<'a>(body: &'a Value, into: &mut Vec<&'a Value>) {
    match body
        .get("&&")
        .and_then(|and| Some((and.get("left")?, and.get("right")?)))
    {
        Some((left, right)) => {
            take_apart(left, into);
            take_apart(right, into);
        }
        None => into.push(body),
    }
}

impl fmt::Display for Truth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Yes => f.write_str("true"),
            Self::No => f.write_str("false"),
            Self::Error(error) => write!(f, "error: {error}"),
        }
    }
}

impl fmt::Display for PolicyOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allow => f.write_str("allow"),
            Self::Ask(answer) => write!(f, "ask (an answer may last: {})", answer.word()),
            Self::Deny => f.write_str("deny"),
        }
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.verdict.outcome)?;
        for because in &self.verdict.because {
            writeln!(f, "  {}: {}", because.policy, because.reason)?;
        }
        for part in &self.parts {
            write!(f, "\n{part}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ExplainedPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}: {}", one_line(&self.what), self.outcome)?;
        self.policies
            .iter()
            .try_for_each(|policy| write!(f, "{policy}"))
    }
}

impl fmt::Display for ExplainedPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PolicyInfo { id, file, line, .. } = &self.policy;
        let effect = match self.policy.effect {
            PolicyEffect::Permit => "permit",
            PolicyEffect::Forbid => "forbid",
        };
        writeln!(f, "  {effect} {id} ({file}:{line}): {}", self.satisfied)?;
        self.clauses.iter().try_for_each(|clause| {
            let Clause {
                kind,
                text,
                value,
                flips,
            } = clause;
            let mark = if *flips { "   <- would turn it" } else { "" };
            writeln!(f, "    {kind} {text}: {value}{mark}")
        })
    }
}
