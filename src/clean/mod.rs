//! Untrusted text in, safe text out: for models, for people, for logs; secrets found and masked.

mod class;
mod escape;
mod fold;
mod scan;
mod tag;
mod text;

pub(crate) use fold::skeleton;
pub(crate) use text::{bytes, text};
