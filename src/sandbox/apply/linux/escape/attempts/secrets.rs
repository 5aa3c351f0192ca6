//! Reading what is hidden, by every name and every way.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, symlink};
use std::path::PathBuf;

use rustix::fs::inotify;

use super::super::ground::Ground;
use super::super::raw;
use super::{Attempts, Try, read, stopped, through_if};

pub(super) const ATTEMPTS: Attempts = &[
    ("read-project", |g| read(g.project.join("a.txt"))),
    ("read-outside", |g| read(g.outside.join("target.txt"))),
    ("read-tool", |g| read(g.home.join(".tool/data"))),
    ("read-passwd", |_| read("/etc/passwd")),
    ("read-key", |g| read(key(g))),
    ("read-aws", |g| read(g.home.join(".aws/credentials"))),
    ("read-notes", |g| read(g.home.join("notes.txt"))),
    ("read-hidden", |g| read(g.hidden.join("secret"))),
    ("read-shadow", |_| read("/etc/shadow")),
    ("read-tool-token", |g| read(token(g))),
    ("read-by-link", |g| {
        symlink(key(g), g.project.join("k"))?;
        read(g.project.join("k"))
    }),
    ("read-by-proc-root", |g| {
        read(format!("/proc/self/root{}", key(g).display()))
    }),
    ("read-by-proc-1", |g| {
        read(format!("/proc/1/root{}", key(g).display()))
    }),
    ("read-by-proc-host", |g| {
        read(format!("/proc/{}/root{}", g.process, key(g).display()))
    }),
    ("read-by-cwd", |_| read("/proc/self/cwd/../.ssh/id_rsa")),
    ("read-by-thread-cwd", |_| {
        read("/proc/thread-self/cwd/../.ssh/id_rsa")
    }),
    ("hardlink-key", |g| {
        fs::hard_link(key(g), g.project.join("k2"))?;
        read(g.project.join("k2"))
    }),
    ("move-key", |g| {
        fs::rename(g.home.join(".ssh"), g.project.join("ssh"))?;
        read(g.project.join("ssh/id_rsa"))
    }),
    ("move-token", |g| {
        fs::rename(token(g), g.project.join("t"))?;
        read(g.project.join("t"))
    }),
    ("move-token-parent", |g| {
        fs::rename(g.home.join(".tool"), g.project.join("tool"))?;
        read(g.project.join("tool/token"))
    }),
    ("read-env-file", |g| read(env(g))),
    ("rename-env-file", |g| {
        fs::rename(env(g), g.project.join("e"))?;
        read(g.project.join("e"))
    }),
    ("link-env-file", |g| {
        fs::hard_link(env(g), g.project.join("e2"))?;
        read(g.project.join("e2"))
    }),
    ("exchange-env-file", |g| {
        super::files::exchange(g, &env(g))?;
        read(g.project.join("swap"))
    }),
    ("replace-env-file", |g| {
        super::move_onto(g, "own-env", &env(g))
    }),
    ("list-home", list_home),
    ("list-key-folder", |g| {
        Ok(fs::read_dir(g.home.join(".ssh")).map(drop)?)
    }),
    ("stat-key", |g| Ok(fs::metadata(key(g)).map(drop)?)),
    ("write-into-hidden", |g| {
        Ok(fs::DirBuilder::new()
            .mode(0o777)
            .create(g.hidden.join("x"))?)
    }),
    ("write-into-key-folder", |g| {
        Ok(fs::DirBuilder::new()
            .mode(0o777)
            .create(g.home.join(".ssh/x"))?)
    }),
    ("watch-hidden", watch),
    ("open-by-handle", |_| {
        Ok(raw::reaches(libc::SYS_open_by_handle_at, &[-100, 0, 0])?)
    }),
    ("fanotify", |_| {
        Ok(raw::reaches(libc::SYS_fanotify_init, &[0, 0])?)
    }),
];

fn key(ground: &Ground) -> PathBuf {
    ground.home.join(".ssh/id_rsa")
}

fn token(ground: &Ground) -> PathBuf {
    ground.home.join(".tool/token")
}

fn env(ground: &Ground) -> PathBuf {
    ground.project.join(".env")
}

/// Names in the home folder that were not granted.
fn list_home(ground: &Ground) -> Try {
    let entries = fs::read_dir(&ground.home)?;
    let other = entries
        .flatten()
        .find(|entry| entry.file_name() != "project" && entry.file_name() != ".tool");
    through_if(other.is_some(), "only what was granted is there")
}

/// Being told when a hidden file is used.
fn watch(ground: &Ground) -> Try {
    let watch = inotify::init(inotify::CreateFlags::empty())?;
    let flags = inotify::WatchFlags::OPEN | inotify::WatchFlags::MODIFY;
    match inotify::add_watch(watch, ground.home.join(".ssh"), flags) {
        Ok(_) => Ok(()),
        Err(error) => Err(stopped(error.to_string())),
    }
}
