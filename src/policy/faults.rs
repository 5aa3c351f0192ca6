//! What Cedar's strict validator finds in policies, with several threads where they are many, and
//! against one action alone where many name it.

use std::collections::{HashMap, HashSet};

use cedar_policy::ffi::DetailedError;
use cedar_policy::{
    ActionConstraint, EntityUid, Policy, PolicyId, PolicySet, ValidationMode, Validator,
};

use super::source::one_line;
use super::vocabulary::Vocabulary;

/// What the validator finds: in which policy, what, and whether it is an error.
pub(super) type Fault = (PolicyId, DetailedError, bool);

/// Threads that share the work, however many cores there are.
const THREADS: usize = 4;
/// Policies that are validated by one thread: fewer are done before another one has begun.
const SHARE: usize = 500;
/// Policies of one action for which a schema of its own is made.
const MANY: usize = 500;

/// The faults of all policies.
pub(super) fn faults(vocabulary: &Vocabulary, policies: Vec<Policy>) -> Result<Vec<Fault>, String> {
    let mut rest = Vec::new();
    for (action, policies) in by_action(policies) {
        let narrow = action.filter(|_| policies.len() >= MANY);
        match narrow.and_then(|action| vocabulary.narrowed(&action)) {
            Some(narrow) => rest.extend(doubtful(&narrow, policies)?),
            None => rest.extend(policies),
        }
    }
    shared(&vocabulary.validator, &rest)
}

/// Policies by the one action that their scope names.
fn by_action(policies: Vec<Policy>) -> HashMap<Option<EntityUid>, Vec<Policy>> {
    let mut groups: HashMap<Option<EntityUid>, Vec<Policy>> = HashMap::new();
    for policy in policies {
        let action = match policy.action_constraint() {
            ActionConstraint::Eq(action) => Some(action),
            ActionConstraint::Any | ActionConstraint::In(_) => None,
        };
        groups.entry(action).or_default().push(policy);
    }
    groups
}

/// Those in which a schema without other actions finds anything: the whole one has the word then. A
/// policy that names one action holds for no request of another, so in one without a finding the
/// whole schema finds nothing either.
fn doubtful(narrow: &Validator, policies: Vec<Policy>) -> Result<Vec<Policy>, String> {
    let found = shared(narrow, &policies)?;
    let found: HashSet<PolicyId> = found.into_iter().map(|(id, ..)| id).collect();
    let mut policies = policies;
    policies.retain(|policy| found.contains(policy.id()));
    Ok(policies)
}

/// Each policy is validated by itself, so that several threads can share many.
fn shared(validator: &Validator, policies: &[Policy]) -> Result<Vec<Fault>, String> {
    let share = policies.len().div_ceil(THREADS).max(SHARE);
    if policies.len() <= share {
        return faults_of(validator, policies);
    }
    std::thread::scope(|scope| {
        let shares = policies.chunks(share);
        let workers = shares.map(|share| scope.spawn(move || faults_of(validator, share)));
        // All of them begin before the first is waited for.
        let workers: Vec<_> = workers.collect();
        let mut all = Vec::new();
        for worker in workers {
            let found = worker.join();
            all.extend(found.unwrap_or_else(|_| Err("cannot be validated".to_owned()))?);
        }
        Ok(all)
    })
}

fn faults_of(validator: &Validator, policies: &[Policy]) -> Result<Vec<Fault>, String> {
    let set = PolicySet::from_policies(policies.iter().cloned());
    let set = set.map_err(|error| one_line(&error.to_string()))?;
    let result = validator.validate(&set, ValidationMode::Strict);
    let errors = result
        .validation_errors()
        .map(|error| (error.policy_id().clone(), DetailedError::from(error), true));
    let warnings = result.validation_warnings().map(|warning| {
        (
            warning.policy_id().clone(),
            DetailedError::from(warning),
            false,
        )
    });
    Ok(errors.chain(warnings).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::vocabulary::SCHEMA;

    /// Scopes and conditions that do not fit, in some environments or in all, beside some that do.
    const PRINCIPALS: &[&str] = &[
        "principal",
        "principal is Agent",
        "principal is Server",
        "principal == Agent::\"a\"",
        "principal == Server::\"user/files\"",
        "principal in User::\"u\"",
        "principal is Path",
    ];
    const RESOURCES: &[&str] = &[
        "resource",
        "resource is Tool",
        "resource == Tool::\"user/files/read\"",
        "resource in Server::\"user/files\"",
        "resource == Path::\"./docs\"",
        "resource is Nothing",
    ];
    const CONDITIONS: &[&str] = &[
        "",
        "when { true }",
        "when { false }",
        "when { context.args_valid }",
        "when { context.args_vaild }",
        "when { context.args_bytes }",
        "when { resource.name == \"read\" }",
        "when { resource.text like \"*.md\" }",
        "when { principal.client == \"c\" }",
        "when { principal.sandboxed }",
        "when { action == Action::\"server.start\" }",
        "when { action in Action::\"tool\" }",
        "when { context.every_path in Path::\"./docs\" }",
        "unless { context has port && context.port == 443 }",
        "when { resource in [Place::\"secrets\", Place::\"nowhere\"] }",
        "when { context.run.trigger == Trigger::\"never\" }",
    ];

    fn about(action: &EntityUid) -> impl Iterator<Item = Policy> {
        let count = PRINCIPALS.len() * RESOURCES.len() * CONDITIONS.len();
        (0..count).map(move |at| {
            let id = PolicyId::new(format!("p{at}"));
            let (principal, rest) = (PRINCIPALS[at % PRINCIPALS.len()], at / PRINCIPALS.len());
            let (resource, rest) = (RESOURCES[rest % RESOURCES.len()], rest / RESOURCES.len());
            let condition = CONDITIONS[rest];
            let text = format!("permit ({principal}, action == {action}, {resource}) {condition};");
            Policy::parse(Some(id), text).unwrap()
        })
    }

    /// Where a schema of one action finds nothing, the whole one finds nothing.
    #[test]
    fn one_action_alone_says_what_all_say() {
        let vocabulary = Vocabulary::base();
        let actions: Vec<EntityUid> = SCHEMA.actions().cloned().collect();
        let mut clean = 0;
        for action in &actions {
            let narrow = vocabulary.narrowed(action).unwrap();
            let mut policies: Vec<Policy> = about(action).collect();
            let doubted = doubtful(&narrow, policies.clone()).unwrap();
            policies.retain(|policy| !doubted.contains(policy));
            let missed = faults_of(&vocabulary.validator, &policies).unwrap();
            assert!(missed.is_empty(), "{action}: {missed:?}");
            clean += policies.len();
        }
        // Otherwise nothing would be gained, and nothing shown.
        assert!(clean > 100, "{clean} policies fit");
    }
}
