//! Devices, and the files by which the kernel is steered.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode};

use super::super::ground::Ground;
use super::{Attempts, Told, Try, append, skip, stopped, through_if};

pub(super) const ATTEMPTS: Attempts = &[
    ("dev-null", |_| append("/dev/null")),
    ("dev-random", |_| super::read("/dev/urandom")),
    ("dev-pty", |_| {
        Ok(File::options()
            .read(true)
            .write(true)
            .open("/dev/ptmx")
            .map(drop)?)
    }),
    ("dev-others", others),
    ("dev-write", |_| append("/dev/creance-escape")),
    ("make-device", |_| make(Path::new("/tmp/creance-disk"))),
    ("make-device-project", |g| make(&g.project.join("disk"))),
    ("core-pattern", |g| {
        steer(g, "/proc/sys/kernel/core_pattern")
    }),
    ("modprobe-path", |g| steer(g, "/proc/sys/kernel/modprobe")),
    ("binfmt", |g| steer(g, "/proc/sys/fs/binfmt_misc/register")),
    ("sysrq", |g| steer(g, "/proc/sysrq-trigger")),
    ("drop-caches", |g| steer(g, "/proc/sys/vm/drop_caches")),
    ("hostname-file", |g| steer(g, "/proc/sys/kernel/hostname")),
    ("kcore", |g| look(g, "/proc/kcore")),
    ("kmsg", |g| look(g, "/dev/kmsg")),
    ("kallsyms", |_| kallsyms()),
    ("sys-power", |g| steer(g, "/sys/power/state")),
    ("uevent-helper", |g| steer(g, "/sys/kernel/uevent_helper")),
    ("kexec-file", |g| steer(g, "/sys/kernel/kexec_crash_size")),
    ("efi-variables", |g| look(g, "/sys/firmware/efi/efivars")),
    ("debugfs", |g| look(g, "/sys/kernel/debug")),
    ("tracefs", |g| look(g, "/sys/kernel/tracing")),
    ("securityfs", |g| look(g, "/sys/kernel/security")),
    ("bpf-files", |g| look(g, "/sys/fs/bpf")),
    ("cgroup-make", |_| cgroup_make()),
    ("cgroup-release-agent", |g| {
        first(&cgroup("release_agent"), |path| steer_at(g, path))
    }),
    ("cgroup-leave", |g| {
        first(&cgroup("cgroup.procs"), |path| steer_at(g, path))
    }),
    ("cgroup-limits", |g| {
        first(&cgroup("memory.max"), |path| steer_at(g, path))
    }),
];

/// Files of the kernel that are tried, where a machine has them.
const KERNEL: &[&str] = &[
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sysrq-trigger",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/kernel/hostname",
    "/proc/kcore",
    "/dev/kmsg",
    "/sys/power/state",
    "/sys/kernel/uevent_helper",
    "/sys/kernel/kexec_crash_size",
    "/sys/firmware/efi/efivars",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/fs/bpf",
];

/// Those that this machine does not have: seen from outside, where nothing hides them.
pub(in super::super) fn absent() -> Vec<PathBuf> {
    let all = KERNEL.iter().map(PathBuf::from);
    all.filter(|path| path.symlink_metadata().is_err())
        .collect()
}

/// Nodes that every program may have.
const PLAIN: &[&str] = &["null", "zero", "full", "random", "urandom", "tty", "ptmx"];

/// Device nodes of this machine that open in here.
fn others(ground: &Ground) -> Try {
    let mut found: Vec<PathBuf> = ground.devices.clone();
    found.extend(nodes(Path::new("/dev")));
    found.sort();
    found.dedup();
    let plain = |path: &Path| {
        let name = path.strip_prefix("/dev").unwrap_or(path);
        PLAIN.iter().any(|plain| Path::new(plain) == name) || name.starts_with("pts")
    };
    let open = |path: &&PathBuf| !plain(path) && OpenOptions::new().read(true).open(path).is_ok();
    match found.iter().find(open) {
        Some(node) => Err(Told::Through(node.display().to_string())),
        None => Err(stopped(format!("none of {} opens", found.len()))),
    }
}

/// Device nodes of a folder, one level deep.
pub(in super::super) fn nodes(folder: &Path) -> Vec<PathBuf> {
    let mut nodes = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let device = |entry: &fs::DirEntry| {
            let kind = entry.file_type();
            kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
        };
        if device(&entry) {
            nodes.push(entry.path());
        } else if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            let below = fs::read_dir(entry.path()).into_iter().flatten().flatten();
            nodes.extend(below.filter(device).map(|entry| entry.path()));
        }
    }
    nodes
}

fn make(path: &Path) -> Try {
    let mode = Mode::from_raw_mode(0o666);
    let disk = rustix::fs::makedev(7, 0);
    rustix::fs::mknodat(CWD, path, FileType::BlockDevice, mode, disk)?;
    // A node without the right to use it is a file like any other.
    Ok(File::open(path).map(drop)?)
}

fn there(ground: &Ground, path: &Path) -> Result<(), Told> {
    if ground.absent.iter().any(|absent| absent == path) {
        return Err(skip("this machine has none"));
    }
    Ok(())
}

/// Opens for writing, and writes nothing.
fn steer(ground: &Ground, path: &str) -> Try {
    steer_at(ground, Path::new(path))
}

fn steer_at(ground: &Ground, path: &Path) -> Try {
    there(ground, path)?;
    Ok(OpenOptions::new().write(true).open(path).map(drop)?)
}

/// Opens a file, or lists a folder that is not empty.
fn look(ground: &Ground, path: &str) -> Try {
    let path = Path::new(path);
    there(ground, path)?;
    match fs::read_dir(path) {
        Ok(mut entries) => through_if(entries.next().is_some(), "it is empty"),
        Err(error) if error.raw_os_error() == Some(libc::ENOTDIR) => {
            Ok(File::open(path).map(drop)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Addresses of the kernel: all zero to those who may not know them.
fn kallsyms() -> Try {
    use std::io::Read as _;
    let mut text = String::new();
    match File::open("/proc/kallsyms") {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(skip("this machine has none"));
        }
        other => other?.take(4096).read_to_string(&mut text)?,
    };
    let known = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .any(|address| address.bytes().any(|digit| digit != b'0'));
    through_if(known, "no address is told")
}

/// The control files of that name in the hierarchies of this machine.
fn cgroup(name: &str) -> Vec<PathBuf> {
    let root = Path::new("/sys/fs/cgroup");
    let below = fs::read_dir(root).into_iter().flatten().flatten();
    let folders = std::iter::once(root.to_owned()).chain(below.map(|entry| entry.path()));
    folders.map(|folder| folder.join(name)).collect()
}

fn first(paths: &[PathBuf], open: impl Fn(&Path) -> Try) -> Try {
    let mut last = stopped("nothing is there");
    for path in paths {
        match open(path) {
            Ok(()) => return Ok(()),
            Err(Told::Skipped(_)) => {}
            Err(miss) => last = miss,
        }
    }
    Err(last)
}

fn cgroup_make() -> Try {
    let folders = cgroup("creance-escape");
    first(&folders, |path| {
        fs::create_dir(path)?;
        let _ = fs::remove_dir(path);
        Ok(())
    })
}
