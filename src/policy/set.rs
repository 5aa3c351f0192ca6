//! A checked set of policies of all layers, ready to judge. Cheap to clone, never changed.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock};

use cedar_policy::{Effect, Policy, PolicyId};
use serde::Serialize;
use serde_json::Value;

use crate::digest::{Digest, DigestBuilder};
use crate::request::{Because, Layer, Role};

use super::facts::{Steady, Terms};
use super::index::Index;
use super::kept::Kept;
use super::load::{Checked, Loaded, load_builtin, load_with};
use super::members::{Members, is_set};
use super::shadow;
use super::source::{PolicyProblem, PolicySource, one_line};
use super::typed::Locks;
use super::vocabulary::{JSON, Vocabulary};

const GUARD_RAILS: &str = include_str!("../../policies/builtin/guardrails.cedar");
const DEFAULTS: &str = include_str!("../../policies/builtin/defaults.cedar");

/// What a policy does when its conditions hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PolicyEffect {
    /// It permits.
    Permit,
    /// It forbids, whatever else permits.
    Forbid,
}

/// One policy of a set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PolicyInfo {
    /// `layer/file/id`.
    pub id: String,
    /// Its layer.
    pub layer: Layer,
    /// Its effect.
    pub effect: PolicyEffect,
    /// The file it stands in.
    pub file: String,
    /// The line on which it begins.
    pub line: usize,
    /// Its `@reason` on one line; may be empty. Project text is for people only.
    pub reason: String,
    /// Its text.
    pub text: String,
}

/// A checked set of policies of all layers.
#[derive(Clone)]
pub struct PolicySet(pub(super) Arc<Store>);

/// What a set holds.
pub(super) struct Store {
    pub(super) policies: HashMap<PolicyId, Arc<Loaded>>,
    /// The ids in the order of loading.
    order: Vec<PolicyId>,
    pub(super) index: Index,
    pub(super) members: Members,
    pub(super) vocabulary: Arc<Vocabulary>,
    pub(super) locks: Locks,
    steady: Steady,
    pub(super) kept: Kept,
    digest: Digest,
}

impl Store {
    /// What puts a query into Cedar's form, beside the policies.
    pub(super) fn terms(&self) -> Terms<'_> {
        (&self.members, &self.vocabulary, &self.steady)
    }
}

/// What a store is made of, beside the built-in layer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreParts {
    /// The policies of the organisation, the user and the project.
    pub sources: Vec<PolicySource>,
    /// Who is in which set: files of the organisation, in Cedar's JSON form of entities.
    pub members: Vec<PolicySource>,
    /// Guard rails that the organisation's bundle switches off, by id.
    pub switched_off: Vec<String>,
    /// Lock files of the tools that policies name as actions: the organisation's and the user's.
    pub locks: Vec<PolicySource>,
}

impl StoreParts {
    fn switches_off(&self, policy: &Loaded) -> bool {
        let id = policy.policy.id().to_string();
        self.switched_off.contains(&id)
    }

    /// What cannot be switched off because it is no guard rail.
    fn no_guard_rails(&self) -> Vec<PolicyProblem> {
        let rails = &RAILS.0;
        let known = |id: &&String| rails.policies.contains_key(&PolicyId::new(id.as_str()));
        let unknown = self.switched_off.iter().filter(|id| !known(id));
        let manifest = PolicySource {
            layer: Layer::Org,
            file: "manifest.json".to_owned(),
            text: String::new(),
        };
        let problem = |id: &String| {
            PolicyProblem::of_file(&manifest, format!("no guard rail is named `{id}`"))
                .hint("`creance policy list` names them, `builtin/guardrails/…`")
        };
        unknown.map(problem).collect()
    }
}

/// Sets that policies name and nothing is in: such a rule covers nothing, or everything.
fn empty_sets(policies: &[Loaded], members: &Members) -> Vec<PolicyProblem> {
    let mut problems = Vec::new();
    for loaded in policies {
        let named = loaded.policy.entity_literals().into_iter();
        // Groups also come with the agent.
        let sets = named.filter(|set| {
            is_set(set.type_name())
                && set.type_name().basename() != "Group"
                && !members.has_set(set.as_ref())
        });
        let hint = "say who is in it in the bundle's entities.json, or mend the name";
        problems.extend(sets.map(|set| loaded.note(format!("nothing is in `{set}`"), hint)));
    }
    problems
}

