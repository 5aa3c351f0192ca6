//! The decision point: asks policy, asks people where policy says so, writes the record, and mints
//! the permit. Nothing else makes one. What a permit allows is done in `enforce`.

mod denial;
mod error;
mod permit;
mod point;
mod question;
mod record;
mod run_log;
mod shadow;

pub use denial::{Denial, DenialKind};
pub(crate) use error::DecisionError;
pub use permit::Permit;
pub use point::Decision;
pub(crate) use point::{Asking, DecisionPoint};

#[cfg(test)]
mod tests;
