//! The program's own process, from the fork to `exec`: every step only takes rights away.

use std::fs::File;

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use rustix::process::Signal;

use super::super::program;
use super::start::READY;
use super::sys::{self, Disposition};
use super::{keeper, privileges, seccomp, stamps, wall};
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// Confines this process and executes the program. Never returns.
pub(super) fn run(plan: &Plan, status: File) -> ! {
    program::run(plan, status, (confine, READY))
}

fn confine(plan: &Plan) -> Result<(), StageError> {
    let os = |stage: &'static str| move |e: std::io::Error| StageError::os(stage, stage, &e);
    sys::unblock_signals().map_err(os("signals"))?;
    for signal in keeper::KEYS {
        sys::set_signal(signal, Disposition::Default);
    }
    program::settle(plan)?;
    privileges::limit(&plan.limits)?;
    if plan.backend == Backend::None {
        return sys::close_from_at_exec(3).map_err(os("descriptors"));
    }
    privileges::drop_all()?;
    if !plan.backend.has_namespaces() {
        // Without process 1 of its own, at least the program goes with its keeper.
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|e| StageError::os("session", "death signal", &e.into()))?;
    }
    can_write(plan)?;
    wall::raise(plan)?;
    stamps::check(&plan.launch.stamps, stamps::Unseen::Skip)?;
    sys::close_from_at_exec(3).map_err(os("descriptors"))?;
    seccomp::load(plan)
}

/// A granted folder that cannot be written is said before the program fails in its own words.
fn can_write(plan: &Plan) -> Result<(), StageError> {
    for folder in plan.writable() {
        let why = match rustix::fs::accessat(CWD, folder, Access::WRITE_OK, AtFlags::EACCESS) {
            Err(Errno::ACCESS) => {
                "belongs to another user and cannot be written without privileges: run as its owner"
            }
            Err(Errno::NOENT) => "is to be written but does not exist: create it first",
            _ => continue,
        };
        let error = format!("`{}` {why}", folder.display());
        return Err(StageError::new("write", error));
    }
    Ok(())
}
