//! What a confined process sees of the disk, as a list to be laid over a read-only `/`, outermost
//! first. Pure: whether a path exists is found out when it is applied.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::PlanError;
use crate::grant::{Grant, Network};

/// One place of the view.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Folder {
    /// Where it lies; absolute, resolved.
    pub(crate) path: PathBuf,
    /// What stands there.
    pub(crate) kind: FolderKind,
}

/// What stands at a place of the view. The order is the order at equal paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FolderKind {
    /// An empty read-only folder: home, other users' homes, `/run`.
    Empty,
    /// An empty folder in memory that may be written: `/tmp`, and `TMPDIR` when it has a limit.
    Private,
    /// The machine's own, read-only.
    Read,
    /// The machine's own, writable.
    Write,
}

/// Hidden behind an empty folder in every sandbox: homes, sockets, kernel control files.
const EMPTY: &[&str] = &[
    "/home",
    "/root",
    "/run",
    "/sys/fs/cgroup",
    "/sys/fs/bpf",
    "/sys/kernel/debug",
    "/sys/kernel/tracing",
    "/sys/kernel/security",
    "/sys/firmware",
    "/lost+found",
];

/// Private in every sandbox: other programs' files and sockets lie there.
const PRIVATE: &[&str] = &["/tmp", "/var/tmp"];

/// Shown again below the empty `/run`: parts of a system that are data.
const RUN_DATA: &[&str] = &["/run/current-system", "/run/opengl-driver"];

/// Where name resolution lies that the whole network needs.
const RESOLVERS: &[&str] = &["/run/systemd/resolve", "/run/NetworkManager/resolv.conf"];

/// Folders that have a meaning of their own and are never granted.
const KERNEL: &[&str] = &["/dev", "/proc", "/sys"];

/// The folders of a grant, outermost first; `memory` is a temporary folder that lies in memory.
pub(crate) fn folders(grant: &Grant, memory: Option<&Path>) -> Result<Vec<Folder>, PlanError> {
    let mut all = Vec::new();
    let mut add = |path: &Path, kind| {
        all.push(Folder {
            path: path.to_owned(),
            kind,
        });
    };
    for path in EMPTY {
        add(Path::new(path), FolderKind::Empty);
    }
    for path in PRIVATE {
        add(Path::new(path), FolderKind::Private);
    }
    for path in RUN_DATA {
        add(Path::new(path), FolderKind::Read);
    }
    if grant.network == Network::Whole {
        for path in RESOLVERS {
            add(Path::new(path), FolderKind::Read);
        }
    }
    if let Some(home) = &grant.home {
        add(home, FolderKind::Empty);
    }
    for path in grant.read.iter().chain(&grant.sockets) {
        // The whole disk is readable as it is.
        if path.parent().is_some() {
            add(path, FolderKind::Read);
        }
    }
    for path in grant.write.iter().chain(&grant.temp) {
        let kind = if memory == Some(path) {
            FolderKind::Private
        } else {
            FolderKind::Write
        };
        add(path, kind);
    }
    check(grant, &all)?;
    all.sort_by(|a, b| (depth(&a.path), &a.path, a.kind).cmp(&(depth(&b.path), &b.path, b.kind)));
    all.dedup();
    Ok(without_needless(all))
}

/// A folder inside a writable one is writable: reading never takes rights away, and a place that is
/// mounted for itself could not be renamed, as editors and git do with files that they write.
fn without_needless(all: Vec<Folder>) -> Vec<Folder> {
    let is_needless = |folder: &Folder| {
        let mut here = all.iter().filter(|other| other.path == folder.path);
        let mut covering = all.iter().rev().filter(|other| {
            folder.path.starts_with(&other.path)
                && (other.path != folder.path || other.kind > folder.kind)
        });
        here.all(|other| matches!(other.kind, FolderKind::Read | FolderKind::Write))
            && covering
                .next()
                .is_some_and(|other| other.kind == FolderKind::Write)
    };
    all.iter()
        .filter(|folder| !is_needless(folder))
        .cloned()
        .collect()
}

fn check(grant: &Grant, folders: &[Folder]) -> Result<(), PlanError> {
    let system = ["/usr", "/etc", "/bin", "/lib", "/dev", "/proc", "/sys"];
    if let Some(home) = &grant.home
        && system.iter().any(|path| Path::new(path).starts_with(home))
    {
        return Err(PlanError::Home(home.clone()));
    }
    let guarded = grant.protect.iter().chain(&grant.hide);
    for path in folders.iter().map(|folder| &folder.path).chain(guarded) {
        plain(path)?;
    }
    if let Some(root) = grant.write.iter().find(|path| path.parent().is_none()) {
        return Err(PlanError::Kernel(root.clone()));
    }
    let granted = grant.read.iter().chain(&grant.write).chain(&grant.temp);
    for path in granted.chain(&grant.sockets) {
        if KERNEL.iter().any(|kernel| path.starts_with(kernel)) {
            return Err(PlanError::Kernel(path.clone()));
        }
    }
    Ok(())
}

/// Whether a path is absolute, plain text and without `.` and `..`.
pub(super) fn plain(path: &Path) -> Result<(), PlanError> {
    let Some(text) = path.to_str() else {
        return Err(PlanError::NotText(path.to_owned()));
    };
    if text.contains('\0') {
        return Err(PlanError::NotText(path.to_owned()));
    }
    let separators: &[char] = if cfg!(windows) { &['/', '\\'] } else { &['/'] };
    let dots = text
        .split(separators)
        .any(|part| part == "." || part == "..");
    let rooted = if cfg!(windows) {
        path.is_absolute()
    } else {
        text.starts_with('/')
    };
    if !rooted || dots {
        return Err(PlanError::NotAbsolute(path.to_owned()));
    }
    Ok(())
}

fn depth(path: &Path) -> usize {
    path.components().count()
}
