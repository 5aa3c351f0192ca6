//! Public faults of the field, played against `creance serve` by scripted servers. Each test bears
//! the id of its case in `tests/cases`.

mod audit;
mod configuration;
mod consent;
pub(crate) mod desk;
mod disk_full;
mod hosts;
mod invisible;
mod lifecycle;
mod paths;
mod pins;
mod poison;
mod protocol;
mod questions;
mod results;
