//! Placeholders: what stands on the disk where a protected path is absent, so that a mount can
//! guard the name. Ours are known by what is in them and by their time stamp; a shared lock says that
//! a sandbox still needs one. Removed by the last keeper, else by main, else at the next launch.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, Mode, OFlags, ResolveFlags, Timespec, Timestamps};

use crate::grant::guarded::PROTECTED_FILES;

/// The modification time of a placeholder: 2005-10-16, "CREA" in ASCII. Anything that is put into
/// a folder or file changes it.
const MARK: i64 = 0x4352_4541;

/// Files that other programs read while a sandbox runs, with the text that means nothing to them;
/// others are empty. Git reads its hooks and configuration from the folder that `commondir` names,
/// in every repository: absent, it means `.`.
const TEXTS: &[(&str, &str)] = &[(".git/commondir", ".\n"), (".mcp.json", "{}\n")];

/// One placeholder, kept by its lock.
#[derive(Debug)]
pub(super) struct Placeholder {
    path: PathBuf,
    held: File,
}

/// What to put where nothing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    File,
    Folder,
}

/// The kind of a protected path.
pub(super) fn kind_of(path: &Path) -> Kind {
    if PROTECTED_FILES.iter().any(|entry| is_named(path, entry)) {
        return Kind::File;
    }
    Kind::Folder
}

/// What is in the placeholder of a file.
fn text_of(path: &Path) -> &'static str {
    let text = TEXTS.iter().find(|(entry, _)| is_named(path, entry));
    text.map_or("", |(_, text)| text)
}

/// Whether a path is this entry of a project; what stands in `.git` stands in the repository of a
/// submodule as well.
fn is_named(path: &Path, entry: &str) -> bool {
    let of_module = |name: &str| {
        path.ends_with(name) && path.components().any(|part| part.as_os_str() == "modules")
    };
    path.ends_with(entry) || entry.strip_prefix(".git/").is_some_and(of_module)
}

/// Whether this is a placeholder of ours.
pub(super) fn is_ours(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| marked(path, &found))
        && (path.is_file() || is_empty_folder(path))
}

impl Placeholder {
    /// Puts a placeholder at an absent path, or shares the one that is there.
    pub(super) fn put(path: &Path, kind: Kind) -> io::Result<Self> {
        for _ in 0..100 {
            match create(path, kind) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
            match Self::hold(path) {
                Ok(Some(placeholder)) => return Ok(placeholder),
                // Another keeper removed it just now.
                Ok(None) => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::Error::other("it is created and removed all the time"))
    }

    /// Shares an existing placeholder; `None` when another one or nothing is there by now.
    pub(super) fn hold(path: &Path) -> io::Result<Option<Self>> {
        let held = open(path)?;
        rustix::fs::flock(&held, FlockOperation::LockShared)?;
        let now = fs::symlink_metadata(path)?;
        let mine = held.metadata()?;
        if (now.dev(), now.ino()) != (mine.dev(), mine.ino()) {
            return Ok(None);
        }
        Ok(Some(Self {
            path: path.to_owned(),
            held,
        }))
    }

    /// Where it lies.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it when it is still ours and no other sandbox needs it.
    pub(super) fn remove(&self) {
        remove_locked(&self.path, &self.held);
    }
}

/// Removes the placeholders that a killed keeper left at these protected paths.
pub(super) fn sweep(protect: &[PathBuf]) {
    for path in protect {
        let places = path
            .ancestors()
            .take_while(|place| place.parent().is_some());
        let Some(first) = places.filter(|place| is_ours(place)).last() else {
            continue;
        };
        if let Ok(held) = open(first) {
            remove_locked(first, &held);
        }
    }
}

/// The same in the background: the processes of a killed keeper hold its locks until they are gone.
pub(super) fn sweep_later(protect: Vec<PathBuf>) {
    let ours = |path: &PathBuf| path.ancestors().any(is_ours);
    if !protect.iter().any(ours) {
        return;
    }
    let _ = std::thread::Builder::new()
        .name("creance-sweep".to_owned())
        .spawn(move || {
            for _ in 0..SWEEPS_MAX {
                sweep(&protect);
                if !protect.iter().any(ours) {
                    return;
                }
                std::thread::sleep(SWEEP_PAUSE);
            }
        });
}

const SWEEPS_MAX: usize = 50;
const SWEEP_PAUSE: std::time::Duration = std::time::Duration::from_millis(20);

fn remove_locked(path: &Path, held: &File) {
    // Fails while another sandbox holds its shared lock: that one removes it.
    if rustix::fs::flock(held, FlockOperation::NonBlockingLockExclusive).is_err() {
        return;
    }
    let (Ok(mine), Ok(now)) = (held.metadata(), fs::symlink_metadata(path)) else {
        return;
    };
    if (now.dev(), now.ino()) != (mine.dev(), mine.ino()) || !marked(path, &now) {
        return;
    }
    if now.is_dir() {
        // Refused by the system when something is in it.
        let _ = fs::remove_dir(path);
    } else {
        let _ = fs::remove_file(path);
    }
}

fn marked(path: &Path, found: &fs::Metadata) -> bool {
    found.mtime() == MARK
        && (found.is_dir()
            || found.is_file()
                && found.len() == text_of(path).len() as u64
                && fs::read(path).is_ok_and(|text| text == text_of(path).as_bytes()))
}

fn is_empty_folder(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

fn open(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    Ok(File::from(rustix::fs::open(path, flags, Mode::empty())?))
}

/// Creates below a parent that is reached without any symbolic link: one that another sandbox
/// plants must not lead the creation elsewhere (CVE-2026-87766).
fn create(path: &Path, kind: Kind) -> io::Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(ErrorKind::InvalidInput.into());
    };
    let folder = rustix::fs::openat2(
        rustix::fs::CWD,
        parent,
        OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?;
    let made = match kind {
        Kind::Folder => {
            rustix::fs::mkdirat(&folder, name, Mode::RWXU | Mode::RGRP | Mode::XGRP)?;
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            rustix::fs::openat(&folder, name, flags, Mode::empty())?
        }
        Kind::File => {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let mode = Mode::RUSR | Mode::WUSR | Mode::RGRP;
            let file = rustix::fs::openat(&folder, name, flags, mode)?;
            let mut file = File::from(file);
            io::Write::write_all(&mut file, text_of(path).as_bytes())?;
            OwnedFd::from(file)
        }
    };
    let mark = Timespec {
        tv_sec: MARK,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: mark,
        last_modification: mark,
    };
    Ok(rustix::fs::futimens(made, &times)?)
}
