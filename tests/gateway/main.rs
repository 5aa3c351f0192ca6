//! The gateway from the outside: `creance serve` between official clients and real servers.
//! Servers and clients are installed at pinned versions into `target/real`; where that cannot be
//! done a test prints that it was skipped and why, or fails when `CREANCE_REQUIRE_REAL=1`.
#![cfg(test)]
#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs: the gateway itself, clients, package managers"
)]
#![expect(
    clippy::excessive_nesting,
    clippy::string_slice,
    clippy::too_many_lines,
    reason = "each of these tests is one story, from a server's start to what a client, a person and the log saw"
)]

mod answers;
mod asks;
#[cfg(unix)]
mod audit_checks;
#[cfg(unix)]
mod audit_commands;
mod cases;
mod client;
mod clients;
mod commands;
mod decisions;
mod demo;
#[cfg(target_os = "linux")]
mod doctor;
#[cfg(target_os = "linux")]
mod dry_run;
mod eras;
mod help;
#[cfg(unix)]
mod hostile;
#[cfg(unix)]
mod hostile_files;
#[cfg(all(unix, feature = "http"))]
mod http;
#[cfg(unix)]
mod import;
mod kill;
#[cfg(target_os = "linux")]
mod organisation;
#[cfg(unix)]
mod pins;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(feature = "prove")]
mod prove;
mod raw;
mod real;
mod reload;
mod remote;
mod servers;
#[cfg(all(target_os = "linux", feature = "http"))]
mod sign_in;
mod stage;
#[cfg(unix)]
mod standard_streams;
#[cfg(target_os = "linux")]
mod terminal;
mod typed;
#[cfg(unix)]
mod up;
#[cfg(unix)]
mod writes;
