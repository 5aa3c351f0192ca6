//! Looking everywhere instead of at known places: folders that can be written, kernel files that can
//! be opened for writing, programs that would run as somebody else.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use super::super::ground::Ground;
use super::{Attempts, Told, Try, stopped};
use crate::sandbox::plan::Backend;

pub(super) const ATTEMPTS: Attempts = &[
    ("write-anywhere", write_anywhere),
    ("proc-sys-anywhere", |g| {
        steer_anywhere(g, Path::new("/proc/sys"))
    }),
    ("sys-anywhere", |g| steer_anywhere(g, Path::new("/sys"))),
    ("proc-anywhere", |_| steer_files(Path::new("/proc"))),
];

/// An attempt has five seconds.
const TIME_MAX: Duration = Duration::from_secs(3);

/// Of folders of programs and of documents, the outermost ones are enough.
const DEPTH_MAX: usize = 4;

/// Private in a view of its own.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/proc"];

/// Settings of a namespace for messages between processes: the sandbox has one of its own.
const OWN_SETTINGS: &[&str] = &[
    "/proc/sys/kernel/auto_msgmni",
    "/proc/sys/kernel/msg_next_id",
    "/proc/sys/kernel/msgmax",
    "/proc/sys/kernel/msgmnb",
    "/proc/sys/kernel/msgmni",
    "/proc/sys/kernel/sem",
    "/proc/sys/kernel/sem_next_id",
    "/proc/sys/kernel/shm_next_id",
    "/proc/sys/kernel/shm_rmid_forced",
    "/proc/sys/kernel/shmall",
    "/proc/sys/kernel/shmmax",
    "/proc/sys/kernel/shmmni",
    "/proc/sys/fs/mqueue",
];

/// Makes an unnamed file in every folder that is not granted.
fn write_anywhere(ground: &Ground) -> Try {
    let granted = [&ground.project, &ground.temp];
    let private: &[&str] = match ground.backend {
        Backend::LinuxLandlock | Backend::None => &["/proc"],
        _ => PRIVATE,
    };
    let mut seen = 0_usize;
    let open = walk(Path::new("/"), DEPTH_MAX, &mut |folder| {
        if private.iter().any(|own| folder == Path::new(own)) {
            return Found::Leave;
        }
        if granted.iter().any(|own| folder.starts_with(own)) {
            return Found::Leave;
        }
        seen += 1;
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        match rustix::fs::open(folder, flags, Mode::from_raw_mode(0o600)) {
            Ok(_) => Found::Open,
            // No unnamed files here: one with a name, which goes at once.
            Err(Errno::OPNOTSUPP | Errno::ISDIR) => named(folder),
            Err(_) => Found::Enter,
        }
    });
    told(open, seen, "folders")
}

fn named(folder: &Path) -> Found {
    let path = folder.join("creance-escape");
    match OpenOptions::new().write(true).create_new(true).open(&path) {
        Ok(_) => {
            let _ = fs::remove_file(path);
            Found::Open
        }
        Err(_) => Found::Enter,
    }
}

/// Opens every file of a tree for writing, and writes nothing.
fn steer_anywhere(ground: &Ground, root: &Path) -> Try {
    let own: &[&str] = match ground.backend {
        Backend::LinuxL3 | Backend::LinuxNs | Backend::LinuxNsNoproc => OWN_SETTINGS,
        _ => &[],
    };
    let mut seen = 0_usize;
    let mut open = None;
    walk(root, 12, &mut |folder| {
        open = first_open(folder, own, &mut seen);
        if open.is_some() {
            Found::Open
        } else {
            Found::Enter
        }
    });
    told(open, seen, "files")
}

/// The same for the files of one folder.
fn steer_files(folder: &Path) -> Try {
    let mut seen = 0;
    let open = first_open(folder, &[], &mut seen);
    told(open, seen, "files")
}

fn first_open(folder: &Path, own: &[&str], seen: &mut usize) -> Option<PathBuf> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let file = entry.file_type().is_ok_and(|kind| kind.is_file());
        // Those that nobody may write are left out: opening some takes long.
        let writable = |meta: fs::Metadata| meta.permissions().mode() & 0o222 != 0;
        if !file || !entry.metadata().is_ok_and(writable) {
            continue;
        }
        if own.iter().any(|own| path.starts_with(own)) {
            continue;
        }
        *seen += 1;
        if OpenOptions::new().write(true).open(&path).is_ok() {
            return Some(path);
        }
    }
    None
}

enum Found {
    /// It could be written.
    Open,
    /// Look below.
    Enter,
    /// Not below.
    Leave,
}

/// Walks folders until one could be written, or the time is over.
fn walk(root: &Path, depth: usize, look: &mut dyn FnMut(&Path) -> Found) -> Option<PathBuf> {
    let until = Instant::now() + TIME_MAX;
    let mut open = vec![(root.to_owned(), depth)];
    while let Some((folder, depth)) = open.pop() {
        match look(&folder) {
            Found::Open => return Some(folder),
            Found::Leave => continue,
            Found::Enter if depth == 0 || Instant::now() > until => continue,
            Found::Enter => {}
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push((entry.path(), depth - 1));
            }
        }
    }
    None
}

fn told(open: Option<PathBuf>, seen: usize, what: &str) -> Try {
    match open {
        Some(path) => Err(Told::Through(path.display().to_string())),
        None => Err(stopped(format!("none of {seen} {what}"))),
    }
}
