//! Proofs: claims about all requests that there can be, put to a solver at the other end of two pipes.
//! Apart from decisions: nothing here is asked when something is decided, and nothing is started here.

mod ask;
mod claim;
mod example;
mod invariants;
mod pipes;
mod shrink;
mod spots;
mod told;

pub(crate) use ask::{Dialogue, Reply};
pub(crate) use claim::{Claim, Question};
pub use example::Counterexample;
pub use invariants::Invariants;

#[cfg(test)]
mod tests;
