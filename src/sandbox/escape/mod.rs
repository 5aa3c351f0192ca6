//! The escape suite: every way out of the sandbox that is known, with what must become of it in each
//! backend. `escapes.tsv` is the table, `apply` tries it, this folder judges.

mod answer;
mod suite;
mod table;
mod verdict;

pub(crate) use answer::Answer;
#[cfg(target_os = "linux")]
pub(crate) use answer::Got;
pub(crate) use suite::control;
pub use suite::self_test;
#[cfg(test)]
pub(crate) use table::{By, rows};
pub use verdict::{EscapeResult, EscapeVerdict, SelfTest};
