//! What is laid over the places of a view that show nothing: an empty folder, a folder that nobody
//! may enter, a file that nobody may read. All in one file system in memory.
//!
//! It is attached where the view's own `/dev` will cover it: before Linux 6.15, only what is attached
//! can be mounted a second time. Not at `/`: what is unmounted there must be the machine's root.

use std::cell::Cell;
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

use super::mounts::{attach, clone_tree, open_in};
use super::sys::{self, RDONLY, Reach};
use super::view::{EMPTY, os, tmpfs};
use crate::sandbox::spawn::StageError;

/// The file system and its three parts.
pub(super) struct Stock {
    memory: OwnedFd,
    empty: OwnedFd,
    closed: OwnedFd,
    unreadable: OwnedFd,
    /// How many files were made.
    files: Cell<u32>,
}

/// One of the parts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Empty,
    Closed,
    Unreadable,
}

const CREATE: OFlags = OFlags::CREATE
    .union(OFlags::EXCL)
    .union(OFlags::WRONLY)
    .union(OFlags::CLOEXEC);

impl Stock {
    /// Attaches one at a place.
    pub(super) fn attached(place: &OwnedFd) -> Result<Self, StageError> {
        let failed = |e| os("view", "stock", e);
        let memory = tmpfs(EMPTY)?;
        for (name, mode) in [("empty", 0o755), ("closed", 0)] {
            rustix::fs::mkdirat(&memory, name, Mode::from_raw_mode(mode)).map_err(failed)?;
        }
        rustix::fs::openat(&memory, "unreadable", CREATE, Mode::empty()).map_err(failed)?;
        attach(&memory, place).map_err(failed)?;
        let part = |name: &str| open_in(memory.as_fd(), Path::new(name)).map_err(failed);
        Ok(Self {
            empty: part("empty")?,
            closed: part("closed")?,
            unreadable: part("unreadable")?,
            memory,
            files: Cell::new(0),
        })
    }

    /// A part, to be mounted read-only.
    pub(super) fn copy(&self, item: Item) -> Result<OwnedFd, StageError> {
        read_only(match item {
            Item::Empty => &self.empty,
            Item::Closed => &self.closed,
            Item::Unreadable => &self.unreadable,
        })
    }

    /// A file with this text, to be mounted read-only.
    pub(super) fn file(&self, text: &str) -> Result<OwnedFd, StageError> {
        let failed = |e| os("view", "stock", e);
        let name = format!("file-{}", self.files.replace(self.files.get() + 1));
        let file = rustix::fs::openat(&self.memory, &*name, CREATE, Mode::from_raw_mode(0o644));
        File::from(file.map_err(failed)?)
            .write_all(text.as_bytes())
            .map_err(|e| StageError::os("view", "stock", &e))?;
        let place = open_in(self.memory.as_fd(), Path::new(&name)).map_err(failed)?;
        read_only(&place)
    }
}

fn read_only(place: &OwnedFd) -> Result<OwnedFd, StageError> {
    let copy = clone_tree(place).map_err(|e| os("view", "stock", e))?;
    sys::mount_setattr(&copy, RDONLY, 0, Reach::One)
        .map_err(|e| StageError::os("view", "read-only", &e))?;
    Ok(copy)
}
