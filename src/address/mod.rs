//! Where a connection goes: hosts and targets in their one canonical form, URLs read without a
//! second meaning, and the table that judges an address. Pure: resolves nothing, dials nothing.

mod class;
mod host;
mod ports;
mod reach;
mod table;
mod target;

// What a web client reads a page's address by: here, so that all ways out read hosts alike.
#[cfg_attr(
    not(test),
    expect(dead_code, reason = "the tool that fetches pages is not there yet")
)]
mod web_url;

pub(crate) use class::{AddressClass, judge};
pub(crate) use host::Locality;
pub use host::{HostError, HostName};
pub(crate) use reach::{Reach, Unreachable};
pub(crate) use target::{Target, TargetError};
pub(crate) use web_url::WebUrl;

#[cfg(test)]
mod tests;
