//! An exact JSON tree: numbers keep their text, objects their order, and a repeated key is refused,
//! so that what policy judges, what is shown and what is sent are one and the same value.

mod convert;
mod error;
mod number;
mod read;
mod value;
mod write;

pub(crate) use error::{JsonError, Reason};
pub(crate) use number::Number;
pub(crate) use read::{MESSAGE_MAX, Parsed, read};
pub(crate) use value::{Json, Object};
pub(crate) use write::write_string;

#[cfg(test)]
mod tests;
