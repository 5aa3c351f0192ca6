//! The first code of the helper: checks that it was started by us and reads the plan.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;

use super::start::HELPER;
use super::{keeper, probe, sys};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// The code of a helper that could not do its work.
pub(super) const FAILED: i32 = 125;

/// What main handed over.
pub(super) struct Handed {
    /// The plan.
    pub(super) plan: Plan,
    /// Where a failed step is reported; closed by `exec`.
    pub(super) status: File,
    /// The lifeline to main.
    pub(super) control: OwnedFd,
}

/// Turns this process into the sandbox helper when it was started as one; else does nothing.
///
/// Must be the first line of `main`: the helper needs a process with one thread and nothing open.
pub(crate) fn run_helper_if_requested() {
    let mut args = std::env::args_os();
    let name = args.next().unwrap_or_default();
    if name.as_bytes() == probe::SCRATCH.as_bytes() {
        probe::scratch(args)
    }
    if name.as_bytes() != HELPER.as_bytes() {
        return;
    }
    match handed() {
        Ok(handed) => keeper::run(handed),
        Err(error) => {
            // Not started by us: there is nobody to report to but the person who tried.
            let _ = rustix::io::write(rustix::stdio::stderr(), format!("{error}\n").as_bytes());
            sys::exit_now(FAILED)
        }
    }
}

/// Whether this process was started as a helper, and is the host program all the same.
pub(super) fn is_helper() -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    [HELPER, probe::SCRATCH].contains(&name.to_string_lossy().as_ref())
}

/// Takes descriptors 3 to 5 when they are what main passes, and nothing else is.
fn handed() -> Result<Handed, StageError> {
    let refuse = |what: &str| StageError::new("helper", format!("{what}: not started by creance"));
    let take = |number| sys::take_fd(number).map_err(|_| refuse("a descriptor is missing"));
    let (spec, status, control) = (take(3)?, take(4)?, take(5)?);
    let pipes = kind(&spec) == Some(FileType::Fifo) && kind(&status) == Some(FileType::Fifo);
    if !pipes || kind(&control) != Some(FileType::Socket) {
        return Err(refuse("the descriptors are of another kind"));
    }
    if std::env::args_os().len() != 1 {
        return Err(refuse("arguments are there"));
    }
    sys::close_from(6).map_err(|e| StageError::os("helper", "descriptors", &e))?;
    for fd in [&spec, &status, &control] {
        rustix::io::fcntl_setfd(fd, rustix::io::FdFlags::CLOEXEC)
            .map_err(|e| StageError::os("helper", "descriptors", &e.into()))?;
    }
    let mut status = File::from(status);
    match read(spec) {
        Ok(plan) => Ok(Handed {
            plan,
            status,
            control,
        }),
        Err(error) => {
            report(&mut status, &error);
            Err(error)
        }
    }
}

fn read(spec: OwnedFd) -> Result<Plan, StageError> {
    let mut text = Vec::new();
    let broken = |e: &dyn std::fmt::Display| StageError::new("plan", e.to_string());
    let mut file = File::from(spec);
    file.read_to_end(&mut text).map_err(|e| broken(&e))?;
    serde_json::from_slice(&text).map_err(|e| broken(&e))
}

fn kind(fd: impl AsFd) -> Option<FileType> {
    let stat = rustix::fs::fstat(fd).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Reports a failed step to main, as one line.
pub(super) fn report(status: &mut File, error: &StageError) {
    if let Ok(mut line) = serde_json::to_string(error) {
        line.push('\n');
        let _ = status.write_all(line.as_bytes());
    }
}

/// Reports a failed step and ends this process.
pub(super) fn fail(mut status: File, error: &StageError) -> ! {
    report(&mut status, error);
    sys::exit_now(FAILED)
}
