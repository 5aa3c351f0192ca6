//! The attempts, by the names of their rows.

mod devices;
mod files;
mod guarded;
mod kernel;
mod limits;
mod network;
mod processes;
mod secrets;
mod sockets;
mod state;
mod visitors;
mod walks;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::Path;

use super::ground::Ground;
use super::raw;

pub(super) use devices::{absent, nodes};
pub(super) use sockets::connects;
pub(super) use state::who;
pub(super) use visitors::{Held, NEIGHBOUR, hold};

/// What an attempt tells besides that it got through.
#[derive(Debug)]
pub(super) enum Told {
    /// It got through, to what.
    Through(String),
    /// It was stopped, by what.
    Stopped(String),
    /// It went off without an error; the host looks whether it arrived.
    Sent,
    /// It could not be tried.
    Skipped(String),
}

impl From<io::Error> for Told {
    fn from(error: io::Error) -> Self {
        Self::Stopped(error.to_string())
    }
}

impl From<rustix::io::Errno> for Told {
    fn from(error: rustix::io::Errno) -> Self {
        Self::from(io::Error::from(error))
    }
}

/// What became of it: nothing means that it got through.
type Try = Result<(), Told>;

/// One attempt.
pub(super) type Attempt = fn(&Ground) -> Try;

/// The attempts of one file.
type Attempts = &'static [(&'static str, Attempt)];

const ALL: &[Attempts] = &[
    files::ATTEMPTS,
    guarded::ATTEMPTS,
    secrets::ATTEMPTS,
    processes::ATTEMPTS,
    network::ATTEMPTS,
    sockets::ATTEMPTS,
    devices::ATTEMPTS,
    kernel::ATTEMPTS,
    limits::ATTEMPTS,
    state::ATTEMPTS,
    visitors::ATTEMPTS,
    walks::ATTEMPTS,
];

/// The attempt of a row.
pub(super) fn find(id: &str) -> Option<Attempt> {
    let named = |(name, _): &&(&str, Attempt)| *name == id;
    let plain = ALL.iter().copied().flatten().find(named);
    plain.map(|(_, attempt)| *attempt)
}

fn skip(why: impl Into<String>) -> Told {
    Told::Skipped(why.into())
}

/// Fails for a reason that is no error of the system.
fn stopped(why: impl Into<String>) -> Told {
    Told::Stopped(why.into())
}

/// Through when it is so.
#[expect(
    clippy::fn_params_excessive_bools,
    reason = "it is the condition itself"
)]
fn through_if(open: bool, otherwise: &str) -> Try {
    if open {
        return Ok(());
    }
    Err(stopped(otherwise))
}

/// Writes to a file, making it when it is absent.
fn append(path: impl AsRef<Path>) -> Try {
    let mut options = OpenOptions::new();
    let mut file = options.create(true).append(true).open(path)?;
    Ok(file.write_all(b"x\n")?)
}

/// Reads something out of a file.
fn read(path: impl AsRef<Path>) -> Try {
    let mut some = [0_u8; 64];
    let count = File::open(path)?.read(&mut some)?;
    through_if(count > 0, "it is empty")
}

/// Makes a file of our own and moves it.
fn move_onto(ground: &Ground, name: &str, target: &Path) -> Try {
    let own = ground.project.join(name);
    fs::write(&own, "x")?;
    Ok(fs::rename(own, target)?)
}

/// A system call that must be refused whatever its arguments.
fn refused(number: libc::c_long, args: &[i64]) -> Try {
    Ok(raw::reaches(number, args)?)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::sandbox::escape::{By, rows};

    /// The table and the code name the same attempts.
    #[test]
    fn every_row_has_its_attempt() {
        let rows = rows().unwrap();
        let by_probe = rows.iter().filter(|row| row.by == By::Probe);
        let wanted: BTreeSet<&str> = by_probe.map(|row| row.id).collect();
        let all = ALL.iter().copied().flatten();
        let there: BTreeSet<&str> = all.clone().map(|(id, _)| *id).collect();
        assert_eq!(there.len(), all.count(), "two attempts of one name");
        let differ: Vec<_> = wanted.symmetric_difference(&there).collect();
        assert!(differ.is_empty(), "{differ:?}");
    }
}
