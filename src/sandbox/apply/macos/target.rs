//! The program's own process, from the fork to `exec`: every step only takes rights away.

use std::fs::File;

use rustix::process::{Resource, Rlimit};

use super::super::program;
use super::super::stamps;
use super::keeper;
use super::start::READY;
use super::sys::{self, Disposition};
use crate::grant::Limits;
use crate::sandbox::plan::{Backend, Plan, profile};
use crate::sandbox::spawn::StageError;

/// Confines this process and executes the program. Never returns.
pub(super) fn run(plan: &Plan, status: File) -> ! {
    program::run(plan, status, (confine, READY))
}

fn confine(plan: &Plan) -> Result<(), StageError> {
    for signal in keeper::KEYS {
        sys::set_signal(signal, Disposition::Default);
    }
    program::settle(plan)?;
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
