//! Opens the sign-in page in the person's browser: one checked address as one argument, never a shell.

use std::fmt;

use super::endpoint::Endpoint;

/// Opens a page for a person.
pub(crate) trait Browser: Send + Sync + fmt::Debug {
    /// # Errors
    /// Why it does not open; the person can still open it by hand.
    fn open(&self, page: &Endpoint) -> Result<(), String>;
}

/// The browser that the person prefers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SystemBrowser;

impl Browser for SystemBrowser {
    fn open(&self, page: &Endpoint) -> Result<(), String> {
        webbrowser::open(page.as_str()).map_err(|_| "no browser could be started".to_owned())
    }
}
