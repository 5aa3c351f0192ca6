//! Which policies can apply to a request: by principal type, action and resource type, and by the
//! entity that the scope names as resource. Everything else need not be evaluated.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use cedar_policy::{
    ActionConstraint, EntityTypeName, EntityUid, Policy, PolicyId, PrincipalConstraint, RequestEnv,
    ResourceConstraint, Schema,
};
use cedar_policy_core::ast::{EntityUID, Expr};
use cedar_policy_core::entities::{Dereference, Entities};

use super::facts::{Env, Looks};
use super::load::Loaded;

/// The policies of one set, by where they can apply.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By id.
    rules: Vec<Rule>,
    slices: HashMap<Env, Slice>,
    looks: Looks,
}

/// One policy, ready to be evaluated.
#[derive(Clone, Debug)]
pub(super) struct Rule {
    pub(super) loaded: Arc<Loaded>,
    /// Scope and conditions as one expression.
    pub(super) condition: Expr,
}

/// The policies of one request environment, by their places among the rules.
#[derive(Debug, Default)]
struct Slice {
    /// Those that name no resource.
    open: Vec<usize>,
    /// Those whose scope says `resource == X` or `resource in X`.
    by_resource: HashMap<EntityUID, Vec<usize>>,
}

impl Slice {
    fn is_empty(&self) -> bool {
        self.open.is_empty() && self.by_resource.is_empty()
    }
}

impl Index {
    /// The policies have ids of their own.
    pub(super) fn new(policies: &[Arc<Loaded>], schema: &Schema) -> Result<Self, String> {
        let actions = schema
            .action_entities()
            .map_err(|error| error.to_string())?;
        let env = |env: RequestEnv| {
            let above = actions.ancestors(env.action()).into_iter().flatten();
            let actions = above.chain([env.action()]).cloned().collect();
            Declared {
                key: key(&env),
                principal: env.principal().clone(),
                resource: env.resource().clone(),
                actions,
            }
        };
        let envs: Vec<Declared> = schema.request_envs().map(env).collect();
        let mut index = Self::default();
        let mut sorted = policies.to_vec();
        sorted.sort_by(|one, other| one.policy.id().cmp(other.policy.id()));
        let mut slices: Vec<Slice> = envs.iter().map(|_| Slice::default()).collect();
        for loaded in sorted {
            index.add(loaded, (&envs, &mut slices));
        }
        let slices = envs.into_iter().map(|env| env.key).zip(slices);
        index.slices = slices.filter(|(_, slice)| !slice.is_empty()).collect();
        Ok(index)
    }

    fn add(&mut self, loaded: Arc<Loaded>, (envs, slices): (&[Declared], &mut [Slice])) {
        let place = self.rules.len();
        let policy = &loaded.policy;
        let scope = Scope::of(policy);
        let named = scope.named_resource();
        let fitting = envs.iter().zip(slices);
        for (_, slice) in fitting.filter(|(env, _)| env.fits(&scope)) {
            match &named {
                None => slice.open.push(place),
                Some(entity) => {
                    let of = slice.by_resource.entry(entity.clone()).or_default();
                    of.push(place);
                }
            }
        }
        let condition = policy.as_ref().condition();
        let conditions = policy.as_ref().non_scope_constraints();
        self.looks.add(&condition, conditions);
        self.rules.push(Rule { loaded, condition });
    }

    /// Policies also look at what memberships name.
    pub(super) fn look_at(&mut self, folders: impl Iterator<Item = String>) {
        self.looks.folders.extend(folders);
    }

    /// The ids of every policy that can be satisfied by some request of this environment.
    pub(super) fn reach(&self, env: &Env) -> BTreeSet<PolicyId> {
        let slices = self.slices.get(env).into_iter();
        let places = slices.flat_map(|slice| {
            slice
                .open
                .iter()
                .chain(slice.by_resource.values().flatten())
        });
        let rules = places.filter_map(|place| self.rules.get(*place));
        rules.map(|rule| rule.loaded.policy.id().clone()).collect()
    }

    /// What any policy looks at.
    pub(super) fn looks(&self) -> &Looks {
        &self.looks
    }

    /// Every policy, by id.
    #[cfg(test)]
    pub(super) fn all(&self) -> Vec<&Rule> {
        self.rules.iter().collect()
    }

    /// Every policy that can be satisfied by a request about this resource, by id: `resource in X`
    /// needs X to be the resource or one of its ancestors.
    pub(super) fn rules(&self, env: &Env, resource: &EntityUID, entities: &Entities) -> Vec<&Rule> {
        let Some(slice) = self.slices.get(env) else {
            return Vec::new();
        };
        let mut places = slice.open.clone();
        if !slice.by_resource.is_empty() {
            let mut add = |entity: &EntityUID| {
                places.extend(slice.by_resource.get(entity).into_iter().flatten());
            };
            add(resource);
            if let Dereference::Data(entity) = entities.entity(resource) {
                entity
                    .ancestors()
                    .filter(|above| *above != resource)
                    .for_each(add);
            }
            places.sort_unstable();
        }
        places
            .into_iter()
            .filter_map(|place| self.rules.get(place))
            .collect()
    }
}

fn key(env: &RequestEnv) -> Env {
    Env {
        principal: env.principal().as_ref().clone(),
        action: env.action().clone().into(),
        resource: env.resource().as_ref().clone(),
    }
}

/// An environment that the schema declares.
struct Declared {
    key: Env,
    principal: EntityTypeName,
    resource: EntityTypeName,
    /// The action and the groups that it is in.
    actions: Vec<EntityUid>,
}

impl Declared {
    /// Whether the scope of a policy can fit here, as far as it says so by itself. One that fits here
    /// too often is evaluated and does not hold.
    fn fits(&self, scope: &Scope) -> bool {
        let action = match &scope.action {
            ActionConstraint::Any => true,
            ActionConstraint::Eq(action) => self.key.action == *action.as_ref(),
            ActionConstraint::In(groups) => groups.iter().any(|it| self.actions.contains(it)),
        };
        let principal = match &scope.principal {
            PrincipalConstraint::Any | PrincipalConstraint::In(_) => true,
            PrincipalConstraint::Eq(name) => *name.type_name() == self.principal,
            PrincipalConstraint::Is(kind) | PrincipalConstraint::IsIn(kind, _) => {
                *kind == self.principal
            }
        };
        let resource = match &scope.resource {
            ResourceConstraint::Any | ResourceConstraint::In(_) => true,
            ResourceConstraint::Eq(name) => *name.type_name() == self.resource,
            ResourceConstraint::Is(kind) | ResourceConstraint::IsIn(kind, _) => {
                *kind == self.resource
            }
        };
        action && principal && resource
    }
}

/// What the head of a policy says.
struct Scope {
    principal: PrincipalConstraint,
    action: ActionConstraint,
    resource: ResourceConstraint,
}

impl Scope {
    fn of(policy: &Policy) -> Self {
        Self {
            principal: policy.principal_constraint(),
            action: policy.action_constraint(),
            resource: policy.resource_constraint(),
        }
    }

    fn named_resource(&self) -> Option<EntityUID> {
        match &self.resource {
            ResourceConstraint::Any | ResourceConstraint::Is(_) => None,
            ResourceConstraint::In(entity)
            | ResourceConstraint::Eq(entity)
            | ResourceConstraint::IsIn(_, entity) => Some(entity.as_ref().clone()),
        }
    }
}
