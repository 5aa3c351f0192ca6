//! What servers ask of clients: forms, links, requests to a model. Read, bounded, and told so that it
//! is plain whose words they are.

mod form;
mod link;
mod refused;
mod sample;
mod shape;
mod voice;
mod wording;

pub(crate) use form::{Form, Reply};
pub(crate) use link::{Link, links_in};
pub(crate) use refused::Refused;
pub(crate) use sample::{Sample, check_answer};

#[cfg(test)]
mod tests;
