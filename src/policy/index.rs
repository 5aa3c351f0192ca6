//! Which policies can apply to a request: by principal type, action and resource type, and by the
//! entity that the scope names as resource. Everything else need not be evaluated.

use std::collections::{HashMap, HashSet};

use cedar_policy::{
    Entities, EntityUid, Policy, PolicySet, RequestEnv, ResourceConstraint, Schema,
};

use super::vocabulary::TYPES;

/// The policies of one set, by where they can apply.
#[derive(Debug, Default)]
pub(super) struct Index {
    slices: HashMap<RequestEnv, Slice>,
    folders: HashSet<EntityUid>,
}

/// The policies of one request environment.
#[derive(Debug, Default)]
struct Slice {
    /// Those that name no resource.
    open: PolicySet,
    /// Those whose scope says `resource == X` or `resource in X`.
    by_resource: HashMap<EntityUid, PolicySet>,
}

impl Index {
    pub(super) fn new(policies: &PolicySet, schema: &Schema) -> Result<Self, String> {
        let mut slices: HashMap<RequestEnv, Slice> = HashMap::new();
        let mut folders = HashSet::new();
        for policy in policies.policies() {
            let literals = policy.entity_literals().into_iter();
            folders.extend(literals.filter(|entity| *entity.type_name() == TYPES.path));
            let named = named_resource(policy);
            for env in policy.get_valid_request_envs(schema) {
                let slice = slices.entry(env).or_default();
                let set = match &named {
                    None => &mut slice.open,
                    Some(entity) => slice.by_resource.entry(entity.clone()).or_default(),
                };
                set.add(policy.clone()).map_err(|error| error.to_string())?;
            }
        }
        Ok(Self { slices, folders })
    }

    /// Every path that any policy names, in its scope or in a condition.
    pub(super) fn folders(&self) -> &HashSet<EntityUid> {
        &self.folders
    }

    /// The disjoint sets that together hold every policy that can be satisfied by a request about
    /// this resource: `resource in X` needs X to be the resource or one of its ancestors.
    pub(super) fn sets<'a>(
        &'a self,
        env: &RequestEnv,
        resource: &EntityUid,
        entities: &'a Entities,
    ) -> Vec<&'a PolicySet> {
        let Some(slice) = self.slices.get(env) else {
            return Vec::new();
        };
        let mut sets = vec![&slice.open];
        if slice.by_resource.is_empty() {
            return sets;
        }
        sets.extend(slice.by_resource.get(resource));
        let ancestors = entities.ancestors(resource).into_iter().flatten();
        sets.extend(
            ancestors
                .filter(|ancestor| *ancestor != resource)
                .filter_map(|ancestor| slice.by_resource.get(ancestor)),
        );
        sets
    }
}

fn named_resource(policy: &Policy) -> Option<EntityUid> {
    match policy.resource_constraint() {
        ResourceConstraint::Any | ResourceConstraint::Is(_) => None,
        ResourceConstraint::In(entity)
        | ResourceConstraint::Eq(entity)
        | ResourceConstraint::IsIn(_, entity) => Some(entity),
    }
}
