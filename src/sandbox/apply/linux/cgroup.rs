//! A cgroup (version 2) around one tree of processes, where this user may make them: the kernel then
//! holds the memory and the number of processes of all of them together.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags};
use rustix::rand::GetRandomFlags;

use super::mounts::decode;
use crate::grant::{Limit, LimitHit, Limits};
use crate::sandbox::plan::CgroupOffer;
use crate::sandbox::spawn::StageError;

/// The names of ours begin so.
const NAME: &str = "creance-";

/// Where cgroups can be made here, found out by making one: the nearest cgroup around this process
/// that is this user's and passes controllers on. The process's own cannot pass any on.
pub(crate) fn offer() -> Option<CgroupOffer> {
    let own = own_folder()?;
    own.ancestors()
        .skip(1)
        .take_while(|folder| folder.join("cgroup.subtree_control").is_file())
        .find_map(offer_of)
}

fn offer_of(parent: &Path) -> Option<CgroupOffer> {
    let passed = fs::read_to_string(parent.join("cgroup.subtree_control")).ok()?;
    let has = |name: &str| {
        passed
            .split_whitespace()
            .any(|controller| controller == name)
    };
    let offer = CgroupOffer {
        parent: parent.to_owned(),
        memory: has("memory"),
        processes: has("pids"),
    };
    if !offer.memory && !offer.processes {
        return None;
    }
    sweep(parent);
    // A process moves only where both ends and what is above them can be written.
    File::options()
        .write(true)
        .open(parent.join("cgroup.procs"))
        .ok()?;
    let scratch = Cgroup::make(&offer, &Limits::default()).ok()?;
    scratch.remove();
    Some(offer)
}

/// The folder of this process's cgroup.
fn own_folder() -> Option<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let inside = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    let mounts = fs::read("/proc/self/mountinfo").ok()?;
    place(&mounts, Path::new(inside))
}

/// Where a cgroup is, by the table of mounts.
fn place(mounts: &[u8], inside: &Path) -> Option<PathBuf> {
    mounts.split(|byte| *byte == b'\n').find_map(|line| {
        let fields: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let dash = fields.iter().position(|field| field == b"-")?;
        if *fields.get(dash + 1)? != b"cgroup2" {
            return None;
        }
        let (root, point) = (decode(fields.get(3)?), decode(fields.get(4)?));
        let below = inside.strip_prefix(root).ok()?;
        Some(point.components().chain(below.components()).collect())
    })
}

/// One cgroup of ours. A lock on it says that its keeper lives.
#[derive(Debug)]
pub(super) struct Cgroup {
    folder: PathBuf,
    /// Opened while this process still has the rights that a move needs.
    join: File,
    holds_memory: bool,
    _held: File,
}

impl Cgroup {
    /// Makes one for a tree with these limits.
    pub(super) fn make(offer: &CgroupOffer, limits: &Limits) -> Result<Self, StageError> {
        let cgroup = Self::make_empty(offer).map_err(|e| {
            StageError::os(
                "limits",
                format!("cgroup in `{}`", offer.parent.display()),
                &e,
            )
        })?;
        let cgroup = Self {
            holds_memory: offer.memory && limits.tree_bytes.is_some(),
            ..cgroup
        };
        cgroup
            .limit(offer, limits)
            .inspect_err(|_| cgroup.remove())?;
        Ok(cgroup)
    }

    fn make_empty(offer: &CgroupOffer) -> io::Result<Self> {
        for _ in 0..TRIES {
            let folder = offer.parent.join(format!("{NAME}{:016x}", random()?));
            fs::create_dir(&folder)?;
            let opened = Self::open(folder.clone());
            // Another process swept it before it was locked.
            let swept =
                |e: &io::Error| matches!(e.kind(), ErrorKind::NotFound | ErrorKind::WouldBlock);
            if opened.as_ref().is_err_and(swept) {
                continue;
            }
            return opened.inspect_err(|_| drop(fs::remove_dir(&folder)));
        }
        Err(io::Error::other("it is removed all the time"))
    }

