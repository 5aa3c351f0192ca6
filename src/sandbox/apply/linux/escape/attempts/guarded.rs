//! Making or changing what a project's tools would run.

use std::fs::{self, File, OpenOptions};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use super::super::ground::Ground;
use super::files::{exchange, hard_link};
use super::{Attempts, Try, append, move_onto};

pub(super) const ATTEMPTS: Attempts = &[
    ("append-hook", |g| append(hook(g))),
    ("truncate-hook", |g| {
        Ok(OpenOptions::new()
            .write(true)
            .truncate(true)
            .open(hook(g))
            .map(drop)?)
    }),
    ("reopen-hook", |g| {
        let file = File::open(hook(g))?;
        append(format!("/proc/self/fd/{}", file.as_raw_fd()))
    }),
    ("create-hook", |g| append(hooks(g).join("post-checkout"))),
    ("remove-hook", |g| Ok(fs::remove_file(hook(g))?)),
    ("write-git-config", |g| {
        append(g.project.join(".git/config"))
    }),
    ("rename-hooks", |g| {
        Ok(fs::rename(hooks(g), g.project.join(".git/hooks2"))?)
    }),
    ("rename-into-hooks", |g| {
        move_onto(g, "h", &hooks(g).join("h"))
    }),
    ("replace-git-config", |g| {
        move_onto(g, "c", &g.project.join(".git/config"))
    }),
    ("exchange-hooks", |g| {
        let own = g.project.join("fake-hooks");
        fs::create_dir(&own)?;
        exchange_folders(&own, &hooks(g))
    }),
    ("exchange-git-config", |g| {
        exchange(g, &g.project.join(".git/config"))
    }),
    ("hardlink-hook", |g| hard_link(g, &hook(g), "hl")),
    ("chmod-hook", |g| {
        Ok(fs::set_permissions(
            hook(g),
            fs::Permissions::from_mode(0o777),
        )?)
    }),
    ("create-absent-folder", |g| {
        fs::create_dir(absent_folder(g))?;
        append(absent_folder(g).join("policy"))
    }),
    ("create-in-absent-folder", |g| {
        append(absent_folder(g).join("policy"))
    }),
    ("create-absent-file", |g| append(absent_file(g))),
    ("rename-onto-absent", |g| move_onto(g, "m", &absent_file(g))),
    ("link-onto-absent", |g| {
        let _ = fs::remove_file(absent_file(g));
        fs::write(g.project.join("lo"), "x")?;
        Ok(fs::hard_link(g.project.join("lo"), absent_file(g))?)
    }),
    ("symlink-onto-absent", |g| {
        let _ = fs::remove_file(absent_file(g));
        Ok(symlink("a.txt", absent_file(g))?)
    }),
    ("exchange-absent", |g| exchange(g, &absent_file(g))),
    ("unlink-absent", |g| Ok(fs::remove_file(absent_file(g))?)),
    ("rmdir-absent", |g| Ok(fs::remove_dir(absent_folder(g))?)),
    ("rename-absent", |g| {
        Ok(fs::rename(absent_folder(g), g.project.join("cr"))?)
    }),
    ("rename-granted", |g| {
        Ok(fs::rename(
            g.project.join("granted"),
            g.project.join("gone"),
        )?)
    }),
    ("rename-parent", |g| {
        let git = g.project.join(".git");
        fs::rename(&git, g.project.join(".git2"))?;
        fs::create_dir_all(hooks(g))?;
        append(hooks(g).join("x"))
    }),
    ("exchange-parent", |g| {
        let own = g.project.join("fake-git");
        fs::create_dir(&own)?;
        exchange_folders(&own, &g.project.join(".git"))
    }),
    ("rename-project", |g| {
        Ok(fs::rename(&g.project, g.temp.join("p"))?)
    }),
    ("remove-hooks", |g| Ok(fs::remove_dir_all(hooks(g))?)),
];

fn hooks(ground: &Ground) -> PathBuf {
    ground.project.join(".git/hooks")
}

fn hook(ground: &Ground) -> PathBuf {
    hooks(ground).join("pre-commit")
}

fn absent_folder(ground: &Ground) -> PathBuf {
    ground.project.join(".creance")
}

fn absent_file(ground: &Ground) -> PathBuf {
    ground.project.join(".mcp.json")
}

fn exchange_folders(own: &Path, other: &Path) -> Try {
    let flags = rustix::fs::RenameFlags::EXCHANGE;
    let cwd = rustix::fs::CWD;
    Ok(rustix::fs::renameat_with(cwd, own, cwd, other, flags)?)
}
