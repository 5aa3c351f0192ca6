//! Untrusted text in, safe text out: for models, for people, for logs; secrets found and masked.

mod class;
mod escape;
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
mod tag;
mod text;
mod value;
mod word;

pub(crate) use flags::{Flag, flags, flags_in};
pub(crate) use fold::skeleton;
pub(crate) use line::line;
pub(crate) use mask::mask;
pub(crate) use name::looks_secret_name;
pub(crate) use person::{Shown, person};
pub(crate) use server::{RESULT_MAX, SchemaError, description, instructions, result, schema};
pub(crate) use text::{bytes, text};
pub(crate) use value::{has_secret, mask_value};
