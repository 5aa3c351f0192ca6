//! The helper: reads the plan, enters its job, starts the program, and ends with it. The pipe of the
//! plan stays open as a lifeline: when main is gone, so is the helper, and with it the job.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};

use super::start::{HELPER, READY};
use super::{job, probe, process, sys};
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// The code of a helper that could not do its work.
const FAILED: i32 = 125;

/// Turns this process into the sandbox helper when it was started as one; else does nothing.
///
/// Must be the first line of `main`.
pub(crate) fn run_helper_if_requested() {
    let mut args = std::env::args_os().skip(1);
    let Some(role) = args.next() else { return };
    if role == probe::SCRATCH {
        std::process::exit(0)
    }
    if role != HELPER {
        return;
    }
    let numbers: Vec<usize> = args
        .filter_map(|arg| arg.to_str().and_then(|text| text.parse().ok()))
        .collect();
    let [spec, status] = numbers.as_slice() else {
        refuse()
    };
    let (Ok(spec), Ok(status)) = (sys::take_pipe(*spec), sys::take_pipe(*status)) else {
        refuse()
    };
    std::process::exit(run(spec, status))
}

/// Whether this process was started as a helper, and is the host program all the same.
pub(super) fn is_helper() -> bool {
    let role = std::env::args_os().nth(1).unwrap_or_default();
    role == HELPER || role == probe::SCRATCH
}

fn refuse() -> ! {
    let _ = writeln!(std::io::stderr(), "helper: not started by creance");
    std::process::exit(FAILED)
}

fn run(spec: File, mut status: File) -> i32 {
    let mut lifeline = BufReader::new(spec);
    let started = read(&mut lifeline).and_then(|plan| {
        // Before anything else is started: what is not in the job would outlive it.
        let job = match plan.backend {
            Backend::WindowsJob => Some(job::enter(&crate::sandbox::plan::job(&plan))?),
            Backend::None => None,
            Backend::LinuxL3
            | Backend::LinuxNs
            | Backend::LinuxNsNoproc
            | Backend::LinuxLandlock
            | Backend::MacosSeatbelt => {
                let error = format!("{} is not for this system", plan.backend);
                return Err(StageError::new("backend", error));
            }
        };
        end_with_main(lifeline)?;
        Ok((process::start(&plan)?, job))
    });
    let (program, _job) = match started {
        Ok(started) => started,
        Err(error) => {
            let line = serde_json::to_string(&error).unwrap_or_default();
            let _ = writeln!(status, "{line}");
            return FAILED;
        }
    };
    let _ = writeln!(status, "{READY}");
    drop(status);
    let code = sys::wait(&program).unwrap_or(FAILED.unsigned_abs());
    code.cast_signed()
}

fn read(lifeline: &mut BufReader<File>) -> Result<Plan, StageError> {
    let broken = |e: &dyn std::fmt::Display| StageError::new("plan", e.to_string());
    let mut line = String::new();
    lifeline.read_line(&mut line).map_err(|e| broken(&e))?;
    serde_json::from_str(&line).map_err(|e| broken(&e))
}

fn end_with_main(mut lifeline: BufReader<File>) -> Result<(), StageError> {
    let watch = move || {
        let mut byte = [0; 1];
        // Main says nothing more: whatever ends the wait is its end.
        let _ = lifeline.read(&mut byte);
        std::process::exit(FAILED)
    };
    let thread = std::thread::Builder::new().spawn(watch);
    thread
        .map(drop)
        .map_err(|e| StageError::os("helper", "lifeline", &e))
}
