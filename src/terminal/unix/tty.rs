//! The terminal device: opened anew, keys one by one, every wait ends when the question is
//! withdrawn, the terminal's modes come back on drop. (On macOS `poll` refuses `/dev/tty`: there
//! the question counts as unanswered.)

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{
    InputModes, LocalModes, OptionalActions, OutputModes, QueueSelector, SpecialCodeIndex, Termios,
};

/// Dropping it withdraws the question.
#[derive(Debug)]
pub(in crate::terminal) struct Cancel(
    #[expect(dead_code, reason = "held to be dropped")] UnixStream,
);

/// Readable as soon as the question is withdrawn.
#[derive(Debug)]
pub(in crate::terminal) struct Cancelled(UnixStream);

impl Cancelled {
    fn is_withdrawn(&self) -> bool {
        let mut fds = [PollFd::new(&self.0, PollFlags::IN)];
        poll(&mut fds, Some(&Timespec::default())) != Ok(0)
    }
}

pub(in crate::terminal) fn cancel_pair() -> io::Result<(Cancel, Cancelled)> {
    let (cancel, cancelled) = UnixStream::pair()?;
    Ok((Cancel(cancel), Cancelled(cancelled)))
}

/// Why the conversation ended without an answer.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::terminal) enum Stop {
    /// The question was withdrawn.
    Withdrawn,
    /// The terminal is gone.
    Gone,
}

impl From<Errno> for Stop {
    fn from(_: Errno) -> Self {
        Self::Gone
    }
}

/// Whether the terminal exists and this process is in its foreground. In the background, asking
/// would stop the process (SIGTTOU).
pub(in crate::terminal) fn owns_terminal(path: &Path) -> bool {
    let Ok(fd) = open(path) else {
        return false;
    };
    rustix::termios::tcgetpgrp(&fd).is_ok_and(|group| group == rustix::process::getpgrp())
}

/// Columns of the terminal that standard output is; `None` when it is none or does not know.
#[must_use]
pub fn stdout_width() -> Option<usize> {
    columns(std::io::stdout())
}

fn columns(fd: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(fd).ok()?;
    (size.ws_col > 0).then_some(usize::from(size.ws_col))
}

/// Non-blocking, on a description of our own: nobody else's reads or writes change.
fn open(path: &Path) -> Result<OwnedFd, Errno> {
    let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    rustix::fs::open(path, flags, Mode::empty())
}

/// The terminal in our modes.
#[derive(Debug)]
pub(in crate::terminal) struct Tty<'a> {
    fd: OwnedFd,
    before: Termios,
    cancelled: &'a Cancelled,
}

impl<'a> Tty<'a> {
    pub(in crate::terminal) fn open(path: &Path, cancelled: &'a Cancelled) -> Result<Self, Errno> {
        let fd = open(path)?;
        if cancelled.is_withdrawn() {
            return Err(Errno::CANCELED);
        }
        let before = rustix::termios::tcgetattr(&fd)?;
        let mut modes = before.clone();
        // Keys come one by one and Ctrl-C as a key: it means "no" to this question.
        modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        modes.input_modes |= InputModes::ICRNL;
        modes.output_modes |= OutputModes::OPOST | OutputModes::ONLCR;
        modes.special_codes[SpecialCodeIndex::VMIN] = 1;
        modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        rustix::termios::tcsetattr(&fd, OptionalActions::Now, &modes)?;
        Ok(Self {
            fd,
            before,
            cancelled,
        })
    }

    /// Columns of the terminal; 80 when it does not know.
    pub(in crate::terminal) fn width(&self) -> usize {
        columns(&self.fd).unwrap_or(80)
    }

    /// Throws away what was typed so far.
    pub(in crate::terminal) fn discard_input(&self) {
        // A failure leaves the input; a terminal that is gone fails at the next read.
        let _ = rustix::termios::tcflush(&self.fd, QueueSelector::IFlush);
    }

    /// Waits, unless the question is withdrawn.
    pub(in crate::terminal) fn wait(&self, time: Duration) -> Result<(), Stop> {
        let timeout = Timespec::try_from(time).map_err(|_| Stop::Gone)?;
        let mut fds = [PollFd::new(&self.cancelled.0, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => Ok(()),
            Ok(_) => Err(Stop::Withdrawn),
            // A signal cuts the wait short; start anew, longer is safe.
            Err(Errno::INTR) => self.wait(time),
            Err(error) => Err(error.into()),
        }
    }

    /// Reads keys: at least one.
    pub(in crate::terminal) fn read(&self, keys: &mut [u8]) -> Result<usize, Stop> {
        loop {
            self.ready(PollFlags::IN)?;
            match rustix::io::read(&self.fd, &mut *keys) {
                Ok(0) => return Err(Stop::Gone),
                Ok(read) => return Ok(read),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    pub(in crate::terminal) fn write(&self, text: &str) -> Result<(), Stop> {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            self.ready(PollFlags::OUT)?;
            match rustix::io::write(&self.fd, rest) {
                Ok(written) => rest = rest.get(written..).unwrap_or_default(),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Writes a last word without waiting.
    pub(in crate::terminal) fn write_if_possible(&self, text: &str) {
        // A courtesy: the answer does not depend on it.
        let _ = rustix::io::write(&self.fd, text.as_bytes());
    }

    fn ready(&self, flags: PollFlags) -> Result<(), Stop> {
        loop {
            let mut fds = [
                PollFd::new(&self.cancelled.0, PollFlags::IN),
                PollFd::new(&self.fd, flags),
            ];
            match poll(&mut fds, None) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            let [cancelled, terminal] = &fds;
            if !cancelled.revents().is_empty() {
                return Err(Stop::Withdrawn);
            }
            if terminal.revents().intersects(flags) {
                return Ok(());
            }
            if !terminal.revents().is_empty() {
                return Err(Stop::Gone);
            }
        }
    }
}

impl Drop for Tty<'_> {
    fn drop(&mut self) {
        // Nothing can be done about a terminal that is gone.
        let _ = rustix::termios::tcsetattr(&self.fd, OptionalActions::Now, &self.before);
    }
}
