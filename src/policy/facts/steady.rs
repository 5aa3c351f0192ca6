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

/// What was made of facts of one kind. What is found was made of equal ones.
pub(crate) struct Recent<F, M = Entity>(RwLock<Vec<(F, Arc<M>)>>);

impl<F, M> Default for Recent<F, M> {
    fn default() -> Self {
        Self(RwLock::default())
    }
}

impl<F: Clone + PartialEq, M> Recent<F, M> {
    /// What was made of these facts.
    pub(crate) fn find(&self, facts: &F) -> Option<Arc<M>> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let mut known = known.iter();
        let (_, made) = known.find(|(of, _)| of == facts)?;
        Some(Arc::clone(made))
    }

    /// Keeps what was made, in place of the oldest.
    pub(crate) fn keep(&self, facts: &F, made: &Arc<M>) {
        let mut known = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= RECENT_MAX {
            known.remove(0);
        }
        known.push((facts.clone(), Arc::clone(made)));
    }
}
