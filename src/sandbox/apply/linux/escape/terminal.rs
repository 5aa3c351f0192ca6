//! A scene on a terminal: a shell's place, from which a sandbox is started that owns the terminal.

use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio as StdStdio};

use rustix::fs::{Mode, OFlags};
use rustix::pty::OpenptFlags;
use serde::{Deserialize, Serialize};

use super::super::start::start;
use super::host::launch;
use super::host::open_if;
use super::probe::{PROBE, role};
use super::scene::Scene;
use super::scenes::ground_of;
use crate::sandbox::escape::{Answer, Got};
use crate::sandbox::machine::Machine;
use crate::sandbox::plan::{Backend, plan};
use crate::sandbox::spawn::Stdio;

/// What the process on the terminal is told.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    backend: Backend,
    terminal: String,
    attempts: Vec<String>,
}

/// Runs the attempts where standard input is a terminal.
pub(super) fn play(
    backend: Backend,
    ids: &[String],
    tell: &mut dyn FnMut(Answer),
) -> Result<(), String> {
    let (main, name) = match open() {
        Ok(pair) => pair,
        Err(error) => {
            for id in ids {
                tell(Answer::new(
                    id,
                    Got::Skipped,
                    format!("no terminals here: {error}"),
                ));
            }
            return Ok(());
        }
    };
    let order = Order {
        backend,
        terminal: name,
        attempts: ids.iter().filter(|id| *id != LEFT).cloned().collect(),
    };
    let text = serde_json::to_string(&order).map_err(|error| error.to_string())?;
    let output = on_terminal_in_a_process(text).map_err(|error| error.to_string())?;
    drop(main);
    for line in output.lines() {
        if let Ok(answer) = serde_json::from_str::<Answer>(line) {
            tell(answer);
        }
    }
    Ok(())
}

/// Whether something was typed after all: told by the process on the terminal.
const LEFT: &str = "terminal-input";

#[expect(
    clippy::disallowed_methods,
    reason = "the sandbox is what starts processes"
)]
fn on_terminal_in_a_process(order: String) -> io::Result<String> {
    let mut child = Command::new("/proc/self/exe")
        .arg0(PROBE)
        .args([role::TERMINAL, &order])
        .env_clear()
        .stdin(StdStdio::null())
        .stdout(StdStdio::piped())
        .spawn()?;
    let mut text = String::new();
    if let Some(mut out) = child.stdout.take() {
        out.read_to_string(&mut text)?;
    }
    child.wait()?;
    Ok(text)
}

fn open() -> rustix::io::Result<(OwnedFd, String)> {
    let main = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
    rustix::pty::grantpt(&main)?;
    rustix::pty::unlockpt(&main)?;
    let name = rustix::pty::ptsname(&main, Vec::new())?;
    Ok((main, name.to_string_lossy().into_owned()))
}

/// In a process of its own: takes the terminal, starts the sandbox on it, passes its answers on.
pub(super) fn run(order: &[u8]) -> i32 {
    match take(order) {
        Ok(()) => 0,
        Err(_) => 2,
    }
}

fn take(order: &[u8]) -> io::Result<()> {
    let order: Order = serde_json::from_slice(order).map_err(io::Error::other)?;
    let answers = rustix::io::dup(rustix::stdio::stdout())?;
    rustix::process::setsid()?;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let terminal = rustix::fs::open(order.terminal.as_str(), flags, Mode::empty())?;
    rustix::process::ioctl_tiocsctty(&terminal)?;
    let (told, end) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    rustix::stdio::dup2_stdin(&terminal)?;
    rustix::stdio::dup2_stdout(&end)?;
    drop(end);
    let scene = Scene::new()?;
    let mut grant = scene.grant()?;
    grant.terminal = true;
    let launch = launch(&scene, &ground_of(order.backend, &scene, order.attempts))?;
    let machine = Machine::only(order.backend.name());
    let plan = plan(&machine, &launch, &grant).map_err(io::Error::other)?;
    let mut started = start(&plan, Stdio::Inherit).map_err(io::Error::other)?;
    // Ours was the last end but the program's.
    rustix::stdio::dup2_stdout(&terminal)?;
    let mut text = String::new();
    File::from(told).read_to_string(&mut text)?;
    drop(started.control);
    started.child.wait()?;
    let left = rustix::io::ioctl_fionread(&terminal)?;
    let typed = open_if(LEFT, left > 0, format!("{left} bytes were typed"));
    text.push_str(&serde_json::to_string(&typed).map_err(io::Error::other)?);
    File::from(answers).write_all(text.as_bytes())
}
