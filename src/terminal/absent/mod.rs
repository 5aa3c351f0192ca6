//! The same names where there is neither a Unix terminal nor a Unix socket: nobody can be asked.

use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::time::Duration;

use crate::request::{Answer, Approver, Question, Reply};

use super::wire::{ApprovalError, Outcome, Waiting};

/// Unsupported on this system: nobody can be asked through it.
#[derive(Debug)]
pub struct ApprovalSocket;

impl ApprovalSocket {
    /// Nobody can be asked through it.
    #[must_use]
    pub fn new(_folder: impl Into<PathBuf>) -> Self {
        Self
    }
}

impl Approver for ApprovalSocket {
    fn ask<'a>(
        &'a self,
        _question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(std::future::ready(None))
    }

    fn attended(&self) -> bool {
        false
    }
}

/// Unsupported on this system.
///
/// # Errors
///
/// Always.
#[expect(clippy::unused_async, reason = "the same signature everywhere")]
pub async fn scan(_folder: &Path) -> Result<(Vec<Waiting>, Vec<ApprovalError>), ApprovalError> {
    Err(ApprovalError::Unsupported)
}

/// Unsupported on this system.
///
/// # Errors
///
/// Always.
#[expect(clippy::unused_async, reason = "the same signature everywhere")]
pub async fn send(
    _waiting: &Waiting,
    _answer: Answer,
    _scope: usize,
) -> Result<Outcome, ApprovalError> {
    Err(ApprovalError::Unsupported)
}

/// Nobody can tell.
#[must_use]
pub fn stdout_width() -> Option<usize> {
    None
}

/// Dropping it withdraws the question.
#[derive(Debug)]
pub(super) struct Cancel;

/// Whether the question is withdrawn.
#[derive(Debug)]
pub(super) struct Cancelled;

/// Why the conversation ended without an answer.
#[derive(Debug)]
pub(super) enum Stop {
    /// The question was withdrawn.
    #[expect(dead_code, reason = "the same names everywhere")]
    Withdrawn,
    /// There is no terminal.
    Gone,
}

pub(super) fn cancel_pair() -> io::Result<(Cancel, Cancelled)> {
    Ok((Cancel, Cancelled))
}

pub(super) fn owns_terminal(_path: &Path) -> bool {
    false
}

/// A terminal that cannot be opened.
#[derive(Debug)]
pub(super) struct Tty<'a>(PhantomData<&'a Cancelled>);

impl<'a> Tty<'a> {
    pub(super) fn open(_path: &Path, _cancelled: &'a Cancelled) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub(super) fn width(&self) -> usize {
        80
    }

    pub(super) fn discard_input(&self) {}

    pub(super) fn wait(&self, _time: Duration) -> Result<(), Stop> {
        Err(Stop::Gone)
    }

    pub(super) fn read(&self, _keys: &mut [u8]) -> Result<usize, Stop> {
        Err(Stop::Gone)
    }

    pub(super) fn write(&self, _text: &str) -> Result<(), Stop> {
        Err(Stop::Gone)
    }

    pub(super) fn write_if_possible(&self, _text: &str) {}
}
