//! HTTP, guarded: a name is looked up once, every address it leads to is judged, only those are dialled,
//! and who answers is compared; redirects are given back, sizes and times are ours. Over it the
//! transports of MCP, and the organisation's bundle. Knows neither policy nor people.

#[cfg(not(feature = "http"))]
mod absent;
#[cfg(feature = "http")]
mod answer;
#[cfg(feature = "http")]
mod authorise;
#[cfg(feature = "http")]
mod blocking;
#[cfg(feature = "http")]
mod client;
#[cfg(feature = "http")]
mod error;
#[cfg(feature = "http")]
mod fetch;
#[cfg(feature = "http")]
pub(crate) mod mcp;
mod source;
#[cfg(feature = "http")]
mod terms;
#[cfg(feature = "http")]
mod tls;

#[cfg(not(feature = "http"))]
pub(crate) use absent::fetch;
#[cfg(feature = "http")]
pub(crate) use answer::Answer;
#[cfg(feature = "http")]
pub(crate) use authorise::{Authorise, Challenge, Later, Next, StaticFields};
#[cfg(feature = "http")]
pub(crate) use blocking::blocking;
#[cfg(feature = "http")]
pub(crate) use client::{Ask, Client, Verb};
#[cfg(feature = "http")]
pub(crate) use error::HttpError;
#[cfg(feature = "http")]
pub(crate) use fetch::fetch;
pub(crate) use source::Source;
#[cfg(feature = "http")]
pub(crate) use terms::{Leads, Plain, Terms, look_up};

#[cfg(test)]
#[cfg(feature = "http")]
mod tests;
