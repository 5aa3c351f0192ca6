//! Permits that can never matter: a forbid beats each of them, or another permit allows all that they
//! allow. By what stands in the policies alone: no solver is needed, and nothing is found that is not so.

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, LazyLock};

use cedar_policy::{
    ActionConstraint, Effect, EntityTypeName, EntityUid, Policy, PrincipalConstraint,
    ResourceConstraint,
};
use cedar_policy_core::ast::Expr;

use super::load::Loaded;
use super::source::PolicyProblem;
use super::vocabulary::SCHEMA;

/// A principal or a resource in the scope of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Who {
    Any,
    Is(EntityTypeName),
    Eq(EntityUid),
    In(EntityUid),
    IsIn(EntityTypeName, EntityUid),
}

impl Who {
    fn principal(policy: &Policy) -> Self {
        match policy.principal_constraint() {
            PrincipalConstraint::Any => Self::Any,
            PrincipalConstraint::Is(kind) => Self::Is(kind),
            PrincipalConstraint::Eq(name) => Self::Eq(name),
            PrincipalConstraint::In(name) => Self::In(name),
            PrincipalConstraint::IsIn(kind, name) => Self::IsIn(kind, name),
        }
    }

    fn resource(policy: &Policy) -> Self {
        match policy.resource_constraint() {
            ResourceConstraint::Any => Self::Any,
            ResourceConstraint::Is(kind) => Self::Is(kind),
            ResourceConstraint::Eq(name) => Self::Eq(name),
            ResourceConstraint::In(name) => Self::In(name),
            ResourceConstraint::IsIn(kind, name) => Self::IsIn(kind, name),
        }
    }

    /// Everything that covers this, as far as it can be told without looking at who is in what.
    fn covers(&self) -> Vec<Self> {
        let mut all = vec![self.clone(), Self::Any];
        match self {
            Self::Any | Self::Is(_) | Self::In(_) => {}
            Self::Eq(name) => {
                let kind = name.type_name().clone();
                all.push(Self::Is(kind.clone()));
                all.push(Self::In(name.clone()));
                all.push(Self::IsIn(kind, name.clone()));
            }
            Self::IsIn(kind, name) => {
                all.push(Self::Is(kind.clone()));
                all.push(Self::In(name.clone()));
            }
        }
        all
    }
}

/// The actions of each group.
static GROUPS: LazyLock<HashMap<EntityUid, HashSet<EntityUid>>> = LazyLock::new(|| {
    let mut groups: HashMap<EntityUid, HashSet<EntityUid>> = HashMap::new();
    let Ok(actions) = SCHEMA.action_entities() else {
        return groups;
    };
    for action in actions.iter() {
        let action = action.uid();
        let above = actions.ancestors(&action).into_iter().flatten();
        for above in above.chain([&action]) {
            groups
                .entry(above.clone())
                .or_default()
                .insert(action.clone());
        }
    }
    groups
});

/// The actions that a policy is about, members of groups and all; `None` for every action.
fn actions(policy: &Policy) -> Option<HashSet<EntityUid>> {
    match policy.action_constraint() {
        ActionConstraint::Any => None,
        ActionConstraint::Eq(action) => Some(HashSet::from([action])),
        ActionConstraint::In(groups) => {
            let below = |group: EntityUid| {
                let known = GROUPS.get(&group).cloned();
                known.unwrap_or_else(|| HashSet::from([group]))
            };
            Some(groups.into_iter().flat_map(below).collect())
        }
    }
}

/// A policy, where it stands in the order of loading, and what it wants.
struct Placed<'a> {
    at: usize,
    loaded: &'a Loaded,
    condition: Option<&'a Expr>,
}

impl<'a> Placed<'a> {
    fn new((at, loaded): (usize, &'a Loaded)) -> Self {
        let condition = loaded.policy.as_ref().non_scope_constraints();
        Self {
            at,
            loaded,
            condition,
        }
    }

    /// The digest of its conditions.
    fn wants(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.condition.hash(&mut hasher);
        hasher.finish()
    }

    /// Whether all that the other is about, this is about, too: their places are known to be so.
    fn reaches(&self, other: &Self) -> bool {
        let same = self.condition.is_none() || self.condition == other.condition;
        let above = self.loaded.layer <= other.loaded.layer && self.at != other.at;
        same && above
            && match (actions(&self.loaded.policy), actions(&other.loaded.policy)) {
                (None, _) => true,
                (Some(_), None) => false,
                (Some(all), Some(some)) => some.is_subset(&all),
            }
    }
}

type Key = (Effect, Who, Who, u64);

/// The permits of these files that never matter, given those and the ones before them.
pub(super) fn findings(base: &[Arc<Loaded>], loaded: &[Loaded]) -> Vec<PolicyProblem> {
    let all = base.iter().map(|one| &**one).chain(loaded);
    let all: Vec<Placed<'_>> = all.enumerate().map(Placed::new).collect();
    let mut known: HashMap<Key, Vec<&Placed<'_>>> = HashMap::new();
    for one in &all {
        let policy = &one.loaded.policy;
        if policy.effect() == Effect::Forbid && one.condition.is_some() {
            continue;
        }
        let (who, what) = (Who::principal(policy), Who::resource(policy));
        let key = (policy.effect(), who, what, one.wants());
        known.entry(key).or_default().push(one);
    }
    let own = all.iter().skip(base.len());
    let permits = own.filter(|one| one.loaded.policy.effect() == Effect::Permit);
    permits.filter_map(|one| finding(one, &known)).collect()
}

fn finding(one: &Placed<'_>, known: &HashMap<Key, Vec<&Placed<'_>>>) -> Option<PolicyProblem> {
    let policy = &one.loaded.policy;
    let (mine, none) = (
        one.wants(),
        Placed {
            condition: None,
            ..*one
        }
        .wants(),
    );
    let (who, what) = (
        Who::principal(policy).covers(),
        Who::resource(policy).covers(),
    );
    let mut found: Vec<&Placed<'_>> = Vec::new();
    for (who, what) in who
        .iter()
        .flat_map(|who| what.iter().map(move |what| (who, what)))
    {
        for (effect, wants) in [
            (Effect::Forbid, none),
            (Effect::Permit, none),
            (Effect::Permit, mine),
        ] {
            let key = (effect, who.clone(), what.clone(), wants);
            let above = known.get(&key).into_iter().flatten();
            found.extend(above.filter(|above| above.reaches(one)));
        }
    }
    found.sort_by_key(|above| (above.loaded.policy.effect() == Effect::Permit, above.at));
    let above = found.into_iter().find(|above| matters(above, one))?;
    let id = above.loaded.policy.id();
    Some(if above.loaded.policy.effect() == Effect::Forbid {
        one.loaded.note(
            format!("it permits nothing: {id} forbids all of it"),
            "take it out, or mend its scope",
        )
    } else {
        one.loaded.note(
            format!("it adds nothing: {id} permits all of it"),
            "take it out, or narrow the other",
        )
    })
}

/// Of two permits that say the same, the later one is said.
fn matters(above: &Placed<'_>, one: &Placed<'_>) -> bool {
    above.loaded.policy.effect() == Effect::Forbid || above.at < one.at || !one.reaches(above) || {
        let whole = |placed: &Placed<'_>| {
            (
                Who::principal(&placed.loaded.policy),
                Who::resource(&placed.loaded.policy),
            )
        };
        whole(above) != whole(one)
    }
}

#[cfg(test)]
#[path = "tests/shadow.rs"]
mod tests;
