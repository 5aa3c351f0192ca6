//! Where a name of the network leads, for all that connect: this machine's own list of hosts first, then
//! its resolver, without search domains. Judges nothing and dials nothing.

mod machine;
mod names;

pub(crate) use machine::{addresses, is_own};
