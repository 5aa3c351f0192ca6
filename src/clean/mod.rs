//! Untrusted text in, safe text out: for models, for people, for logs; secrets found and masked.

mod assign;
mod class;
mod escape;
mod find;
mod flags;
mod fold;
mod line;
mod mask;
mod name;
mod person;
mod phrase;
mod scan;
mod server;
mod shape;
mod steer;
mod tag;
mod text;
mod value;
mod word;

#[cfg(test)]
mod oracle;

pub(crate) use class::{is_invisible, is_mark};
pub(crate) use flags::flags_in;
pub(crate) use fold::{composed, folded, skeleton, unmarked};
pub(crate) use line::line;
pub(crate) use mask::mask;
pub(crate) use name::is_secret_key;
pub(crate) use person::person;
pub(crate) use server::{description, schema};
pub use steer::{steers, visible, visible_lines};
pub(crate) use text::text;
pub(crate) use value::{has_secret, mask_value};
