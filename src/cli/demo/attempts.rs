//! What a hostile server tries from inside the sandbox. Each attempt says what it got.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

/// The first word of the answer when an attempt got through.
pub(super) const THROUGH: &str = "THROUGH";
/// How many processes the fork bomb starts before it counts as unlimited.
const BOMB_MAX: usize = 2_000;

/// Tries one thing; the answer begins with [`THROUGH`] or `stopped`.
pub(super) fn attempt(what: &str, on: &str) -> String {
    let path = Path::new(on);
    let outcome = match what {
        "write" => fs::write(path, "planted").map(|()| "wrote it".to_owned()),
        "hook-by-rename" => hook_by_rename(path),
        "read" => fs::read_to_string(path).map(|text| format!("read {} bytes", text.len())),
        "connect" => connect(on),
        "fork-bomb" => return fork_bomb(),
        other => return format!("no attempt `{other}`"),
    };
    match outcome {
        Ok(got) => format!("{THROUGH}: {got}"),
        Err(error) => format!("stopped: {error}"),
    }
}

/// Moves `.git` aside, puts a new one with a hook in its place.
fn hook_by_rename(project: &Path) -> io::Result<String> {
    let git = project.join(".git");
    let hook = git.join("hooks/pre-commit");
    if fs::write(&hook, "#!/bin/sh\n").is_ok() {
        return Ok("wrote the hook".to_owned());
    }
    fs::rename(&git, project.join(".git-old"))?;
    fs::create_dir_all(git.join("hooks"))?;
    fs::write(&hook, "#!/bin/sh\n")?;
    Ok("planted a hook by renaming .git".to_owned())
}

fn connect(address: &str) -> io::Result<String> {
    let address: SocketAddr = address
        .parse()
        .map_err(|_| io::Error::other("no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(2))?;
    stream.write_all(b"hello")?;
    let mut answer = [0; 1];
    let _ = stream.read(&mut answer);
    Ok(format!("connected to {address}"))
}

fn fork_bomb() -> String {
    let mut children: Vec<Child> = Vec::new();
    let stopped = loop {
        if children.len() >= BOMB_MAX {
            break None;
        }
        match sleeper() {
            Ok(child) => children.push(child),
            Err(error) => break Some(error),
        }
    };
    let started = children.len();
    for mut child in children {
        let _ = child.kill();
        let _ = child.wait();
    }
    match stopped {
        Some(error) => format!("stopped: at {started} processes, {error}"),
        None => format!("{THROUGH}: {started} processes and no limit"),
    }
}

/// This program again, doing nothing.
#[expect(
    clippy::disallowed_methods,
    reason = "the demonstration's hostile server starts processes inside the sandbox to be stopped"
)]
fn sleeper() -> io::Result<Child> {
    std::process::Command::new("/proc/self/exe")
        .args(["demo", "--sleeper"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

/// What the fork bomb starts: waits until its standard input closes.
pub(super) fn sleep() {
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
}