    fn open(folder: PathBuf) -> io::Result<Self> {
        let held = open_folder(&folder)?;
        rustix::fs::flock(&held, FlockOperation::NonBlockingLockShared)?;
        let join = File::options()
            .write(true)
            .open(folder.join("cgroup.procs"))?;
        Ok(Self {
            folder,
            join,
            holds_memory: false,
            _held: held,
        })
    }

    fn limit(&self, offer: &CgroupOffer, limits: &Limits) -> Result<(), StageError> {
        let set = |file: &'static str, value: u64| {
            fs::write(self.folder.join(file), value.to_string())
                .map_err(|e| StageError::os("limits", file, &e))
        };
        if let (true, Some(bytes)) = (offer.memory, limits.tree_bytes) {
            set("memory.max", bytes)?;
            // Swap would only make it slow; absent where there is none.
            let _ = set("memory.swap.max", 0);
            // All of the tree or nothing: half a server answers nobody. Since Linux 4.19.
            let _ = set("memory.oom.group", 1);
        }
        if let (true, Some(processes)) = (offer.processes, limits.processes) {
            // Process 1 and its like are ours.
            set("pids.max", processes.saturating_add(OWN))?;
        }
        Ok(())
    }

    /// Moves this process into it.
    pub(super) fn enter(&self) -> Result<(), StageError> {
        (&self.join)
            .write_all(b"0")
            .map_err(|e| StageError::os("limits", "cgroup.procs", &e))
    }

    /// Whether the kernel holds the memory of the whole tree.
    pub(super) fn holds_memory(&self) -> bool {
        self.holds_memory
    }

    /// The limit that the kernel had to enforce by killing.
    pub(super) fn reached(&self, limits: &Limits) -> Option<LimitHit> {
        let killed = self.counter("memory.events", "oom_kill")? > 0;
        let value = limits.tree_bytes.filter(|_| killed)?;
        Some(LimitHit {
            limit: Limit::Memory,
            value,
        })
    }

    /// CPU time of everything that ran in it, in microseconds.
    pub(super) fn cpu_us(&self) -> Option<u64> {
        self.counter("cpu.stat", "usage_usec")
    }

    fn counter(&self, file: &str, name: &str) -> Option<u64> {
        let text = fs::read_to_string(self.folder.join(file)).ok()?;
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(' ')?;
            (key == name).then(|| value.parse().ok()).flatten()
        })
    }

    /// Kills everything in it. Since Linux 5.14.
    pub(super) fn kill(&self) {
        let _ = fs::write(self.folder.join("cgroup.kill"), "1");
    }

    /// Removes it once it is empty.
    pub(super) fn remove(&self) {
        let _ = fs::remove_dir(&self.folder);
    }
}

const TRIES: usize = 100;

fn random() -> io::Result<u64> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, GetRandomFlags::empty())?;
    Ok(u64::from_ne_bytes(bytes))
}

/// Processes of ours in a tree: process 1, and those of the second wall.
const OWN: u64 = 3;

/// Removes what keepers that were killed left: empty ones of ours that nobody holds.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(NAME) {
            continue;
        }
        let free = open_folder(&entry.path()).is_ok_and(|held| {
            rustix::fs::flock(&held, FlockOperation::NonBlockingLockExclusive).is_ok()
        });
        if free {
            // Refused by the system while something runs in it.
            let _ = fs::remove_dir(entry.path());
        }
    }
}

fn open_folder(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_found_by_the_mounts() {
        let check = |mounts: &str, inside: &str, want: Option<&str>| {
            assert_eq!(
                place(mounts.as_bytes(), Path::new(inside)).as_deref(),
                want.map(Path::new)
            );
        };
        let plain = "1 0 8:1 / / rw - ext4 /dev/a rw\n\
                     2 1 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        check(
            plain,
            "/user.slice/a.scope",
            Some("/sys/fs/cgroup/user.slice/a.scope"),
        );
        check(plain, "/", Some("/sys/fs/cgroup"));
        // A container shows a part of the tree.
        let part = "2 1 0:26 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup ro\n";
        check(part, "/docker/x/y", Some("/sys/fs/cgroup/y"));
        check(part, "/other", None);
        check("1 0 8:1 / / rw - ext4 /dev/a rw\n", "/", None);
    }
}
