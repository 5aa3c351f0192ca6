//! Judging: the weakest human answer under which every query of an action is allowed.
//! Dry run, explain and the real run all come through here.

use cedar_policy::Effect;
use cedar_policy_core::ast::{Request, SlotEnv, Value};
use cedar_policy_core::authorizer::AuthorizationError;
use cedar_policy_core::evaluator::Evaluator;
use cedar_policy_core::extensions::Extensions;

use crate::grant::Confinement;
use crate::request::{Act, Answer, Because, Layer, Query, Role};

use super::facts::{self, FactError, Judged, Mentioned};
use super::index::Rule;
use super::set::{PolicySet, Store};
use super::verdict::{PolicyOutcome, Verdict, VerdictPart, engine, tool};

/// One evaluation of all policies that can apply; each list by id.
#[derive(Debug, Default)]
pub(super) struct Evaluation<'a> {
    pub(super) permits: Vec<&'a Rule>,
    pub(super) forbids: Vec<&'a Rule>,
    pub(super) errors: Vec<(&'a Rule, String)>,
}

impl Evaluation<'_> {
    pub(super) fn allows(&self) -> bool {
        self.forbids.is_empty() && !self.permits.is_empty()
    }
}

/// Judges one query under several answers.
pub(super) struct Judge<'a> {
    judged: &'a Judged,
    /// Every policy in question, by id.
    pub(super) rules: Vec<&'a Rule>,
}

/// What ends judging at once: a forbid that could not be evaluated, facts that do not fit.
struct Refused(Vec<Because>);

impl<'a> Judge<'a> {
    pub(super) fn new(store: &'a Store, judged: &'a Judged) -> Self {
        let Judged {
            env,
            resource,
            entities,
            ..
        } = judged;
        let rules = store.index.rules(env, resource, entities);
        Self { judged, rules }
    }

    /// Which policies hold.
    pub(super) fn evaluation(&self, request: Request) -> Evaluation<'a> {
        let evaluator = Evaluator::new(request, &self.judged.entities, Extensions::all_available());
        let slots = SlotEnv::new();
        let yes = Value::from(true);
        let mut evaluation = Evaluation::default();
        for rule in &self.rules {
            let policy = &rule.loaded.policy;
            match evaluator.interpret(&rule.condition, &slots) {
                // Scope and conditions are joined by `&&`: what is not true is false.
                Ok(value) if value != yes => {}
                Ok(_) if policy.effect() == Effect::Permit => evaluation.permits.push(rule),
                Ok(_) => evaluation.forbids.push(rule),
                Err(error) => {
                    let id = policy.id().clone().into();
                    let error = AuthorizationError::PolicyEvaluationError { id, error };
                    evaluation.errors.push((rule, error.to_string()));
                }
            }
        }
        evaluation
    }

    fn evaluate(&self, request: Result<Request, FactError>) -> Result<Evaluation<'a>, Refused> {
        let request = request.map_err(|error| Refused(vec![engine(error.to_string())]))?;
        let evaluation = self.evaluation(request);
        // A policy that errors does not hold. For a permit that is safe; for a forbid it is not.
        let failed = evaluation.errors.iter();
        let failed: Vec<Because> = failed
            .filter(|(rule, _)| rule.loaded.policy.effect() == Effect::Forbid)
            .map(|(rule, error)| rule.loaded.failed(error))
            .collect();
        if failed.is_empty() {
            Ok(evaluation)
        } else {
            Err(Refused(failed))
        }
    }

    /// The outcome of one request, said with the query's own words where there is one. What ends
    /// judging at once denies.
    pub(super) fn ruling(&self, query: Option<&Query<'_>>, held: Answer) -> Ruling {
        self.judge(query, held)
            .unwrap_or_else(|Refused(because)| (PolicyOutcome::Deny, because))
    }

    fn judge(&self, query: Option<&Query<'_>>, held: Answer) -> Result<Ruling, Refused> {
        let now = self.evaluate(self.judged.request(held))?;
        if now.allows() {
            return Ok((PolicyOutcome::Allow, because(&now.permits, Role::Permits)));
        }
        // Forbids that no answer can lift.
        let firm = now.forbids.iter().filter(|rule| !rule.loaded.heeds_answers);
        let firm: Vec<&Rule> = firm.copied().collect();
        if !firm.is_empty() {
            return Ok((PolicyOutcome::Deny, because(&firm, Role::Forbids)));
        }
        let mut last = now.forbids.clone();
        for answer in Answer::LADDER {
            if answer <= held {
                continue;
            }
            let then = self.evaluate(self.judged.again(answer))?;
            if then.allows() {
                let mut reasons = because(&now.forbids, Role::RequiresAnswer);
                reasons.extend(because(&then.permits, Role::PermitsOnceAnswered));
                return Ok((PolicyOutcome::Ask(answer), reasons));
            }
            last = then.forbids;
        }
        let mut reasons = because(&last, Role::Forbids);
        if reasons.is_empty() {
            reasons.push(no_permit(query));
        }
        Ok((PolicyOutcome::Deny, reasons))
    }
}

