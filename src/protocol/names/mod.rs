//! The names under which tools are listed: letters that every client takes, unique, the same after
//! each restart and in any order of the configuration.

mod expose;
mod lookalike;

pub(crate) use expose::{CLIENT_PREFIX, NameMode, Renamed, expose};
pub(crate) use lookalike::lookalikes;

#[cfg(test)]
mod tests;
