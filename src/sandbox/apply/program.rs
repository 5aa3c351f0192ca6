//! The last steps before a program runs: the same on every Unix, around what confines it.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::fork::exit_now;
use super::handed::{FAILED, fail, report};
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// Takes rights away from this process, for good.
pub(in crate::sandbox::apply) type Confine = fn(&Plan) -> Result<(), StageError>;

/// Confines this process and executes the program; `ready` tells main that nothing is left but the
/// program itself. Never returns.
pub(in crate::sandbox::apply) fn run(
    plan: &Plan,
    mut status: File,
    (confine, ready): (Confine, &str),
) -> ! {
    if let Err(error) = confine(plan) {
        fail(status, &error)
    }
    if writeln!(status, "{ready}").is_err() {
        exit_now(FAILED);
    }
    let error = execute(plan);
    report(&mut status, &error);
    exit_now(FAILED)
}

/// A session of its own, unless it has the person's terminal, and the folder in which it begins.
pub(in crate::sandbox::apply) fn settle(plan: &Plan) -> Result<(), StageError> {
    if !plan.terminal {
        rustix::process::setsid().map_err(|e| StageError::os("session", "setsid", &e.into()))?;
    }
    let _ = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    rustix::process::chdir(&plan.launch.cwd).map_err(|e| {
        let folder = format!("working folder `{}`", plan.launch.cwd.display());
        StageError::os("cwd", folder, &e.into())
    })
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
