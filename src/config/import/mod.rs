//! Servers of other clients' configurations: text in, entries of Creance's own form and remarks
//! out. Nothing is expanded, started or written here; `disk::clients` reads the files.

mod client;
mod entry;
mod lists;
mod name;
mod opened;
mod plan;
mod read;
mod references;
mod secrets;
#[cfg(test)]
mod tests;
mod tree;

pub use client::Client;
pub(crate) use client::Scope;
pub(crate) use lists::{Effect, ToolRule};
pub(crate) use plan::{Known, Planned, Step, Terms, plan};
pub(crate) use read::{ClientText, Imported, read};
pub use secrets::Moved;

/// Something that is not carried over, or is carried over otherwise: the field and why, without a
/// value.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Remark {
    /// The field below the server's entry, `env.KEY`; empty when the whole entry or file is meant.
    pub field: String,
    /// What is to be said, in a few words that follow the field.
    pub what: String,
}

impl Remark {
    fn new(field: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            what: what.into(),
        }
    }
}
