//! The program's own process, from the fork to `exec`: every step only takes rights away.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::fs::{Access, AtFlags, CWD};
use rustix::io::Errno;
use rustix::process::Signal;

use super::entry::{fail, report};
use super::start::READY;
use super::sys::{self, Disposition};
use super::{keeper, privileges, seccomp, stamps, wall};
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// Confines this process and executes the program. Never returns.
pub(super) fn run(plan: &Plan, mut status: File) -> ! {
    if let Err(error) = confine(plan) {
        fail(status, &error)
    }
    if writeln!(status, "{READY}").is_err() {
        sys::exit_now(125);
    }
    let error = execute(plan);
    report(&mut status, &error);
    sys::exit_now(125)
}

fn confine(plan: &Plan) -> Result<(), StageError> {
    let os = |stage: &'static str| move |e: std::io::Error| StageError::os(stage, stage, &e);
    sys::unblock_signals().map_err(os("signals"))?;
    for signal in keeper::KEYS {
        sys::set_signal(signal, Disposition::Default);
    }
    if !plan.terminal {
        rustix::process::setsid().map_err(|e| StageError::os("session", "setsid", &e.into()))?;
    }
    let _ = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    rustix::process::chdir(&plan.launch.cwd).map_err(|e| {
        StageError::os(
            "cwd",
            format!("working folder `{}`", plan.launch.cwd.display()),
            &e.into(),
        )
    })?;
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

#[expect(
    clippy::disallowed_methods,
    reason = "this is the one exec of a program"
)]
fn execute(plan: &Plan) -> StageError {
    let launch = &plan.launch;
    let error = Command::new(&launch.program)
        .arg0(&launch.name)
        .args(&launch.args)
        .env_clear()
        .envs(&plan.env.0)
        .exec();
    StageError::os("exec", format!("`{}`", launch.program.display()), &error)
}
