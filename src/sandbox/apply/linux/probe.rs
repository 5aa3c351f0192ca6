//! Whether a backend works here: found out by confining a scratch process with it.

use std::path::PathBuf;

use crate::grant::{Grant, Launch};
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, plan};
use crate::sandbox::spawn::{SpawnError, Stdio};

use super::start::start;

/// The name under which the scratch process is executed.
pub(super) const SCRATCH: &str = "creance-sandbox-scratch";

/// Whether this process is the real root or the root of a container.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Confines a scratch process; the error says which step failed, with a way out where one is known.
pub(crate) fn try_backend(backend: Backend) -> Result<(), String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let launch = Launch {
        program: program.clone(),
        name: SCRATCH.to_owned(),
        args: Vec::new(),
        cwd: PathBuf::from("/"),
        stamps: Vec::new(),
    };
    let grant = Grant {
        read: vec![program],
        ..Grant::default()
    };
    let plan = plan(&Machine::only(backend.name()), &launch, &grant);
    let mut started = start(&plan.map_err(|error| error.to_string())?, Stdio::Inherit)
        .map_err(|error| advice(&error))?;
    drop(started.control);
    started.child.wait().map_err(|error| error.to_string())?;
    Ok(())
}

fn advice(error: &SpawnError) -> String {
    let SpawnError::Stage(stage) = error else {
        return error.to_string();
    };
    let way_out = match (stage.stage.as_str(), stage.errno) {
        ("user-namespace", Some(libc::ENOSPC)) => "raise `sysctl user.max_user_namespaces` above 0",
        ("user-namespace" | "user-map", Some(libc::EPERM | libc::EACCES)) => {
            "allow user namespaces: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, \
             `sysctl kernel.unprivileged_userns_clone=1`, or in a container a seccomp profile \
             that allows unshare"
        }
        ("mounts" | "view" | "namespaces", Some(libc::EPERM | libc::EACCES)) => {
            "an AppArmor or SELinux profile or the container forbids mounts: install the \
             AppArmor profile for creance"
        }
        ("proc", _) => {
            "`/proc` is masked, as in containers: start the container with \
             `--security-opt systempaths=unconfined`"
        }
        _ => return stage.to_string(),
    };
    format!("{stage}: {way_out}")
}

/// The system's name and release.
pub(crate) fn system() -> String {
    let name = rustix::system::uname();
    format!(
        "{} {}",
        name.sysname().to_string_lossy(),
        name.release().to_string_lossy()
    )
}
