//! The binary `creance`: sees only the public API of the library.
#![forbid(unsafe_code)]

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    // Before any thread exists: the confined launcher re-executes this program.
    creance::helper::run_if_requested();
    cli::main()
}
