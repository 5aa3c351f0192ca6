//! Doors for the benches, which are other crates and see only what is public. Thin wrappers, so that
//! nothing else has to be public.

/// What a model reads of an untrusted text.
#[must_use]
pub fn clean_text(raw: &str) -> std::borrow::Cow<'_, str> {
    crate::clean::text(raw)
}

/// Free text with secrets masked.
#[must_use]
pub fn clean_mask(raw: &str) -> std::borrow::Cow<'_, str> {
    crate::clean::mask(raw)
}

/// Decides calls with nobody to ask, and puts each decision on record.
#[derive(Debug)]
pub struct Decider(crate::decision::DecisionPoint);

impl Decider {
    /// Decides by a policy store and records in a log.
    #[must_use]
    pub fn new(store: crate::policy::PolicySet, log: crate::disk::AuditLog) -> Self {
        let ledger = std::sync::Arc::new(crate::request::MemoryLedger::default());
        let nobody = std::sync::Arc::new(crate::request::DenyAll);
        let log = std::sync::Arc::new(log);
        Self(crate::decision::DecisionPoint::new(
            store,
            log,
            ledger,
            nobody,
            (
                crate::disk::clock,
                crate::disk::random_id,
                "bench".to_owned(),
            ),
        ))
    }

    /// Whether a call is allowed.
    ///
    /// # Errors
    /// When the decision could not be taken.
    pub async fn decide(
        &self,
        agent: &crate::request::Agent,
        run: &crate::request::Run,
        call: crate::request::CallTool,
    ) -> Result<bool, impl std::error::Error + use<>> {
        let asking = crate::decision::Asking { agent, run };
        let never = |_: &crate::request::CallTool| crate::request::Asked::default();
        let decision = self.0.decide(asking, call, never).await;
        decision.map(|decision| matches!(decision, crate::decision::Decision::Allow(_)))
    }
}

pub use crate::policy::bench::{Prepared, Whole, evaluate, prepare};
pub use crate::protocol::bench::round_trip;
/// The escape suite without a sandbox.
///
/// # Errors
/// When its folders cannot be made.
pub fn escape_control(
    tell: &mut dyn FnMut(&crate::sandbox::EscapeResult),
) -> Result<crate::sandbox::SelfTest, String> {
    crate::sandbox::control(tell)
}

pub use crate::sandbox::door::{Running, start, start_here};
