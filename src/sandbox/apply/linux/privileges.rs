//! Limits and the end of all privileges.

use rustix::io::Errno;
use rustix::process::{Resource, Rlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use crate::grant::Limits;
use crate::sandbox::spawn::StageError;

/// Sets the resource limits. Inside a user namespace `NPROC` counts only its own processes.
pub(super) fn limit(limits: &Limits) -> Result<(), StageError> {
    let wanted = [
        (Resource::Core, Some(0), "core"),
        (Resource::Data, limits.memory_bytes, "memory"),
        (Resource::Nproc, limits.processes, "processes"),
        (Resource::Cpu, limits.cpu_s, "cpu"),
        (Resource::Fsize, limits.file_bytes, "file size"),
        (Resource::Nofile, limits.open_files, "open files"),
    ];
    for (resource, value, name) in wanted {
        let Some(value) = value else { continue };
        // What the machine allows at most stays the upper bound.
        let most = rustix::process::getrlimit(resource)
            .maximum
            .unwrap_or(u64::MAX);
        // CPU time ends with a signal that says so; a second later comes one that says nothing.
        let later = u64::from(resource == Resource::Cpu);
        let limit = Rlimit {
            current: Some(value.min(most)),
            maximum: Some(value.saturating_add(later).min(most)),
        };
        rustix::process::setrlimit(resource, limit)
            .map_err(|e| StageError::os("limits", name, &e.into()))?;
    }
    Ok(())
}

/// Gives up every capability, for good: also for the real root, also over `exec`.
pub(super) fn drop_all() -> Result<(), StageError> {
    let os = |what: &'static str| {
        move |e: rustix::io::Errno| StageError::os("privileges", what, &e.into())
    };
    rustix::thread::set_no_new_privs(true).map_err(os("no new privileges"))?;
    let _ = rustix::thread::clear_ambient_capability_set();
    for number in 0..64 {
        let one = CapabilitySet::from_bits_retain(1 << number);
        // Already without the right to drop: checked below.
        if rustix::thread::remove_capability_from_bounding_set(one) == Err(Errno::INVAL) {
            // The kernel knows no more.
            break;
        }
    }
    let locked = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    let secured = rustix::thread::set_capabilities_secure_bits(locked);
    if rustix::process::geteuid().is_root() {
        secured.map_err(os("secure bits"))?;
    }
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).map_err(os("capabilities"))
}
