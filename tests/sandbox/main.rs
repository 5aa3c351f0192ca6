//! Tries to escape from the sandbox, once per backend and user. A program of its own, because the
//! helper is this program again and must come first in `main`.

#[cfg(target_os = "linux")]
mod cases;
#[cfg(target_os = "linux")]
mod escapes;
#[cfg(target_os = "linux")]
mod kill;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod runner;
#[cfg(target_os = "linux")]
mod world;

fn main() {
    creance::helper::run_if_requested();
    #[cfg(target_os = "linux")]
    runner::main();
    #[cfg(not(target_os = "linux"))]
    println!("skipped: this system has no sandbox backend yet");
}
