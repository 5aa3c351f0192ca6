//! What the process itself holds: capabilities, filters, descriptors, ids, its terminal.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};

use rustix::process::Resource;

use super::super::ground::Ground;
use super::super::probe::{PROBE, role};
use super::super::raw;
use super::{Attempts, Try, skip, stopped, through_if};

pub(super) const ATTEMPTS: Attempts = &[
    ("no-new-privileges", |_| has("NoNewPrivs:\t1")),
    ("no-capabilities", |_| {
        has("CapEff:\t0000000000000000")?;
        has("CapPrm:\t0000000000000000")?;
        has("CapInh:\t0000000000000000")?;
        has("CapAmb:\t0000000000000000")
    }),
    ("system-call-filter", |_| has("Seccomp:\t2")),
    ("no-core-dump", |_| {
        let limit = rustix::process::getrlimit(Resource::Core);
        through_if(limit.maximum != Some(0), "none of any size")
    }),
    ("raise-limits", raise_limits),
    ("inherited-descriptors", inherited),
    ("set-user", |g| ids(g, libc::SYS_setresuid)),
    ("set-group", |g| ids(g, libc::SYS_setresgid)),
    ("set-groups", |_| {
        Ok(raw::call(libc::SYS_setgroups, &[1, 0]).map(drop)?)
    }),
    ("raise-capabilities", |_| {
        let all = rustix::thread::CapabilitySet::CHOWN | rustix::thread::CapabilitySet::SYS_ADMIN;
        let sets = rustix::thread::CapabilitySets {
            effective: all,
            permitted: all,
            inheritable: all,
        };
        Ok(rustix::thread::set_capabilities(None, sets)?)
    }),
    ("set-user-id-file", set_user_id),
    ("set-user-id-program", set_user_id_program),
    ("remove-filter", |_| {
        // SECCOMP_SET_MODE_STRICT would take everything; there is no way back to none.
        Ok(raw::call(libc::SYS_prctl, &[libc::PR_SET_SECCOMP.into(), 0]).map(drop)?)
    }),
    ("controlling-terminal", |_| {
        Ok(fs::File::open("/dev/tty").map(drop)?)
    }),
    ("ids-stay", |_| {
        has(&format!(
            "Uid:\t{0}\t{0}\t{0}\t{0}",
            rustix::process::getuid().as_raw()
        ))
    }),
];

fn has(line: &str) -> Try {
    let status = fs::read_to_string("/proc/self/status")?;
    let name = line.split(':').next().unwrap_or_default();
    let real = status.lines().find(|real| real.starts_with(name));
    through_if(status.contains(line), real.unwrap_or("no such line"))
}

fn raise_limits(_: &Ground) -> Try {
    let files = rustix::process::getrlimit(Resource::Nofile);
    let Some(most) = files.maximum else {
        return Ok(());
    };
    let more = rustix::process::Rlimit {
        current: Some(most),
        maximum: Some(most + 1),
    };
    Ok(rustix::process::setrlimit(Resource::Nofile, more)?)
}

/// Descriptors beyond the three streams and the pipe on which this attempt answers.
fn inherited(_: &Ground) -> Try {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")?.flatten() {
        let target = fs::read_link(entry.path()).unwrap_or_default();
        let number: i32 = entry.file_name().to_string_lossy().parse().unwrap_or(0);
        // The folder being read, and the pipe of the answer.
        if number > 2 && !target.starts_with("/proc") && found.len() < 8 {
            found.push((number, target));
        }
    }
    found.retain(|(_, target)| !target.to_string_lossy().starts_with("pipe:"));
    match found.first() {
        None => Err(stopped("only its three streams")),
        Some((number, target)) => {
            let what = format!("{number} is {}", target.display());
            Err(super::Told::Through(what))
        }
    }
}

fn ids(_: &Ground, number: libc::c_long) -> Try {
    let other = if rustix::process::getuid().is_root() {
        1
    } else {
        0
    };
    Ok(raw::call(number, &[other, other, other]).map(drop)?)
}

/// In the program that was executed: whether its file's owner counts.
pub(in super::super) fn who() -> i32 {
    let plain = rustix::process::geteuid() == rustix::process::getuid()
        && rustix::process::getegid() == rustix::process::getgid();
    let _ = writeln!(
        std::io::stdout().lock(),
        "{}",
        if plain { "plain" } else { "set" }
    );
    0
}

/// A file that would run as another user; the host made it.
#[expect(
    clippy::disallowed_methods,
    reason = "whether this program runs with other rights is what is tried"
)]
fn set_user_id(ground: &Ground) -> Try {
    let file = ground.outside.join("set-user-id");
    if !file.exists() {
        return Err(skip("only root can make a file that runs as another user"));
    }
    let output = std::process::Command::new(file)
        .arg0(PROBE)
        .arg(role::WHO)
        .output()?;
    match String::from_utf8_lossy(&output.stdout).trim() {
        "set" => Ok(()),
        "plain" => Err(stopped("it ran without its owner's rights")),
        _ => Err(stopped(format!("it did not run: {}", output.status))),
    }
}

/// A program of this machine that runs as root. It waits for a password, so it can be looked at.
#[expect(
    clippy::disallowed_methods,
    reason = "whether this program runs with other rights is what is tried"
)]
fn set_user_id_program(_: &Ground) -> Try {
    if rustix::process::getuid().is_root() {
        return Err(skip("tried by other users only"));
    }
    let Some(program) = root_program() else {
        return Err(skip("no program that runs as root"));
    };
    let (reader, _writer) = rustix::pipe::pipe()?;
    let mut child = std::process::Command::new(&program)
        .stdin(reader)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()?;
    let mut seen = None;
    for _ in 0..50 {
        let status = fs::read_to_string(format!("/proc/{}/status", child.id()));
        let status = status.unwrap_or_default();
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if status.contains(&format!("Name:\t{name}")) {
            seen = effective_user(&status).or(seen);
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    let _ = child.kill();
    let _ = child.wait();
    match seen {
        Some(0) => Ok(()),
        Some(_) => Err(stopped(format!(
            "`{}` ran without root's rights",
            program.display()
        ))),
        None => Err(skip("it ended before it could be looked at")),
    }
}

fn effective_user(status: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn root_program() -> Option<PathBuf> {
    [
        "/usr/bin/su",
        "/bin/su",
        "/usr/bin/passwd",
        "/usr/bin/newgrp",
    ]
    .into_iter()
    .map(Path::new)
    .find(|path| {
        fs::metadata(path)
            .is_ok_and(|found| found.uid() == 0 && found.permissions().mode() & 0o4000 != 0)
    })
    .map(Path::to_owned)
}
