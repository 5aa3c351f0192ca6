//! What a command really runs, found on disk and hashed: program, interpreter, script, package and
//! lock file. What cannot be hashed is said.

mod artefact;
mod find;
mod hash;
mod node;
#[cfg(not(unix))]
#[path = "other.rs"]
pub(super) mod os;
#[cfg(unix)]
#[path = "unix.rs"]
pub(super) mod os;
mod python;
mod search;
#[cfg(test)]
#[cfg(unix)]
mod tests;

pub(crate) use artefact::{Artefact, ProgramError};
pub(crate) use find::{Wanted, find, locate};
