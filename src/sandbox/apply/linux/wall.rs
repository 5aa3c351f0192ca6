//! Landlock: inside namespaces a second wall around writes, signals and abstract sockets.

use std::path::Path;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// The newest rights that are asked for; an older kernel gives what it has.
const NEWEST: ABI = ABI::V6;

/// Written inside every namespace, besides the granted folders: all of it is private.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/dev", "/proc"];

/// The Landlock ABI of the kernel, 0 without.
pub(crate) fn landlock_abi() -> u32 {
    super::sys::landlock_abi()
}

/// Raises the wall for the rest of this process's life.
pub(super) fn raise(plan: &Plan) -> Result<(), StageError> {
    let failed = |error: &dyn std::fmt::Display| StageError::new("landlock", error.to_string());
    let status = around_writes(plan).map_err(|e| failed(&e))?;
    let needed = plan.backend == Backend::LinuxNsNoproc;
    if needed && status == RulesetStatus::NotEnforced {
        return Err(failed(
            &"the kernel has no Landlock, which hides other processes here",
        ));
    }
    Ok(())
}

fn around_writes(plan: &Plan) -> Result<RulesetStatus, landlock::RulesetError> {
    let writes = AccessFs::from_write(NEWEST);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    let private = PRIVATE.iter().map(Path::new);
    for path in plan.writable().chain(private) {
        rules = allow(rules, path, writes)?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// Allows access below a path, when it is there.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let Ok(place) = PathFd::new(path) else {
        return Ok(rules);
    };
    let access = if path.is_dir() {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    rules.add_rule(PathBeneath::new(place, access))
}