/// The built-in layer's two texts.
pub(super) fn builtin_sources() -> [PolicySource; 2] {
    [("guardrails", GUARD_RAILS), ("defaults", DEFAULTS)].map(|(name, text)| PolicySource {
        layer: Layer::Builtin,
        file: format!("builtin/{name}.cedar"),
        text: text.to_owned(),
    })
}

#[expect(
    clippy::expect_used,
    reason = "constants of this crate, held by the tests"
)]
static BUILTIN: LazyLock<PolicySet> = LazyLock::new(|| {
    let policies = load_builtin(&builtin_sources()).expect("the built-in policies are valid");
    PolicySet::new(
        policies.into_iter().map(Arc::new).collect(),
        Members::default(),
    )
    .expect("the built-in policies have ids of their own")
});

#[expect(
    clippy::expect_used,
    reason = "constants of this crate, held by the tests"
)]
static RAILS: LazyLock<PolicySet> = LazyLock::new(|| {
    let [rails, _] = builtin_sources();
    let policies = load_builtin(&[rails]).expect("the guard rails are valid");
    PolicySet::new(
        policies.into_iter().map(Arc::new).collect(),
        Members::default(),
    )
    .expect("the guard rails have ids of their own")
});

impl PolicySet {
    /// The built-in layer: guard rails and defaults.
    #[must_use]
    pub fn builtin() -> Self {
        BUILTIN.clone()
    }

    /// The guard rails alone. Nothing is permitted: for a first start whose policies are broken.
    #[must_use]
    pub fn guard_rails() -> Self {
        RAILS.clone()
    }

    /// Checks policy texts of the organisation's, the user's and the project's layer, and puts them
    /// on top of the built-in layer. Gives the warnings along with the set.
    ///
    /// # Errors
    /// Every problem, at least one of them fatal. The caller keeps the set it has, or falls back to
    /// [`PolicySet::guard_rails`].
    pub fn parse(
        sources: &[PolicySource],
    ) -> Result<(Self, Vec<PolicyProblem>), Vec<PolicyProblem>> {
        Self::build(&StoreParts {
            sources: sources.to_vec(),
            ..StoreParts::default()
        })
    }

    /// The same with all that a store can be made of.
    ///
    /// # Errors
    /// As [`PolicySet::parse`].
    pub fn build(parts: &StoreParts) -> Result<(Self, Vec<PolicyProblem>), Vec<PolicyProblem>> {
        let claimed = parts
            .sources
            .iter()
            .filter(|source| source.layer == Layer::Builtin)
            .map(|source| PolicyProblem::of_file(source, "the built-in layer is compiled in"));
        let mut refused: Vec<PolicyProblem> = claimed.collect();
        refused.extend(parts.no_guard_rails());
        if !refused.is_empty() {
            return Err(refused);
        }
        let members = Members::read(&parts.members)?;
        let (locks, mut problems) = Locks::read(&parts.locks)?;
        let store = &BUILTIN.0;
        let base = store.order.iter().filter_map(|id| store.policies.get(id));
        let base = base.filter(|one| !parts.switches_off(one)).cloned();
        let base: Vec<Arc<Loaded>> = base.collect();
        let Checked {
            policies: loaded,
            warnings,
            vocabulary,
        } = load_with(&parts.sources, &locks, &base)?;
        problems.extend(warnings);
        problems.extend(empty_sets(&loaded, &members));
        problems.extend(shadow::findings(&base, &loaded));
        let loaded = loaded.into_iter().map(Arc::new);
        let policies: Vec<Arc<Loaded>> = base.into_iter().chain(loaded).collect();
        match Self::with(policies, members, (vocabulary, locks)) {
            Ok(set) => Ok((set, problems)),
            Err(message) => Err(parts
                .sources
                .first()
                .map(|source| PolicyProblem::of_file(source, message))
                .into_iter()
                .collect()),
        }
    }

    /// A store without tools that policies name as actions.
    pub(super) fn new(policies: Vec<Arc<Loaded>>, members: Members) -> Result<Self, String> {
        Self::with(policies, members, (Vocabulary::base(), Locks::default()))
    }

