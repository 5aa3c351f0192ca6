//! Writing where nothing may be written, and where work must go on.

use std::fs::{self, File, OpenOptions};
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Timestamps, XattrFlags};
use rustix::io::Errno;

use super::super::ground::Ground;
use super::{Attempts, Try, append, skip, stopped, through_if};

pub(super) const ATTEMPTS: Attempts = &[
    ("write-project", |g| append(g.project.join("new.txt"))),
    ("write-granted", |g| {
        append(g.project.join("granted/evil.txt"))
    }),
    ("write-temp", |g| append(g.temp.join("own.txt"))),
    ("write-tmp", |_| append("/tmp/own.txt")),
    ("write-outside", |g| append(g.outside.join("evil.txt"))),
    ("append-outside", |g| append(target(g))),
    ("truncate-outside", |g| {
        Ok(File::create(target(g)).map(drop)?)
    }),
    ("truncate-by-path", |g| truncate(&target(g))),
    ("mkdir-outside", |g| {
        Ok(fs::create_dir(g.outside.join("evil"))?)
    }),
    ("unlink-outside", |g| {
        Ok(fs::remove_file(g.outside.join("spare.txt"))?)
    }),
    ("write-home", |g| append(g.home.join("evil.txt"))),
    ("write-bashrc", |g| append(g.home.join(".bashrc"))),
    ("write-system", |_| {
        system(&["/etc", "/usr/local/bin", "/usr/bin", "/var/lib", "/opt"])
    }),
    ("write-root", |_| system(&["/"])),
    ("write-ld-preload", |_| {
        Ok(OpenOptions::new()
            .append(true)
            .create(true)
            .open("/etc/ld.so.preload")
            .map(drop)?)
    }),
    ("chmod-outside", |g| {
        Ok(fs::set_permissions(
            target(g),
            fs::Permissions::from_mode(0o666),
        )?)
    }),
    ("chown-outside", |g| {
        Ok(std::os::unix::fs::chown(
            target(g),
            None,
            Some(rustix::process::getegid().as_raw()),
        )?)
    }),
    ("utimes-outside", utimes),
    ("xattr-outside", xattr),
    ("chattr-outside", chattr),
    ("reopen-outside", reopen),
    ("symlink-out", |g| through_link(g, &target(g), "l")),
    ("symlink-folder-out", symlink_folder),
    ("hardlink-outside", |g| hard_link(g, &target(g), "hl-out")),
    ("o-path-link", o_path_link),
    ("o-tmpfile-out", o_tmpfile),
    ("rename-out-in", |g| {
        fs::rename(target(g), g.project.join("taken"))?;
        Ok(fs::rename(g.project.join("taken"), target(g))?)
    }),
    ("rename-in-out", |g| {
        super::move_onto(g, "in-out", &g.outside.join("planted.txt"))
    }),
    ("exchange-outside", |g| exchange(g, &target(g))),
    ("exec-project", exec_project),
    ("exec-memory", exec_memory),
    ("rename-in-project", rename_in_project),
    ("write-helper-binary", |_| open_to_write("/proc/1/exe")),
    ("write-own-binary", |_| open_to_write("/proc/self/exe")),
    ("replace-own-binary", replace_binary),
    ("fifo-in-project", fifo),
];

fn target(ground: &Ground) -> PathBuf {
    ground.outside.join("target.txt")
}

fn truncate(path: &Path) -> Try {
    // By path and without an open file: another way into the kernel than `open`.
    let text = path
        .to_str()
        .ok_or_else(|| skip("a path that is no text"))?;
    let text = std::ffi::CString::new(text).map_err(|_| skip("a path with NUL"))?;
    let file = rustix::fs::open(text.as_c_str(), OFlags::PATH, Mode::empty())?;
    let by_fd = format!("/proc/self/fd/{}", file.as_raw_fd());
    let file = OpenOptions::new().write(true).open(by_fd)?;
    Ok(file.set_len(0)?)
}

/// Makes a file that is taken away at once.
fn system(folders: &[&str]) -> Try {
    let mut last = stopped("no such folder");
    for folder in folders {
        let path = Path::new(folder).join("creance-escape");
        match File::create(&path) {
            Ok(_) => {
                let _ = fs::remove_file(path);
                return Ok(());
            }
            Err(error) => last = error.into(),
        }
    }
    Err(last)
}

