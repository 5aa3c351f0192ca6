//! A store in shadow: it decides nothing. Where it would decide otherwise than the store in force,
//! that is put on record, so that an organisation sees what a bundle would change before it does.

use std::sync::{PoisonError, RwLock};

use serde_json::json;

use crate::audit::EventKind;
use crate::clean;
use crate::policy::{PolicySet, Verdict};
use crate::request::{Answer, Query};

use super::record;

/// A store in shadow, if there is one.
#[derive(Debug, Default)]
pub(crate) struct Shadow(RwLock<Option<PolicySet>>);

impl Shadow {
    /// Puts another store in shadow, or none.
    pub(crate) fn replace(&self, store: Option<PolicySet>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = store;
    }

    /// The store.
    pub(crate) fn store(&self) -> Option<PolicySet> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// The record of a difference, if there is one.
    pub(super) fn difference(
        &self,
        queries: &[Query<'_>],
        held: Answer,
        (action, verdict): (&str, &Verdict),
    ) -> Option<EventKind> {
        let shadow = self.store()?;
        let would = shadow.evaluate_all(queries, held);
        if would.outcome == verdict.outcome {
            return None;
        }
        let resource = queries.first().map(record::resource).unwrap_or_default();
        let because: Vec<&str> = would
            .because
            .iter()
            .map(|one| one.policy.as_str())
            .collect();
        Some(EventKind::Note {
            name: "shadow-differs".to_owned(),
            details: json!({
                "action": action,
                "resource": clean::line(&resource, 500),
                "in_force": verdict.outcome,
                "shadow": would.outcome,
                "because": because,
                "store": shadow.digest(),
            }),
        })
    }
}
