//! Whether values fit the schemas of tools. Schemas come from strangers: nothing is ever fetched,
//! patterns run in linear time, and the work is bounded before it begins.

mod result;
mod validate;
mod walk;

pub(crate) use result::{ResultCheck, told_as_text};
pub(crate) use validate::Schema;

#[cfg(test)]
mod tests;
