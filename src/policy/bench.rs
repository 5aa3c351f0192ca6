//! What benches may call of this module: the stages of judging apart, and Cedar by its public way.

use cedar_policy::{Authorizer, Decision, Entities, Entity, PolicySet as Cedar, Request};

use crate::request::{Answer, Query};

use super::evaluate::Judge;
use super::facts::Judged;
use super::set::PolicySet;
use super::vocabulary::SCHEMA;

/// A query in Cedar's form.
#[expect(missing_debug_implementations, reason = "a door for benches")]
pub struct Prepared(Judged);

/// Puts a query into Cedar's form, checked against the schema; `None` when it does not fit.
#[must_use]
pub fn prepare(policies: &PolicySet, query: &Query<'_>) -> Option<Prepared> {
    policies.judged(query).ok().map(Prepared)
}

/// Evaluates the policies that can apply, once; whether they allow it.
#[must_use]
pub fn evaluate(policies: &PolicySet, prepared: &Prepared, held: Answer) -> Option<bool> {
    let judge = Judge::new(&policies.0, &prepared.0);
    let request = prepared.0.request(held).ok()?;
    Some(judge.evaluation(request).allows())
}

/// All policies as one set of Cedar, and one request with its entities.
#[expect(missing_debug_implementations, reason = "a door for benches")]
pub struct Whole {
    policies: Cedar,
    entities: Vec<Entity>,
    request: Request,
}

impl Whole {
    /// The same policies and facts; `None` when they do not fit.
    #[must_use]
    pub fn new(policies: &PolicySet, prepared: &Prepared, held: Answer) -> Option<Self> {
        let all = policies.0.policies.values();
        let entities = Entities::from(prepared.0.entities.clone());
        let action = |entity: &Entity| entity.uid().type_name().basename() == "Action";
        Some(Self {
            policies: Cedar::from_policies(all.map(|it| it.policy.clone())).ok()?,
            entities: entities.into_iter().filter(|it| !action(it)).collect(),
            request: prepared.0.request(held).ok()?.into(),
        })
    }

    /// Checks entities and request against the schema and evaluates every policy, as a program does
    /// that calls Cedar without more; whether it is allowed.
    #[must_use]
    pub fn decide(&self) -> Option<bool> {
        let entities = Entities::from_entities(self.entities.clone(), Some(&SCHEMA)).ok()?;
        let request = Request::new(
            self.request.principal()?.clone(),
            self.request.action()?.clone(),
            self.request.resource()?.clone(),
            self.request.context()?.clone(),
            Some(&SCHEMA),
        );
        let response = Authorizer::new().is_authorized(&request.ok()?, &self.policies, &entities);
        Some(response.decision() == Decision::Allow)
    }
}