fn because(rules: &[&Rule], role: Role) -> Vec<Because> {
    rules.iter().map(|rule| rule.loaded.because(role)).collect()
}

/// An outcome and its reasons.
pub(super) type Ruling = (PolicyOutcome, Vec<Because>);

fn no_permit(query: Option<&Query<'_>>) -> Because {
    Because {
        policy: "(none)".to_owned(),
        layer: Layer::Builtin,
        role: Role::NoPermit,
        reason: match query.map(|query| query.act) {
            Some(Act::StartServer(start)) => unconfined(&start.confinement),
            Some(Act::RunCommand(command)) => unconfined(&command.confinement),
            _ => None,
        }
        .unwrap_or_else(|| "no policy permits this".to_owned()),
    }
}

fn unconfined(confinement: &Confinement) -> Option<String> {
    (!confinement.holds()).then(|| {
        format!("no policy permits a start whose sandbox does not enforce writes, secrets and network ({confinement})")
    })
}

impl PolicySet {
    /// Judges all queries of one action; the outcome is the weakest of theirs. `held` is the answer
    /// that is already on file for exactly this action.
    ///
    /// Whether anybody can be asked is not judged here.
    #[must_use]
    pub fn evaluate_all(&self, queries: &[Query<'_>], held: Answer) -> Verdict {
        Verdict::of(queries.iter().map(|query| self.part(query, held)).collect())
    }

    /// Judges one query.
    pub(super) fn part(&self, query: &Query<'_>, held: Answer) -> VerdictPart {
        let (outcome, because) = match self.judged(query) {
            Ok(judged) => Judge::new(&self.0, &judged).ruling(Some(query), held),
            Err(error) if error.is_of_tool() => {
                (PolicyOutcome::Deny, vec![tool(error.to_string())])
            }
            Err(error) => (PolicyOutcome::Deny, vec![engine(error.to_string())]),
        };
        (what(query), outcome, because)
    }

    /// A query in Cedar's form, with what this set's policies may look at.
    pub(super) fn judged(&self, query: &Query<'_>) -> Result<Judged, FactError> {
        let mentioned = Mentioned::Only(self.0.index.looks());
        facts::judged(query, mentioned, self.0.terms())
    }

    /// The forbid that denies this action to this principal on this resource whatever the context,
    /// if there is one: then a tool need not be listed.
    #[must_use]
    pub fn never_allows(&self, query: &Query<'_>) -> Option<Because> {
        let mentioned = Mentioned::Only(self.0.index.looks());
        let judged = facts::outlined(query, mentioned, self.0.terms()).ok()?;
        let judge = Judge::new(&self.0, &judged);
        let request = judged.again(Answer::Once).ok()?;
        let evaluation = judge.evaluation(request);
        evaluation
            .forbids
            .iter()
            .find(|rule| !rule.loaded.heeds_context)
            .map(|rule| rule.loaded.because(Role::Forbids))
    }
}

/// What a query is about, in one line.
pub(super) fn what(query: &Query<'_>) -> String {
    format!(
        "{} {}",
        facts::action_name(&query.act),
        facts::named_resource(&query.act)
    )
}