    pub(super) fn with(
        policies: Vec<Arc<Loaded>>,
        members: Members,
        (vocabulary, locks): (Arc<Vocabulary>, Locks),
    ) -> Result<Self, String> {
        let order: Vec<PolicyId> = policies.iter().map(|l| l.policy.id().clone()).collect();
        let mut by_id = HashMap::with_capacity(order.len());
        for (id, loaded) in order.iter().zip(&policies) {
            if by_id.insert(id.clone(), Arc::clone(loaded)).is_some() {
                return Err(format!("two policies have the id {id}"));
            }
        }
        let mut index = Index::new(&policies, vocabulary.schema())?;
        index.look_at(members.folders());
        Ok(Self(Arc::new(Store {
            digest: digest(&policies, &members, &vocabulary),
            index,
            policies: by_id,
            order,
            members,
            vocabulary,
            locks,
            steady: Steady::default(),
            kept: Kept::default(),
        })))
    }

    /// What is known of each policy, layer by layer in the order of loading.
    #[cfg(feature = "prove")]
    pub(super) fn loaded(&self) -> impl Iterator<Item = &Arc<Loaded>> {
        let order = self.0.order.iter();
        order.filter_map(|id| self.0.policies.get(id))
    }

    /// The digest of schema and policies: what decides.
    #[must_use]
    pub fn digest(&self) -> Digest {
        self.0.digest
    }

    /// The policies, layer by layer in the order of loading.
    #[must_use]
    pub fn list(&self) -> Vec<PolicyInfo> {
        let loaded = self.0.order.iter().filter_map(|id| self.0.policies.get(id));
        loaded.map(|loaded| loaded.info()).collect()
    }
}

/// Order of files does not matter, names and texts do.
fn digest(policies: &[Arc<Loaded>], members: &Members, vocabulary: &Vocabulary) -> Digest {
    let mut parts: Vec<(String, &str)> = policies
        .iter()
        .map(|loaded| (loaded.policy.id().to_string(), loaded.text.as_str()))
        .collect();
    parts.sort();
    let mut builder = DigestBuilder::new("policy-set/1");
    builder.field(JSON);
    for (id, text) in parts {
        builder.field(id).field(text);
    }
    // A text without `in` between two names is no policy: the parts cannot be taken for each other.
    for line in members.lines() {
        builder.field(line);
    }
    // No line of a membership and no policy begins so.
    for (name, typed) in vocabulary.typed() {
        builder.field("typed tool").field(name);
        builder.field(typed.tool.digest.as_bytes());
        builder.field(serde_json::to_string(&typed.tool.input).unwrap_or_default());
    }
    builder.finish()
}

impl Loaded {
    /// Something that it does not do, and the way out.
    pub(super) fn note(&self, message: String, hint: &str) -> PolicyProblem {
        PolicyProblem {
            fatal: false,
            layer: self.layer,
            file: self.file.clone(),
            line: self.line,
            column: 1,
            policy: self.policy.id().to_string(),
            message,
            hint: hint.to_owned(),
        }
    }

    /// Its JSON form, with its clauses as they are written.
    pub(super) fn json(&self) -> Result<Value, String> {
        let id = Some(self.policy.id().clone());
        let policy = Policy::parse(id, &self.text).map_err(|error| error.to_string())?;
        policy.to_json().map_err(|error| error.to_string())
    }

    /// What people see of it.
    pub(super) fn info(&self) -> PolicyInfo {
        PolicyInfo {
            id: self.policy.id().to_string(),
            layer: self.layer,
            effect: match self.policy.effect() {
                Effect::Permit => PolicyEffect::Permit,
                Effect::Forbid => PolicyEffect::Forbid,
            },
            file: self.file.clone(),
            line: self.line,
            reason: self.reason.clone(),
            text: self.text.clone(),
        }
    }

    /// Its part in a decision.
    pub(super) fn because(&self, role: Role) -> Because {
        Because {
            policy: self.policy.id().to_string(),
            layer: self.layer,
            role,
            reason: self.reason.clone(),
        }
    }

    /// Its part in a decision when it could not be evaluated.
    pub(super) fn failed(&self, error: &str) -> Because {
        Because {
            reason: format!("could not be evaluated: {}", one_line(error)),
            ..self.because(Role::Error)
        }
    }
}

impl fmt::Debug for PolicySet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PolicySet")
            .field("policies", &self.0.order.len())
            .field("digest", &self.0.digest.short())
            .finish()
    }
}
