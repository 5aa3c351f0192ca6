//! Tries to escape from the sandbox, once per backend and user. A program of its own, because the
//! helper is this program again and must come first in `main`.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a test program with its own `main`, which the lints do not know as tests"
)]

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod ground;
#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod starts;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod walls;
#[cfg(target_os = "linux")]
mod way_out;
#[cfg(windows)]
mod windows;
#[cfg(target_os = "linux")]
mod world;

fn main() {
    creance::helper::run_if_requested();
    #[cfg(target_os = "linux")]
    runner::main();
    #[cfg(target_os = "macos")]
    macos::main();
    #[cfg(windows)]
    windows::main();
    #[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
    println!("skipped: this system has no sandbox backend");
}
