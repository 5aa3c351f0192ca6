//! Entities that are the same from call to call, of agents, servers, tools and projects: made, and
//! checked against the schema, once. Each store has its own, as who is in which set is the store's.

use std::sync::{Arc, PoisonError, RwLock};

use cedar_policy_core::ast::Entity;

use crate::request::{Agent, Project, ServerFacts, ToolFacts};

/// What was made last, by the facts that it was made of.
#[derive(Default)]
pub(crate) struct Steady {
    pub(super) agents: Recent<Agent>,
    pub(super) servers: Recent<ServerFacts>,
    pub(super) tools: Recent<ToolFacts>,
    pub(super) projects: Recent<Project>,
}

/// More than a session uses by turns; all are compared, so it is not many.
const RECENT_MAX: usize = 32;

/// Entities of one kind. One that is found was made of equal facts.
pub(super) struct Recent<F>(RwLock<Vec<(F, Arc<Entity>)>>);

impl<F> Default for Recent<F> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<F: Clone + PartialEq> Recent<F> {
    /// The entity that was made of these facts.
    pub(super) fn find(&self, facts: &F) -> Option<Arc<Entity>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        let (_, entity) = known.find(|(of, _)| of == facts)?;
        Some(Arc::clone(entity))
    }

    /// Keeps an entity that fits the schema, in place of the oldest.
    pub(super) fn keep(&self, facts: &F, entity: &Arc<Entity>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= RECENT_MAX {
            known.remove(0);
        }
        known.push((facts.clone(), Arc::clone(entity)));
    }
}
