//! Mounts by descriptor, so that no name is looked up twice, and the table of what is mounted.

use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::{Errno, Result};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags};

use super::placeholder::Kind;
use crate::sandbox::spawn::StageError;

/// Opens a place below `root` without following any symbolic link: a link, even the last one, is
/// opened itself.
pub(super) fn open_in(root: BorrowedFd<'_>, path: &Path) -> Result<OwnedFd> {
    let inside = path.strip_prefix("/").unwrap_or(path);
    let inside = if inside.as_os_str().is_empty() {
        Path::new(".")
    } else {
        inside
    };
    rustix::fs::openat2(
        root,
        inside,
        OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::IN_ROOT | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )
}

/// A detached copy of what is mounted at and below a place.
pub(super) fn clone_tree(place: impl AsFd) -> Result<OwnedFd> {
    rustix::mount::open_tree(
        place,
        "",
        OpenTreeFlags::AT_EMPTY_PATH
            | OpenTreeFlags::OPEN_TREE_CLONE
            | OpenTreeFlags::OPEN_TREE_CLOEXEC
            | OpenTreeFlags::AT_RECURSIVE,
    )
}

/// Attaches a detached mount at a place.
pub(super) fn attach(tree: impl AsFd, place: impl AsFd) -> Result<()> {
    rustix::mount::move_mount(
        tree,
        "",
        place,
        "",
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH,
    )
}

/// A new file system, detached. Options are `key=value` or a flag.
pub(super) fn new_file_system(
    kind: &str,
    options: &[&str],
    extra: MountAttrFlags,
) -> Result<OwnedFd> {
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for option in options {
        match option.split_once('=') {
            Some((key, value)) => rustix::mount::fsconfig_set_string(context.as_fd(), key, value)?,
            None => rustix::mount::fsconfig_set_flag(context.as_fd(), *option)?,
        }
    }
    rustix::mount::fsconfig_create(context.as_fd())?;
    rustix::mount::fsmount(
        context.as_fd(),
        FsMountFlags::FSMOUNT_CLOEXEC,
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV | extra,
    )
}

/// Opens a place below `root`, creating what is missing; works only inside our own file systems.
pub(super) fn open_or_make(root: BorrowedFd<'_>, path: &Path, kind: Kind) -> Result<OwnedFd> {
    match open_in(root, path) {
        Err(Errno::NOENT) => {}
        other => return other,
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(Errno::NOENT);
    };
    let parent = open_or_make(root, parent, Kind::Folder)?;
    // Not writable for the program: what it wrote beside a mount point would be lost.
    if kind == Kind::Folder {
        rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(0o555))?;
    } else {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&parent, name, flags, Mode::from_raw_mode(0o444))?;
    }
    open_in(root, path)
}

/// What is mounted where, from `/proc/self/mountinfo`.
#[derive(Debug)]
pub(super) struct MountTable(Vec<Mount>);

#[derive(Debug, PartialEq, Eq)]
struct Mount {
    device: Vec<u8>,
    root: PathBuf,
    point: PathBuf,
}

impl MountTable {
    /// Reads the table of this process.
    pub(super) fn read() -> std::result::Result<Self, StageError> {
        let text = fs::read("/proc/self/mountinfo")
            .map_err(|e| StageError::os("mounts", "/proc/self/mountinfo", &e))?;
        Ok(Self::parse(&text))
    }

    fn parse(text: &[u8]) -> Self {
        let mounts = text.split(|byte| *byte == b'\n').filter_map(|line| {
            let mut fields = line.split(|byte| *byte == b' ').skip(2);
            Some(Mount {
                device: fields.next()?.to_vec(),
                root: decode(fields.next()?),
                point: decode(fields.next()?),
            })
        });
        Self(mounts.collect())
    }

    /// Other names of the same folder or file, through other mounts of its file system.
    pub(super) fn aliases(&self, path: &Path) -> Vec<PathBuf> {
        let Some((device, inside)) = self.locate(path) else {
            return Vec::new();
        };
        let same = self.0.iter().filter(|mount| mount.device == *device);
        same.filter_map(|mount| {
            let rest = inside.strip_prefix(&mount.root).ok()?;
            let alias = join(&mount.point, rest);
            (alias != path && alias.exists()).then_some(alias)
        })
        .collect()
    }

    /// Mount points that show a part of a folder somewhere else.
    pub(super) fn parts(&self, path: &Path) -> Vec<PathBuf> {
        let Some((device, inside)) = self.locate(path) else {
            return Vec::new();
        };
        let same = self.0.iter().filter(|mount| mount.device == *device);
        same.filter(|mount| mount.root.starts_with(&inside) && mount.root != inside)
            .map(|mount| mount.point.clone())
            .filter(|point| !point.starts_with(path))
            .collect()
    }

    /// The file system of a path and where the path lies in it.
    fn locate(&self, path: &Path) -> Option<(&Vec<u8>, PathBuf)> {
        let covering = self.0.iter().filter(|mount| path.starts_with(&mount.point));
        // Of mounts at the same point, the last one is on top.
        let mount = covering.max_by_key(|mount| mount.point.components().count())?;
        let rest = path.strip_prefix(&mount.point).ok()?;
        Some((&mount.device, join(&mount.root, rest)))
    }
}

fn join(folder: &Path, rest: &Path) -> PathBuf {
    if rest.as_os_str().is_empty() {
        return folder.to_owned();
    }
    folder.join(rest)
}

/// `\040` and the like stand for bytes that would break the table.
pub(super) fn decode(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, tail)) = rest.split_first() {
        let octal = tail.get(..3).and_then(|digits| {
            let digits = std::str::from_utf8(digits).ok()?;
            u8::from_str_radix(digits, 8).ok()
        });
        match (first, octal) {
            (b'\\', Some(byte)) => {
                bytes.push(byte);
                rest = tail.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_are_found() {
        let table = MountTable::parse(
            b"1 0 8:1 / / rw - ext4 /dev/a rw\n\
              2 1 8:1 /home/u /mnt/my\\040home rw - ext4 /dev/a rw\n\
              3 1 8:1 /home/u/p /mnt/p rw - ext4 /dev/a rw\n\
              4 1 8:2 / /home/u/disk rw - ext4 /dev/b rw\n",
        );
        let at = |path: &str| table.locate(Path::new(path)).map(|(_, inside)| inside);
        assert_eq!(at("/home/u"), Some(PathBuf::from("/home/u")));
        assert_eq!(at("/home/u/disk/x"), Some(PathBuf::from("/x")));
        assert_eq!(at("/mnt/my home/.ssh"), Some(PathBuf::from("/home/u/.ssh")));
        assert_eq!(table.parts(Path::new("/home/u")), [PathBuf::from("/mnt/p")]);
    }
}
