//! What Cedar's strict validator finds in policies, with several threads where they are many.

use cedar_policy::ffi::DetailedError;
use cedar_policy::{Policy, PolicyId, PolicySet, ValidationMode, Validator};

use super::source::one_line;

/// What the validator finds: in which policy, what, and whether it is an error.
pub(super) type Fault = (PolicyId, DetailedError, bool);

/// Threads that share the work, however many cores there are.
const THREADS: usize = 4;
/// Policies that are validated by one thread: fewer are done before another one has begun.
const SHARE: usize = 500;

/// The faults of all policies. Each is validated by itself, so that several threads can share many.
pub(super) fn faults(validator: &Validator, policies: &[Policy]) -> Result<Vec<Fault>, String> {
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
