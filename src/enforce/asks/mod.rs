//! What a running server asks back: a form or a link for the person, an answer of a model, the roots.
//! Each is decided and on record before it reaches anybody, and only what was declared is answered.

mod asker;
mod chain;
mod elicit;
mod hearing;
mod offers;
mod present;
mod roots;
mod sample;

pub(crate) use asker::{Asker, Newcomer};
pub(crate) use chain::{Chain, Chains};
pub(crate) use hearing::{Answers, Counterpart, Hearing};
pub(crate) use offers::Offers;
