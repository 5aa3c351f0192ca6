//! A build without the second wall.

use std::fs::File;
use std::os::fd::OwnedFd;

use crate::sandbox::exit::Exit;
use crate::sandbox::plan::Plan;
use crate::sandbox::spawn::StageError;

/// Never there.
pub(super) enum Caged {}

/// Refuses.
pub(super) fn start(
    _: &Plan,
    status: File,
    _: &OwnedFd,
) -> Result<Caged, (Option<File>, StageError)> {
    let error = "this build is without birdcage (feature `birdcage`)";
    Err((Some(status), StageError::new("birdcage", error)))
}

impl Caged {
    /// Asks the program to end.
    pub(super) fn terminate(&self) {
        match *self {}
    }

    /// How the program ended.
    pub(super) fn ended(&mut self) -> Option<Exit> {
        match *self {}
    }
}
