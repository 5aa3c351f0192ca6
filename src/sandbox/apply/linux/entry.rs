//! The first code of the helper: checks that it was started by us, reads the plan, confines.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{FileType, SealFlags};
use rustix::io::Errno;
use rustix::net::RecvFlags;

#[cfg(feature = "birdcage")]
use super::stage_two;
use super::start::HELPER;
use super::{escape, keeper, passing, probe, sys};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// The code of a helper that could not do its work.
pub(super) const FAILED: i32 = 125;

/// The one argument of the second stage, which runs behind the second wall.
#[cfg(feature = "birdcage")]
pub(super) const STAGE_TWO: &str = "creance-sandbox-stage-two";

/// How it is executed: birdcage passes no other name.
#[cfg(feature = "birdcage")]
pub(super) const SELF: &str = "/proc/self/exe";

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
    let mut status = File::from(status);
    let closed = closed.map_err(|e| StageError::os("helper", "descriptors", &e));
    let streams = closed.and_then(|()| rustix::stdio::dup2_stdin(input).map_err(os));
    match streams.and_then(|()| read(spec)) {
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

/// Reads a plan.
pub(super) fn read(spec: OwnedFd) -> Result<Plan, StageError> {
    let mut text = Vec::new();
    let mut file = File::from(spec);
    let broken = |e: &dyn std::fmt::Display| StageError::new("plan", e.to_string());
    std::io::Seek::rewind(&mut file).map_err(|e| broken(&e))?;
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
