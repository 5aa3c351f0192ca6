//! A program of this machine that the person who started Creance trusts as they trust Creance: it is
//! started without a sandbox, knows nothing of the environment, and ends with whoever holds it.

use std::io;
use std::path::Path;
use std::process::Stdio;

use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Such a program. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Trusted(#[expect(dead_code, reason = "kept to be dropped")] Child);

/// Starts one, and gives the pipes to speak with it: what it says, and what it is told.
pub(crate) fn start_trusted(
    program: &Path,
    args: &[String],
) -> io::Result<(Trusted, ChildStdout, ChildStdin)> {
    let mut command = Command::new(program);
    command
        .args(args)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    // An interrupt at the terminal is ours to hear: it ends with us.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn()?;
    match (child.stdout.take(), child.stdin.take()) {
        (Some(says), Some(told)) => Ok((Trusted(child), says, told)),
        _ => Err(io::Error::other("its pipes are not there")),
    }
}
