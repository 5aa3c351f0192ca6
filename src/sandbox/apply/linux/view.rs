//! The view: a read-only copy of `/` with the plan's folders laid over it. Everything is mounted by
//! descriptor and compared with what the survey saw; then it becomes the root.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountAttrFlags, MountPropagationFlags, UnmountFlags};
use rustix::thread::UnshareFlags;

use super::devices;
use super::mounts::{attach, clone_tree, new_file_system, open_in, open_or_make};
use super::placeholder::Kind;
use super::stock::{Item, Stock};
use super::survey::{Found, Place, Survey};
use super::sys::{self, NODEV, NOSUID, RDONLY, Reach};
use crate::sandbox::plan::{FolderKind, Plan};
use crate::sandbox::spawn::StageError;

/// Size of a private `/tmp`; programs that write much use `TMPDIR`, which lies on the disk.
const PRIVATE: &[&str] = &["size=256m", "nr_inodes=65536", "mode=1777"];
pub(super) const EMPTY: &[&str] = &["size=1m", "nr_inodes=8192", "mode=755"];

/// The view while it is built.
pub(super) struct View {
    /// The root of the machine, whose mounts are copied.
    pub(super) machine: OwnedFd,
    /// The root of the view.
    pub(super) root: OwnedFd,
    /// What is laid over empty folders and over what is hidden.
    stock: Stock,
    /// Made read-only at the end, when every mount point is there.
    closing: Vec<OwnedFd>,
}

/// Covered by a `/dev` of our own before anything runs.
const STOCK: &str = "/dev";

/// Builds the view and makes it the root of this process.
pub(super) fn enter(plan: &Plan, survey: &Survey) -> Result<(), StageError> {
    sys::unshare(UnshareFlags::NEWNS).map_err(|e| StageError::os("mounts", "namespace", &e))?;
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", private).map_err(|e| os("mounts", "private", e))?;
    let mut view = View::read_only()?;
    for place in &survey.folders {
        view.lay(place, survey, plan)?;
    }
    for path in &survey.guards.paths {
        view.guard(path)?;
    }
    let (names, files) = survey.guards.excludes();
    for file in files {
        view.exclude(&names, &file)?;
    }
    devices::lay(&mut view, plan)?;
    for path in &survey.hide {
        view.hide(path)?;
    }
    view.enter()
}

/// A failed step with its place.
pub(super) fn os(stage: &str, what: impl std::fmt::Display, error: Errno) -> StageError {
    StageError::os(stage, what, &error.into())
}

impl View {
    fn read_only() -> Result<Self, StageError> {
        let failed = |e| os("view", "`/`", e);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let machine = rustix::fs::open("/", flags, Mode::empty()).map_err(failed)?;
        let root = clone_tree(&machine).map_err(failed)?;
        sys::mount_setattr(&root, RDONLY | NOSUID | NODEV, 0, Reach::Tree)
            .map_err(|e| StageError::os("view", "read-only", &e))?;
        attach(&root, &machine).map_err(failed)?;
        let stock = Stock::attached(&open_in(root.as_fd(), Path::new(STOCK)).map_err(failed)?)?;
        Ok(Self {
            machine,
            root,
            stock,
            closing: Vec::new(),
        })
    }

    /// Mounts something at a place, which is created when it lies in a folder of our own.
    pub(super) fn mount(&self, tree: &OwnedFd, path: &Path, kind: Kind) -> Result<(), StageError> {
        let failed = |e| os("view", format!("`{}`", path.display()), e);
        let place = open_or_make(self.root.as_fd(), path, kind).map_err(failed)?;
        attach(tree, place).map_err(failed)
    }

    fn lay(&mut self, place: &Place, survey: &Survey, plan: &Plan) -> Result<(), StageError> {
        match place.kind {
            FolderKind::Empty => self.lay_empty(place, survey),
            FolderKind::Private => self.lay_private(place, plan),
            FolderKind::Read => {
                let tree = self.copy(place)?;
                let set = RDONLY | NOSUID | NODEV;
                sys::mount_setattr(&tree, set, 0, Reach::Tree)
                    .map_err(|e| StageError::os("read", place.path.display(), &e))?;
                self.mount(&tree, &place.path, kind(place))
            }
            FolderKind::Write => self.lay_writable(place, survey),
        }
    }

