//! The first code of the helper: checks that it was started by us, reads the plan, confines.

use std::fs::File;
use std::io::Seek as _;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{FileType, SealFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;

use super::super::handed::{self, is_called, kind, turn_away};
pub(super) use super::super::handed::{FAILED, Handed, fail};
#[cfg(feature = "birdcage")]
use super::stage_two;
use super::start::HELPER;
use super::{escape, keeper, passing, probe, sys};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// The one argument of the second stage, which runs behind the second wall.
#[cfg(feature = "birdcage")]
pub(super) const STAGE_TWO: &str = "creance-sandbox-stage-two";

/// How it is executed: birdcage passes no other name.
#[cfg(feature = "birdcage")]
pub(super) const SELF: &str = "/proc/self/exe";

/// Turns this process into the sandbox helper when it was started as one; else does nothing.
///
/// Must be the first line of `main`: the helper needs a process with one thread and nothing open.
pub(crate) fn run_helper_if_requested() {
    let mut args = std::env::args_os();
    let Some(name) = args.next() else {
        return;
    };
    if name.as_bytes() == probe::SCRATCH.as_bytes() {
        sys::exit_now(0);
    }
    if name.as_bytes() == escape::PROBE.as_bytes() {
        escape::run()
    }
    #[cfg(feature = "birdcage")]
    if name.as_bytes() == SELF.as_bytes() && args.next().is_some_and(|arg| arg == STAGE_TWO) {
        stage_two::run()
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

/// Takes the descriptors that wait in this process's input when they are what main passes.
fn handed() -> Result<Handed, StageError> {
    let refuse = |what: &str| StageError::new("helper", format!("{what}: not started by creance"));
    let closed = sys::close_from(3);
    let input = rustix::stdio::stdin();
    if kind(input) != Some(FileType::Socket) {
        return Err(refuse("the input is no socket"));
    }
    let os = |e: Errno| StageError::os("helper", "descriptors", &e.into());
    let control = rustix::io::fcntl_dupfd_cloexec(input, 3).map_err(os)?;
    let [spec, status, input] = passing::receive(&control, RecvFlags::DONTWAIT)
        .map_err(|_| refuse("descriptors are missing"))?;
    let seals = rustix::fs::fcntl_get_seals(&spec).unwrap_or(SealFlags::empty());
    if !seals.contains(SealFlags::WRITE | SealFlags::SEAL | SealFlags::SHRINK) {
        return Err(refuse("the plan is not sealed"));
    }
    if kind(&status) != Some(FileType::Fifo) {
        return Err(refuse("the descriptors are of another kind"));
    }
    if std::env::args_os().len() != 1 || std::env::vars_os().next().is_some() {
        return Err(refuse("arguments or variables are there"));
    }
    let closed = closed.map_err(|e| StageError::os("helper", "descriptors", &e));
    let streams = closed.and_then(|()| rustix::stdio::dup2_stdin(input).map_err(os));
    let plan = streams.and_then(|()| read(spec));
    Handed::of(plan, File::from(status), control)
}

/// Reads a plan from its beginning.
pub(super) fn read(spec: OwnedFd) -> Result<Plan, StageError> {
    let mut file = File::from(spec);
    file.rewind().map_err(|e| handed::broken(&e))?;
    handed::read(file)
}
