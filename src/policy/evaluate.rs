//! Judging: the weakest human answer under which every query of an action is allowed.
//! Dry run, explain and the real run all come through here.

use std::collections::BTreeSet;

use cedar_policy::{
    AuthorizationError, Authorizer, Decision, Effect, PolicyId, PolicySet as Cedar, Request,
    Response,
};

use crate::grant::Confinement;
use crate::request::{Act, Answer, Because, Layer, Query, Role};

use super::facts::{self, FactError, Judged, Mentioned};
use super::set::{PolicySet, Store};
use super::verdict::{PolicyOutcome, Verdict, VerdictPart, engine};

/// One evaluation of all policies that can apply, put together from disjoint sets.
#[derive(Debug, Default, PartialEq, Eq)]
struct Evaluation {
    permits: BTreeSet<PolicyId>,
    forbids: BTreeSet<PolicyId>,
    errors: Vec<(PolicyId, String)>,
}

impl Evaluation {
    fn add(&mut self, response: &Response) {
        let reasons = response.diagnostics().reason().cloned();
        match response.decision() {
            Decision::Allow => self.permits.extend(reasons),
            Decision::Deny => self.forbids.extend(reasons),
        }
        for error in response.diagnostics().errors() {
            let AuthorizationError::PolicyEvaluationError(error) = error;
            let id = error.policy_id().clone();
            self.errors.push((id, error.to_string()));
        }
    }

    fn allows(&self) -> bool {
        self.forbids.is_empty() && !self.permits.is_empty()
    }
}

/// Judges one query under several answers.
pub(super) struct Judge<'a> {
    store: &'a Store,
    judged: &'a Judged,
    /// The disjoint sets that hold every policy in question.
    pub(super) sets: Vec<&'a Cedar>,
    authorizer: Authorizer,
}

/// What ends judging at once: a forbid that could not be evaluated, facts that do not fit.
struct Refused(Vec<Because>);

impl<'a> Judge<'a> {
    pub(super) fn new(store: &'a Store, judged: &'a Judged) -> Self {
        let sets = store
            .index
            .sets(&judged.env, &judged.resource, &judged.entities);
        Self {
            store,
            judged,
            sets,
            authorizer: Authorizer::new(),
        }
    }

    fn evaluate(&self, request: Result<Request, FactError>) -> Result<Evaluation, Refused> {
        let request = request.map_err(|error| Refused(vec![engine(error.to_string())]))?;
        let mut evaluation = Evaluation::default();
        for set in &self.sets {
            let response = self
                .authorizer
                .is_authorized(&request, set, &self.judged.entities);
            evaluation.add(&response);
        }
        // Cedar skips a policy that errors. For a permit that is safe; for a forbid it is not.
        let failed: Vec<Because> = evaluation
            .errors
            .iter()
            .filter_map(|(id, error)| match self.store.policies.get(id) {
                Some(loaded) if loaded.policy.effect() == Effect::Permit => None,
                Some(loaded) => Some(loaded.failed(error)),
                None => Some(engine(format!("{id}: {error}"))),
            })
            .collect();
        if failed.is_empty() {
            Ok(evaluation)
        } else {
            Err(Refused(failed))
        }
    }

    fn because(&self, ids: &BTreeSet<PolicyId>, role: Role) -> Vec<Because> {
        ids.iter()
            .filter_map(|id| self.store.policies.get(id))
            .map(|loaded| loaded.because(role))
            .collect()
    }

    /// Forbids that no answer can lift, among those that are satisfied.
    fn firm(&self, forbids: &BTreeSet<PolicyId>) -> BTreeSet<PolicyId> {
        let heeds = |id: &PolicyId| self.store.policies.get(id).is_some_and(|l| l.heeds_answers);
        forbids.iter().filter(|id| !heeds(id)).cloned().collect()
    }

    /// The outcome of one query. What ends judging at once denies.
    pub(super) fn ruling(&self, query: &Query<'_>, held: Answer) -> Ruling {
        self.judge(query, held)
            .unwrap_or_else(|Refused(because)| (PolicyOutcome::Deny, because))
    }

    fn judge(&self, query: &Query<'_>, held: Answer) -> Result<Ruling, Refused> {
        let now = self.evaluate(self.judged.request(held))?;
        if now.allows() {
            let because = self.because(&now.permits, Role::Permits);
            return Ok((PolicyOutcome::Allow, because));
        }
        let firm = self.firm(&now.forbids);
        if !firm.is_empty() {
            return Ok((PolicyOutcome::Deny, self.because(&firm, Role::Forbids)));
        }
        let mut last = now.forbids.clone();
        for answer in Answer::LADDER {
            if answer <= held {
                continue;
            }
            let then = self.evaluate(self.judged.again(answer))?;
            if then.allows() {
                let mut because = self.because(&now.forbids, Role::RequiresAnswer);
                because.extend(self.because(&then.permits, Role::PermitsOnceAnswered));
                return Ok((PolicyOutcome::Ask(answer), because));
            }
            last = then.forbids;
        }
        let mut because = self.because(&last, Role::Forbids);
        if because.is_empty() {
            because.push(no_permit(query));
        }
        Ok((PolicyOutcome::Deny, because))
    }
}

/// An outcome and its reasons.
type Ruling = (PolicyOutcome, Vec<Because>);

fn no_permit(query: &Query<'_>) -> Because {
    Because {
        policy: "(none)".to_owned(),
        layer: Layer::Builtin,
        role: Role::NoPermit,
        reason: match query.act {
            Act::StartServer(start) => unconfined(&start.confinement),
            Act::RunCommand(command) => unconfined(&command.confinement),
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
            Ok(judged) => Judge::new(&self.0, &judged).ruling(query, held),
            Err(error) => (PolicyOutcome::Deny, vec![engine(error.to_string())]),
        };
        (what(query), outcome, because)
    }

    /// A query in Cedar's form, with what this set's policies may look at.
    pub(super) fn judged(&self, query: &Query<'_>) -> Result<Judged, FactError> {
        facts::judged(query, Mentioned::Only(self.0.index.folders()))
    }

    /// The forbid that denies this action to this principal on this resource whatever the context,
    /// if there is one: then a tool need not be listed.
    #[must_use]
    pub fn never_allows(&self, query: &Query<'_>) -> Option<Because> {
        let judged = self.judged(query).ok()?;
        let judge = Judge::new(&self.0, &judged);
        let evaluation = judge.evaluate(judged.request(Answer::Once)).ok()?;
        evaluation
            .forbids
            .iter()
            .filter_map(|id| self.0.policies.get(id))
            .find(|loaded| !loaded.heeds_context)
            .map(|loaded| loaded.because(Role::Forbids))
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
