//! What main hands over to a helper, and how the helper says which step failed: the same on every
//! Unix. How it is handed over, and when it is believed, differs.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::FileType;

use super::fork::exit_now;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// The code of a helper that could not do its work.
pub(in crate::sandbox::apply) const FAILED: i32 = 125;

/// What main handed over.
pub(in crate::sandbox::apply) struct Handed {
    /// The plan.
    pub(in crate::sandbox::apply) plan: Plan,
    /// Where a failed step is reported; closed by `exec`.
    pub(in crate::sandbox::apply) status: File,
    /// The lifeline to main.
    pub(in crate::sandbox::apply) control: OwnedFd,
}

impl Handed {
    /// All of it, once the plan could be read; else main is told.
    pub(in crate::sandbox::apply) fn of(
        plan: Result<Plan, StageError>,
        mut status: File,
        control: OwnedFd,
    ) -> Result<Self, StageError> {
        match plan {
            Ok(plan) => Ok(Self {
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
}

/// Reads a plan from where the file stands.
pub(in crate::sandbox::apply) fn read(mut file: File) -> Result<Plan, StageError> {
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(|e| broken(&e))?;
    serde_json::from_slice(&text).map_err(|e| broken(&e))
}

/// The plan cannot be read.
pub(in crate::sandbox::apply) fn broken(why: &dyn std::fmt::Display) -> StageError {
    StageError::new("plan", why.to_string())
}

/// What a descriptor is.
pub(in crate::sandbox::apply) fn kind(fd: impl AsFd) -> Option<FileType> {
    let stat = rustix::fs::fstat(fd).ok()?;
    Some(FileType::from_raw_mode(stat.st_mode))
}

/// Whether this process was started under one of these names.
pub(in crate::sandbox::apply) fn is_called(names: &[&str]) -> bool {
    let name = std::env::args_os().next().unwrap_or_default();
    names.contains(&name.to_string_lossy().as_ref())
}

/// Ends a helper that was not started by us: there is nobody to report to but the person who tried.
pub(in crate::sandbox::apply) fn turn_away(error: &StageError) -> ! {
    let _ = rustix::io::write(rustix::stdio::stderr(), format!("{error}\n").as_bytes());
    exit_now(FAILED)
}

/// Reports a failed step to main, as one line.
pub(in crate::sandbox::apply) fn report(status: &mut File, error: &StageError) {
    if let Ok(mut line) = serde_json::to_string(error) {
        line.push('\n');
        let _ = status.write_all(line.as_bytes());
    }
}

/// Reports a failed step and ends this process.
pub(in crate::sandbox::apply) fn fail(mut status: File, error: &StageError) -> ! {
    report(&mut status, error);
    exit_now(FAILED)
}
