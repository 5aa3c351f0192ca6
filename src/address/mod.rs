//! Where a connection goes: hosts and targets in their one canonical form, URLs read without a
//! second meaning, and the table that judges an address. Pure: resolves nothing, dials nothing.

mod class;
mod file_url;
mod host;
mod ports;
mod reach;
mod table;
mod target;
mod web_url;

pub(crate) use class::{AddressClass, judge};
pub(crate) use file_url::file_url;
pub(crate) use host::Locality;
pub use host::{HostError, HostName};
pub(crate) use reach::{Reach, Unreachable};
pub(crate) use target::{Target, TargetError};
pub(crate) use web_url::{UrlFault, WebUrl};

#[cfg(test)]
mod tests;
