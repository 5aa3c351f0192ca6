//! The program's own process, from the fork to `exec`: every step only takes rights away.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::process::{Resource, Rlimit};

use super::super::stamps;
use super::entry::{fail, report};
use super::keeper;
use super::start::READY;
use super::sys::{self, Disposition};
use crate::grant::Limits;
use crate::sandbox::plan::{Backend, Plan, profile};
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
    for signal in keeper::KEYS {
        sys::set_signal(signal, Disposition::Default);
    }
    if !plan.terminal {
        rustix::process::setsid().map_err(|e| StageError::os("session", "setsid", &e.into()))?;
    }
    let _ = rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    rustix::process::chdir(&plan.launch.cwd).map_err(|e| {
        let folder = format!("working folder `{}`", plan.launch.cwd.display());
        StageError::os("cwd", folder, &e.into())
    })?;
    limit(&plan.limits)?;
    stamps::check(&plan.launch.stamps, stamps::Unseen::Refuse)?;
    sys::close_from_at_exec(3).map_err(|e| StageError::os("descriptors", "close", &e))?;
    match plan.backend {
        Backend::None => return Ok(()),
        Backend::MacosSeatbelt => {}
        Backend::LinuxL3
        | Backend::LinuxNs
        | Backend::LinuxNsNoproc
        | Backend::LinuxLandlock
        | Backend::WindowsJob => {
            let error = format!("{} is not for this system", plan.backend);
            return Err(StageError::new("backend", error));
        }
    }
    sys::confine(&profile(plan, None)).map_err(|e| StageError::os("seatbelt", "profile", &e))?;
    stamps::check(&plan.launch.stamps, stamps::Unseen::Skip)
}

/// macOS counts processes by user and does not bound memory: neither is set here.
fn limit(limits: &Limits) -> Result<(), StageError> {
    let wanted = [
        (Resource::Core, Some(0), "core"),
        (Resource::Cpu, limits.cpu_s, "cpu"),
        (Resource::Fsize, limits.file_bytes, "file size"),
        (Resource::Nofile, limits.open_files, "open files"),
    ];
    for (resource, value, name) in wanted {
        let Some(value) = value else { continue };
        let most = rustix::process::getrlimit(resource).maximum;
        let value = Some(value.min(most.unwrap_or(u64::MAX)));
        let limit = Rlimit {
            current: value,
            maximum: value,
        };
        rustix::process::setrlimit(resource, limit)
            .map_err(|e| StageError::os("limits", name, &e.into()))?;
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