fn utimes(ground: &Ground) -> Try {
    let now = rustix::fs::Timespec {
        tv_sec: 1,
        tv_nsec: 0,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    Ok(rustix::fs::utimensat(
        CWD,
        target(ground),
        &times,
        AtFlags::empty(),
    )?)
}

fn xattr(ground: &Ground) -> Try {
    match rustix::fs::setxattr(target(ground), "user.creance", b"x", XattrFlags::empty()) {
        Err(Errno::OPNOTSUPP) => Err(skip("this file system has no extended attributes")),
        other => Ok(other?),
    }
}

fn chattr(ground: &Ground) -> Try {
    let file = File::open(target(ground))?;
    let flags = match rustix::fs::ioctl_getflags(&file) {
        Err(Errno::NOTTY | Errno::OPNOTSUPP) => {
            return Err(skip("this file system has no flags"));
        }
        other => other?,
    };
    Ok(rustix::fs::ioctl_setflags(
        &file,
        flags | rustix::fs::IFlags::NODUMP,
    )?)
}

/// Through the descriptor of a file that may be read.
fn reopen(ground: &Ground) -> Try {
    let file = File::open(target(ground))?;
    append(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn through_link(ground: &Ground, target: &Path, name: &str) -> Try {
    let link = ground.project.join(name);
    symlink(target, &link)?;
    append(link)
}

fn symlink_folder(ground: &Ground) -> Try {
    let link = ground.project.join("lf");
    symlink(&ground.outside, &link)?;
    append(link.join("evil.txt"))
}

pub(super) fn hard_link(ground: &Ground, target: &Path, name: &str) -> Try {
    let link = ground.project.join(name);
    fs::hard_link(target, &link)?;
    append(link)
}

fn o_path_link(ground: &Ground) -> Try {
    let file = rustix::fs::open(target(ground), OFlags::PATH, Mode::empty())?;
    let link = ground.project.join("opl");
    let by_fd = format!("/proc/self/fd/{}", file.as_raw_fd());
    rustix::fs::linkat(CWD, by_fd, CWD, &link, AtFlags::SYMLINK_FOLLOW)
        .or_else(|_| rustix::fs::linkat(file.as_fd(), "", CWD, &link, AtFlags::EMPTY_PATH))?;
    append(link)
}

fn o_tmpfile(ground: &Ground) -> Try {
    let flags = OFlags::TMPFILE | OFlags::RDWR;
    let mode = Mode::from_raw_mode(0o600);
    let file = rustix::fs::open(&ground.outside, flags, mode)
        .or_else(|_| rustix::fs::open(&ground.project, flags, mode));
    let file = match file {
        Err(Errno::OPNOTSUPP) => return Err(skip("this file system has no unnamed files")),
        other => other?,
    };
    let by_fd = format!("/proc/self/fd/{}", file.as_raw_fd());
    let link = ground.outside.join("unnamed.txt");
    Ok(rustix::fs::linkat(
        CWD,
        by_fd,
        CWD,
        link,
        AtFlags::SYMLINK_FOLLOW,
    )?)
}

/// Swaps a file of our own with another one.
pub(super) fn exchange(ground: &Ground, other: &Path) -> Try {
    let own = ground.project.join("swap");
    fs::write(&own, "mine")?;
    Ok(rustix::fs::renameat_with(
        CWD,
        own,
        CWD,
        other,
        RenameFlags::EXCHANGE,
    )?)
}

#[expect(
    clippy::disallowed_methods,
    reason = "that a program of the project runs is what is tried"
)]
fn run(program: &Path) -> Try {
    let status = std::process::Command::new(program).status()?;
    through_if(status.success(), &status.to_string())
}

fn exec_project(ground: &Ground) -> Try {
    let program = ground.project.join("prog");
    fs::copy("/bin/true", &program)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    run(&program)
}

fn exec_memory(_: &Ground) -> Try {
    let memory = rustix::fs::memfd_create("prog", rustix::fs::MemfdFlags::empty())?;
    let mut memory = File::from(memory);
    std::io::Write::write_all(&mut memory, &fs::read("/bin/true")?)?;
    run(Path::new(&format!("/proc/self/fd/{}", memory.as_raw_fd())))
}

/// Moving files across folders that stay where they are must work as ever.
fn rename_in_project(ground: &Ground) -> Try {
    let git = ground.project.join(".git");
    fs::write(git.join("index.lock"), "x")?;
    fs::rename(git.join("index.lock"), git.join("index"))?;
    super::move_onto(ground, "object", &git.join("objects/object"))
}

fn open_to_write(path: &str) -> Try {
    Ok(OpenOptions::new().append(true).open(path).map(drop)?)
}

fn replace_binary(ground: &Ground) -> Try {
    let binary = fs::read_link("/proc/self/exe")?;
    let moved = binary.with_extension("creance-escape");
    let done = super::move_onto(ground, "fake-binary", &moved);
    if done.is_ok() {
        let _ = fs::remove_file(moved);
    }
    done
}

fn fifo(ground: &Ground) -> Try {
    let path = ground.project.join("fifo");
    let mode = Mode::from_raw_mode(0o600);
    Ok(rustix::fs::mknodat(CWD, path, FileType::Fifo, mode, 0)?)
}
