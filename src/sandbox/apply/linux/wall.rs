//! Landlock: inside namespaces a second wall around writes, signals and abstract sockets.

use std::os::fd::OwnedFd;
use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, BitFlags, CompatLevel, Compatible, PathBeneath, Ruleset, RulesetAttr,
    RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};

use super::probe::is_root;
use super::readable;
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

/// The newest rights that are asked for; an older kernel gives what it has.
const NEWEST: ABI = ABI::V6;

/// Written inside every namespace, besides the granted folders: all of it is private.
const PRIVATE: &[&str] = &["/dev"];

/// Written as well, unless it is a whole one: there nothing covers what steers the machine, and behind
/// the second wall every user is the root of namespaces that have settings.
const PROC: &str = "/proc";

/// Before this one, files outside can be truncated.
const LEAST_ALONE: u32 = 3;

const NODES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// The Landlock ABI of the kernel, 0 without.
pub(crate) fn landlock_abi() -> u32 {
    super::sys::landlock_abi()
}

/// Raises the wall for the rest of this process's life.
pub(super) fn raise(plan: &Plan) -> Result<(), StageError> {
    let failed = |error: String| StageError::new("landlock", error);
    let alone = plan.backend == Backend::LinuxLandlock;
    if alone && landlock_abi() < LEAST_ALONE {
        let why = "Linux 6.2 or newer with Landlock switched on is needed (`lsm=…,landlock`)";
        return Err(failed(why.to_owned()));
    }
    let status = if alone {
        alone_around(plan)
    } else {
        around_writes(plan)
    };
    let status = status.map_err(|e| failed(e.to_string()))?;
    let needed = match plan.backend {
        Backend::LinuxLandlock | Backend::LinuxNsNoproc => "which hides other processes here",
        Backend::LinuxL3 if is_root() => "which keeps root from steering the machine here",
        _ => return Ok(()),
    };
    if status == RulesetStatus::NotEnforced {
        return Err(failed(format!("the kernel has no Landlock, {needed}")));
    }
    Ok(())
}

/// Reads, writes and execution, for a process that sees the machine's own disk.
fn alone_around(plan: &Plan) -> Result<RulesetStatus, landlock::RulesetError> {
    let all = AccessFs::from_all(NEWEST);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    for path in readable::paths(plan) {
        rules = allow(rules, &path, AccessFs::from_read(NEWEST))?;
    }
    for path in plan.writable() {
        rules = allow_writes(rules, path, all)?;
    }
    for node in NODES {
        rules = allow(rules, Path::new(node), AccessFs::from_file(NEWEST))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

fn around_writes(plan: &Plan) -> Result<RulesetStatus, landlock::RulesetError> {
    let writes = AccessFs::from_write(NEWEST);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(writes)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    let steers = plan.backend == Backend::LinuxL3;
    let proc = (!steers).then_some(&PROC);
    for path in plan.writable() {
        rules = allow_writes(rules, path, writes)?;
    }
    let private = PRIVATE.iter().chain(proc).map(Path::new);
    for path in plan.private().chain(private) {
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
    match rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()) {
        Ok(place) => allow_at(rules, place, access),
        Err(_) => Ok(rules),
    }
}

/// The same for a folder that was granted for writing. It was resolved when it was granted: a link on
/// the way to it was put there since, and leads to something that nobody granted.
fn allow_writes(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let plain = ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(CWD, path, flags, Mode::empty(), plain) {
        Ok(place) => allow_at(rules, place, access),
        Err(_) => Ok(rules),
    }
}

fn allow_at(
    rules: RulesetCreated,
    place: OwnedFd,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, landlock::RulesetError> {
    let found = rustix::fs::fstat(&place);
    let folder = found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir());
    let access = if folder {
        access
    } else {
        access & AccessFs::from_file(NEWEST)
    };
    rules.add_rule(PathBeneath::new(place, access))
}
