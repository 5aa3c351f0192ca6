//! Using more than was granted. The grant of this scene is a small one.

use std::fs::File;
use std::io::Write as _;

use rustix::process::{Pid, Signal};

use super::super::super::sys::{self, Forked};
use super::super::ground::Ground;
use super::{Attempts, Try, stopped, through_if};

pub(super) const ATTEMPTS: Attempts = &[
    ("limit-processes", |_| processes()),
    ("limit-file", file),
    ("limit-memory", |_| memory()),
    ("limit-open-files", |_| open_files()),
    ("limit-cpu", |_| spin()),
];

/// More than any limit of this scene.
const MANY: usize = 1200;

fn processes() -> Try {
    let mut children: Vec<Pid> = Vec::new();
    let stop = loop {
        match sys::fork() {
            Err(error) => break Some(error),
            Ok(Forked::Child) => {
                let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
                std::thread::sleep(std::time::Duration::from_secs(10));
                sys::exit_now(0)
            }
            Ok(Forked::Parent(child)) => children.push(child),
        }
        if children.len() >= MANY {
            break None;
        }
    };
    for child in &children {
        let _ = rustix::process::kill_process(*child, Signal::KILL);
    }
    // The next attempt needs a process too.
    while rustix::process::wait(rustix::process::WaitOptions::empty()).is_ok() {}
    match stop {
        None => Ok(()),
        Some(error) => Err(stopped(format!("at {} processes, {error}", children.len()))),
    }
}

fn file(ground: &Ground) -> Try {
    let mut file = File::create(ground.project.join("big"))?;
    let part = vec![0_u8; 1 << 20];
    for _ in 0..16 {
        file.write_all(&part)?;
    }
    Ok(())
}

fn memory() -> Try {
    let mut much: Vec<u8> = Vec::new();
    let taken = much.try_reserve_exact(1 << 30);
    // An optimised build takes no memory that nobody looks at.
    std::hint::black_box(&much);
    through_if(taken.is_ok(), "no more memory")
}

fn open_files() -> Try {
    let mut files = Vec::new();
    for _ in 0..MANY {
        files.push(File::open("/dev/null")?);
    }
    Ok(())
}

/// Until it is killed; five seconds are more than this scene grants.
fn spin() -> Try {
    let mut turn = 0_u64;
    loop {
        turn = std::hint::black_box(turn.wrapping_add(1));
        if turn == u64::MAX {
            return Ok(());
        }
    }
}
