//! A guard that people keep on: ordinary programs do their work in `creance run`, as this user and,
//! where this is root, as uid 1000 too. What fails by design says which grant would allow it.
//! A line whose program is not there prints that it was skipped and why.
#![cfg(test)]
#![cfg(target_os = "linux")]
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs: the product itself and what it confines"
)]

mod builds;
mod design;
mod git;
mod node;
mod python;
#[path = "../gateway/raw.rs"]
#[expect(
    dead_code,
    reason = "these tests use a part of the client of the gateway's tests"
)]
mod raw;
#[path = "../gateway/real.rs"]
#[expect(
    dead_code,
    reason = "these tests use a part of what the gateway's tests install"
)]
mod real;
mod servers;
mod stage;
mod terminals;
mod tools;
