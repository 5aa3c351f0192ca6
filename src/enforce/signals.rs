//! What the terminal and other processes want of a command while it runs.

use std::io;

use crate::grant::Grant;

/// The signals that a running command is told about.
#[cfg(unix)]
#[derive(Debug)]
pub(super) struct Signals {
    terminate: tokio::signal::unix::Signal,
    hang_up: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
    /// Taken so that the keys end the program and not us, who must say how it ended.
    _quit: Option<tokio::signal::unix::Signal>,
    terminal: bool,
}

#[cfg(unix)]
impl Signals {
    /// From here on these signals no longer end this process. Keys of a terminal go to the program,
    /// which is in the same group: it decides what an interrupt means.
    pub(super) fn take(grant: &Grant) -> io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        let terminal = grant.terminal;
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
            interrupt: signal(SignalKind::interrupt())?,
            _quit: terminal.then(|| signal(SignalKind::quit())).transpose()?,
            terminal,
        })
    }

    /// The first signal that asks the command to end.
    pub(super) async fn ending(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.hang_up.recv() => {}
            _ = self.interrupt.recv(), if !self.terminal => {}
        }
    }
}

/// The signals that a running command is told about.
#[cfg(not(unix))]
#[derive(Debug)]
pub(super) struct Signals {
    terminal: bool,
}

#[cfg(not(unix))]
impl Signals {
    pub(super) fn take(grant: &Grant) -> io::Result<Self> {
        Ok(Self {
            terminal: grant.terminal,
        })
    }

    pub(super) async fn ending(&mut self) {
        if self.terminal {
            std::future::pending::<()>().await;
        }
        let _ = tokio::signal::ctrl_c().await;
    }
}