    /// A copy of the machine's mounts at a place, the one that the survey saw.
    fn copy(&self, place: &Place) -> Result<OwnedFd, StageError> {
        let shown = place.path.display();
        let failed = |e| os("view", format!("`{shown}`"), e);
        let source = open_in(self.machine.as_fd(), &place.path).map_err(failed)?;
        if identity(source.as_fd()) != place.found {
            return Err(StageError::new(
                "view",
                format!("`{shown}` was replaced while the sandbox was set up"),
            ));
        }
        clone_tree(source).map_err(failed)
    }

    fn lay_empty(&mut self, place: &Place, survey: &Survey) -> Result<(), StageError> {
        let failed = |e| os("view", format!("`{}`", place.path.display()), e);
        match open_or_make(self.root.as_fd(), &place.path, Kind::Folder) {
            Ok(target) if is_folder_fd(target.as_fd()) => {
                let below =
                    |other: &Place| other.path != place.path && other.path.starts_with(&place.path);
                if survey.folders.iter().any(below) {
                    let empty = tmpfs(EMPTY)?;
                    attach(&empty, target).map_err(failed)?;
                    self.closing.push(empty);
                    return Ok(());
                }
                attach(self.stock.copy(Item::Empty)?, target).map_err(failed)
            }
            Ok(_) => self.hide(&place.path),
            // It is not there, and nothing of ours is around it: nothing to hide.
            Err(Errno::NOENT | Errno::ROFS | Errno::LOOP) => Ok(()),
            Err(error) => Err(failed(error)),
        }
    }

    fn lay_private(&mut self, place: &Place, plan: &Plan) -> Result<(), StageError> {
        if place.found.is_none() {
            return Ok(());
        }
        let private = match plan.limits.temp_bytes {
            Some(bytes) if plan.temp.as_deref() == Some(&*place.path) => {
                tmpfs(&[&format!("size={bytes}"), "nr_inodes=65536", "mode=700"])?
            }
            _ => tmpfs(PRIVATE)?,
        };
        self.mount(&private, &place.path, Kind::Folder)
    }

    /// A writable folder is mounted twice. In the lower mount every folder on the way to something
    /// guarded becomes a mount point; the upper one hides those from look-ups, but the kernel still
    /// refuses to rename or remove them (EBUSY), and renames across them work.
    fn lay_writable(&mut self, place: &Place, survey: &Survey) -> Result<(), StageError> {
        let open = |tree: &OwnedFd| {
            sys::mount_setattr(tree, NOSUID | NODEV, 0, Reach::Tree)
                .map_err(|e| StageError::os("write", place.path.display(), &e))
        };
        let pins = pins(&place.path, survey);
        if !pins.is_empty() {
            let lower = self.copy(place)?;
            open(&lower)?;
            self.mount(&lower, &place.path, kind(place))?;
            for pin in pins {
                let failed = |e| os("pin", format!("`{}`", pin.display()), e);
                let target = open_in(self.root.as_fd(), &pin).map_err(failed)?;
                attach(clone_tree(&target).map_err(failed)?, target).map_err(failed)?;
            }
            let upper = self.copy(place)?;
            open(&upper)?;
            return self.mount_over(&upper, &place.path);
        }
        let tree = self.copy(place)?;
        open(&tree)?;
        self.mount(&tree, &place.path, kind(place))
    }

    fn mount_over(&self, tree: &OwnedFd, path: &Path) -> Result<(), StageError> {
        let failed = |e| os("view", format!("`{}`", path.display()), e);
        let place = open_in(self.root.as_fd(), path).map_err(failed)?;
        attach(tree, place).map_err(failed)
    }

