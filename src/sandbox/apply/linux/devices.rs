//! `/dev`, `/proc` and what else of the kernel's interfaces a view needs.

use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::mounts::{attach, clone_tree, new_file_system, open_in};
use super::placeholder::Kind;
use super::sys::{self, NODEV, NOEXEC, NOSUID, RDONLY, Reach};
use super::view::{View, os};
use crate::sandbox::plan::{Backend, Plan};
use crate::sandbox::spawn::StageError;

const NODES: &[&str] = &["null", "zero", "full", "random", "urandom", "tty"];

const LINKS: &[(&str, &str)] = &[
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];

/// Parts of `/proc` that steer the machine: read-only also for the real root.
const STEERING: &[&str] = &["sys", "sysrq-trigger", "irq", "bus", "fs", "acpi", "scsi"];

const CONSOLE: &str = "/dev/console";

/// Where birdcage builds its root, and where that leads.
const CAGE_LINK: &str = "/tmp/birdcage-root";
const CAGE_NAME: &str = "birdcage-root";
const CAGE: &str = "/dev/birdcage";

/// The smallest `pid_max` that the kernel takes.
const PID_MAX_LEAST: u64 = 301;

/// Lays a minimal `/dev` and an own `/proc` over the view.
pub(super) fn lay(view: &mut View, plan: &Plan) -> Result<(), StageError> {
    lay_dev(view, plan)?;
    if plan.backend == Backend::LinuxL3 {
        lay_cage(view)?;
    }
    if plan.backend == Backend::LinuxNsNoproc {
        return Ok(());
    }
    lay_proc(view, plan)
}

fn lay_dev(view: &mut View, plan: &Plan) -> Result<(), StageError> {
    let failed = |what: &'static str| move |e: Errno| os("devices", what, e);
    let dev = new_file_system("tmpfs", &["size=1m", "mode=755"], MountAttrFlags::empty())
        .map_err(failed("/dev"))?;
    for name in ["shm", "pts", "birdcage"] {
        rustix::fs::mkdirat(&dev, name, Mode::from_raw_mode(0o755)).map_err(failed("/dev"))?;
    }
    for (name, target) in LINKS {
        rustix::fs::symlinkat(*target, &dev, *name).map_err(failed("/dev"))?;
    }
    view.mount(&dev, Path::new("/dev"), Kind::Folder)?;
    for name in NODES {
        let path = Path::new("/dev").join(name);
        let source = match open_in(view.machine.as_fd(), &path) {
            Err(Errno::NOENT) => continue,
            other => other.map_err(|e| os("devices", path.display(), e))?,
        };
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&dev, *name, flags, Mode::from_raw_mode(0o444))
            .and_then(|place| attach(clone_tree(source)?, place))
            .map_err(|e| os("devices", path.display(), e))?;
    }
    let shm = new_file_system(
        "tmpfs",
        &["size=256m", "mode=1777"],
        MountAttrFlags::empty(),
    )
    .map_err(failed("/dev/shm"))?;
    view.mount(&shm, Path::new("/dev/shm"), Kind::Folder)?;
    let pts = new_file_system(
        "devpts",
        &["newinstance", "ptmxmode=0666", "mode=620"],
        MountAttrFlags::MOUNT_ATTR_NOEXEC,
    )
    .map_err(failed("/dev/pts"))?;
    // Terminals are devices.
    sys::mount_setattr(&pts, 0, NODEV, Reach::One)
        .map_err(|e| StageError::os("devices", "/dev/pts", &e))?;
    view.mount(&pts, Path::new("/dev/pts"), Kind::Folder)?;
    if plan.terminal {
        lay_console(view)?;
    }
    view.close_later(dev);
    Ok(())
}

/// The terminal of a program that owns one is none of its own `/dev/pts`. Programs that ask for its
/// name find it here.
fn lay_console(view: &View) -> Result<(), StageError> {
    let input = rustix::stdio::stdin();
    let Ok(name) = rustix::termios::ttyname(input, Vec::new()) else {
        return Ok(());
    };
    let name = Path::new(OsStr::from_bytes(name.to_bytes()));
    let Ok(place) = open_in(view.machine.as_fd(), name) else {
        return Ok(());
    };
    let known = |fd| {
        rustix::fs::fstat(fd)
            .map(|found| (found.st_dev, found.st_ino))
            .ok()
    };
    if known(place.as_fd()).is_none_or(|place| Some(place) != known(input)) {
        return Ok(());
    }
    let console = clone_tree(place).map_err(|e| os("devices", CONSOLE, e))?;
    view.mount(&console, Path::new(CONSOLE), Kind::File)
}

/// Birdcage builds its root at a fixed path in `/tmp`. A link leads it into our `/dev`, which is
/// read-only in the end: in `/tmp` the program would find a writable folder without a limit.
fn lay_cage(view: &View) -> Result<(), StageError> {
    let failed = |e: Errno| os("devices", CAGE_LINK, e);
    let parent = Path::new(CAGE_LINK).parent().unwrap_or(Path::new("/"));
    let parent = open_in(view.root.as_fd(), parent).map_err(failed)?;
    rustix::fs::symlinkat(CAGE, &parent, CAGE_NAME).map_err(failed)
}

fn lay_proc(view: &View, plan: &Plan) -> Result<(), StageError> {
    let proc = new_file_system("proc", &[], MountAttrFlags::MOUNT_ATTR_NOEXEC)
        .map_err(|e| os("proc", "mount", e))?;
    view.mount(&proc, Path::new("/proc"), Kind::Folder)?;
    if let Some(processes) = plan.limits.processes {
        limit_pids(view, processes);
    }
    if plan.backend == Backend::LinuxL3 {
        // A covered one could not be mounted again inside; there Landlock covers these.
        return Ok(());
    }
    for name in STEERING {
        let path = Path::new("/proc").join(name);
        let failed = |e: Errno| os("proc", path.display(), e);
        let place = match open_in(view.root.as_fd(), &path) {
            Err(Errno::NOENT) => continue,
            other => other.map_err(failed)?,
        };
        let cover = clone_tree(&place).map_err(failed)?;
        sys::mount_setattr(&cover, RDONLY | NOSUID | NODEV | NOEXEC, 0, Reach::Tree)
            .map_err(|e| StageError::os("proc", path.display(), &e))?;
        attach(cover, place).map_err(failed)?;
    }
    Ok(())
}

/// Since Linux 6.14 a process namespace has a `pid_max` of its own, which binds the real root too.
fn limit_pids(view: &View, processes: u64) {
    let most = processes.max(PID_MAX_LEAST);
    let write = || -> rustix::io::Result<()> {
        let file = rustix::fs::openat2(
            view.root.as_fd(),
            "proc/sys/kernel/pid_max",
            rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC,
            Mode::empty(),
            rustix::fs::ResolveFlags::IN_ROOT | rustix::fs::ResolveFlags::NO_SYMLINKS,
        )?;
        rustix::io::write(file, most.to_string().as_bytes())?;
        Ok(())
    };
    // Older kernels refuse: the limit of the user then holds for everyone but the real root.
    let _ = write();
}
