//! Hosts, targets, the table, and the public cases.

mod cases;
mod hosts;
mod ranges;
mod targets;
mod urls;