    /// Covers a file, folder or link by itself, read-only.
    fn guard(&self, path: &Path) -> Result<(), StageError> {
        let failed = |e| os("protect", format!("`{}`", path.display()), e);
        let place = match open_in(self.root.as_fd(), path) {
            // Hidden by an empty folder: nothing to protect.
            Err(Errno::NOENT) => return Ok(()),
            other => other.map_err(failed)?,
        };
        let tree = clone_tree(&place).map_err(failed)?;
        sys::mount_setattr(&tree, RDONLY | NOSUID | NODEV, 0, Reach::Tree)
            .map_err(|e| StageError::os("protect", path.display(), &e))?;
        attach(tree, place).map_err(failed)
    }

    /// Covers a git exclude file by a copy that also names our placeholders.
    fn exclude(&self, names: &str, path: &Path) -> Result<(), StageError> {
        let failed = |e| os("protect", format!("`{}`", path.display()), e);
        let place = match open_in(self.root.as_fd(), path) {
            Err(Errno::NOENT | Errno::LOOP) => return Ok(()),
            other => other.map_err(failed)?,
        };
        let own = std::fs::read_to_string(path).unwrap_or_default();
        let copy = self.stock.file(&format!("{own}\n{names}"))?;
        attach(copy, place).map_err(failed)
    }

    /// Hides a folder behind one that nobody may enter, a file behind one that nobody may read.
    fn hide(&self, path: &Path) -> Result<(), StageError> {
        let failed = |e| os("hide", format!("`{}`", path.display()), e);
        let place = match open_in(self.root.as_fd(), path) {
            Err(Errno::NOENT | Errno::ACCESS) => return Ok(()),
            other => other.map_err(failed)?,
        };
        let item = if is_folder_fd(place.as_fd()) {
            Item::Closed
        } else {
            Item::Unreadable
        };
        let mask = self.stock.copy(item)?;
        attach(mask, place).map_err(failed)
    }

    /// Keeps a mount to be made read-only at the end.
    pub(super) fn close_later(&mut self, tree: OwnedFd) {
        self.closing.push(tree);
    }

    fn enter(self) -> Result<(), StageError> {
        for tree in &self.closing {
            sys::mount_setattr(tree, RDONLY, 0, Reach::One)
                .map_err(|e| StageError::os("view", "read-only", &e))?;
        }
        let failed = |e| os("pivot", "`/`", e);
        rustix::process::fchdir(&self.root).map_err(failed)?;
        rustix::process::pivot_root(".", ".").map_err(failed)?;
        rustix::mount::unmount(".", UnmountFlags::DETACH).map_err(failed)?;
        rustix::process::chdir("/").map_err(failed)
    }
}

/// A file system in memory.
pub(super) fn tmpfs(options: &[&str]) -> Result<OwnedFd, StageError> {
    new_file_system("tmpfs", options, MountAttrFlags::empty()).map_err(|e| os("view", "tmpfs", e))
}

/// The folders strictly between a writable root and what is guarded or hidden in it.
fn pins(root: &Path, survey: &Survey) -> Vec<PathBuf> {
    let guarded = survey.guards.paths.iter().chain(&survey.hide);
    let mut pins: Vec<PathBuf> = guarded
        .filter(|path| path.starts_with(root))
        .flat_map(|path| path.ancestors().skip(1).map(Path::to_owned))
        .filter(|folder| folder.starts_with(root) && folder != root)
        .collect();
    pins.sort();
    pins.dedup();
    pins
}

fn kind(place: &Place) -> Kind {
    match place.found {
        Some(found) if !found.folder => Kind::File,
        _ => Kind::Folder,
    }
}

fn identity(fd: BorrowedFd<'_>) -> Option<Found> {
    let stat = rustix::fs::fstat(fd).ok()?;
    Some(Found {
        device: stat.st_dev,
        inode: stat.st_ino,
        folder: rustix::fs::FileType::from_raw_mode(stat.st_mode).is_dir(),
    })
}

fn is_folder_fd(fd: BorrowedFd<'_>) -> bool {
    identity(fd).is_some_and(|found| found.folder)
}
