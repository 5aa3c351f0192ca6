//! The first code of the helper: checks that it was started by us and reads the plan.

use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::FileType;

pub(super) use super::super::handed::{FAILED, Handed, fail};
use super::super::handed::{is_called, kind, read, turn_away};
use super::start::HELPER;
use super::{keeper, probe, sys};
use crate::sandbox::spawn::StageError;

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
        Err(error) => turn_away(&error),
    }
}

/// Whether this process was started as a helper, and is the host program all the same.
pub(super) fn is_helper() -> bool {
    is_called(&[HELPER, probe::SCRATCH])
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
    Handed::of(read(File::from(spec)), File::from(status), control)
}
