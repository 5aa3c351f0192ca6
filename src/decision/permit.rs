//! The proof that a decision was taken and recorded. Without one, no effect can be called.
//!
//! Only the decision point builds a permit:
//!
//! ```compile_fail
//! fn forge(action: creance::CallTool) -> creance::Permit<creance::CallTool> {
//!     creance::Permit { action }
//! }
//! ```
//! ```
//! fn pass(permit: creance::Permit<creance::CallTool>) -> creance::Permit<creance::CallTool> {
//!     permit
//! }
//! ```
//!
//! It cannot be copied:
//!
//! ```compile_fail
//! fn copy(permit: &creance::Permit<creance::CallTool>) -> creance::Permit<creance::CallTool> {
//!     permit.clone()
//! }
//! ```
//! ```
//! fn read(permit: &creance::Permit<creance::CallTool>) -> creance::CallTool {
//!     permit.action().clone()
//! }
//! ```
//!
//! It is spent once:
//!
//! ```compile_fail
//! fn spend(permit: creance::Permit<creance::CallTool>) {}
//! fn twice(permit: creance::Permit<creance::CallTool>) {
//!     spend(permit);
//!     spend(permit);
//! }
//! ```
//! ```
//! fn spend(permit: creance::Permit<creance::CallTool>) {}
//! fn once(permit: creance::Permit<creance::CallTool>) {
//!     spend(permit);
//! }
//! ```

use crate::digest::Digest;
use crate::request::{Action, Agent, Answer, Run};

/// A permit for one action, minted by the decision point and spent by value on one effect.
///
/// It is bound to the policy store that made it: after a reload that would decide otherwise it is
/// void.
#[must_use = "a permit that is not spent did nothing"]
#[derive(Debug)]
pub struct Permit<A: Action> {
    action: A,
    agent: Agent,
    run: Run,
    held: Answer,
    store: Digest,
    seq: u64,
}

impl<A: Action> Permit<A> {
    /// What was permitted.
    #[must_use]
    pub fn action(&self) -> &A {
        &self.action
    }

    /// The sequence number of the decision's audit record.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Digest of the policy store that made it.
    #[must_use]
    pub fn store(&self) -> Digest {
        self.store
    }

    /// The answer that the decision was based on.
    #[must_use]
    pub fn answer(&self) -> Answer {
        self.held
    }

    pub(super) fn mint(
        action: A,
        (agent, run): (&Agent, &Run),
        held: Answer,
        (store, seq): (Digest, u64),
    ) -> Self {
        Self {
            action,
            agent: agent.clone(),
            run: run.clone(),
            held,
            store,
            seq,
        }
    }

    pub(super) fn circumstances(&self) -> (&Agent, &Run) {
        (&self.agent, &self.run)
    }

    pub(super) fn into_parts(self) -> (A, u64) {
        (self.action, self.seq)
    }
}
