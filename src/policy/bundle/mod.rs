//! An organisation's bundle: policies, memberships and tests under one signed manifest. Pure: bytes
//! in, a checked bundle or the reason why not out. Whether to verify is never up to the bundle.

mod files;
mod manifest;
mod open;
mod sign;

pub use files::BundleFiles;
pub(crate) use files::is_member;
pub use manifest::{BundleMode, Manifest};
pub use open::{Bundle, BundleError};
pub(crate) use open::{Keys, Terms};
pub use sign::{KeyError, SigningKey};
