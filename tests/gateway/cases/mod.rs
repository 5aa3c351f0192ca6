//! Public faults of the field, played against `creance serve` by scripted servers. Each test bears
//! the id of its case in `tests/cases`.

mod desk;
mod lifecycle;
mod protocol;
mod results;
