//! What must hold of a store whatever its policies say: a file of Cedar. A `forbid` says what is
//! never allowed, a `permit` what is always allowed.

use std::sync::Arc;

use cedar_policy::{Effect, PolicyId};

use crate::policy::load::{Loaded, load_with};
use crate::policy::source::{PolicyProblem, PolicySource};
use crate::policy::typed::Locks;
use crate::request::Layer;

const SHIPPED: &str = include_str!("shipped.cedar");

/// What must hold of a store.
#[derive(Clone, Debug)]
pub struct Invariants(pub(super) Vec<Arc<Loaded>>);

impl Invariants {
    /// Those that come with Creance: secrets, sign-in, plugins and starts never without an answer,
    /// and what guard rails keep.
    ///
    /// # Errors
    /// Never for those that are shipped; the tests hold that.
    pub fn shipped() -> Result<Self, Vec<PolicyProblem>> {
        Self::read("shipped.cedar", SHIPPED)
    }

    /// The text of those that come with Creance, to begin with.
    #[must_use]
    pub fn shipped_text() -> &'static str {
        SHIPPED
    }

    /// Reads a file, whose name stands in messages.
    ///
    /// # Errors
    /// What is wrong with it: it is checked as strictly as a file of policies.
    pub fn read(file: &str, text: &str) -> Result<Self, Vec<PolicyProblem>> {
        let source = PolicySource {
            layer: Layer::User,
            file: file.to_owned(),
            text: text.to_owned(),
        };
        let files = std::slice::from_ref(&source);
        let loaded = load_with(files, &Locks::default(), &[])?.policies;
        if loaded.is_empty() {
            let problem = PolicyProblem::of_file(&source, "there is nothing to prove in it");
            return Err(vec![problem.hint(
                "a `forbid` says what is never allowed, a `permit` what is always allowed",
            )]);
        }
        Ok(Self(loaded.into_iter().map(apart).collect()))
    }
}

/// Invariants have ids of their own, whatever policies are named.
fn apart(loaded: Loaded) -> Arc<Loaded> {
    let id = loaded.policy.id().to_string();
    let id = id.rsplit('/').next().unwrap_or_default();
    let policy = loaded
        .policy
        .new_id(PolicyId::new(format!("invariant/{id}")));
    Arc::new(Loaded { policy, ..loaded })
}

/// Whether it says what is never allowed, or what is always.
pub(super) fn is_never(loaded: &Loaded) -> bool {
    loaded.policy.effect() == Effect::Forbid
}
