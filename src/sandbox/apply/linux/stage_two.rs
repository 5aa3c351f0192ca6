//! The second stage: this program once more, executed behind the second wall. Takes over what
//! process 1 handed to it and goes the program's last steps.

use std::os::fd::OwnedFd;

use super::entry::{self, fail};
use super::{handover, sys, target};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// Runs when this process was executed as the second stage.
pub(super) fn run() -> ! {
    // Started by someone else: there is nobody to report to.
    let Ok(load) = handover::receive() else {
        sys::exit_now(entry::FAILED)
    };
    let status = load.status;
    match prepare(load.plan, &load.streams) {
        Ok(plan) => target::run(&plan, status),
        Err(error) => fail(status, &error),
    }
}

fn prepare(plan: OwnedFd, streams: &[OwnedFd; 3]) -> Result<Plan, StageError> {
    let os = |e: rustix::io::Errno| StageError::os("handover", "streams", &e.into());
    let plan = entry::read(plan)?;
    let [input, output, error] = streams;
    rustix::stdio::dup2_stdin(input).map_err(os)?;
    rustix::stdio::dup2_stdout(output).map_err(os)?;
    rustix::stdio::dup2_stderr(error).map_err(os)?;
    Ok(plan)
}
