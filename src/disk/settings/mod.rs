//! The configuration files of a run read into one, and edits of the user's own file.

mod edit;
#[cfg(test)]
#[cfg(unix)]
mod edit_tests;
mod read;
#[cfg(test)]
#[cfg(unix)]
mod tests;

pub(crate) use edit::{add, remove, written};
pub(crate) use read::{Configuration, Files, read_all};
