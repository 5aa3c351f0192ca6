//! The HTTP that a sign-in needs, as a seam: who speaks it is chosen above.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

/// A request.
pub(crate) struct WebRequest {
    pub(crate) method: Method,
    /// Absolute, and checked.
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

/// The methods that a sign-in uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    Get,
    Post,
}

/// A reply, redirects included.
#[derive(Clone)]
pub(crate) struct WebReply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

pub(crate) type WebFuture<'a> = Pin<Box<dyn Future<Output = Result<WebReply, String>> + Send + 'a>>;

/// Sends one request. Follows no redirect, and takes at most [`BODY_MAX`] bytes.
pub(crate) trait Web: Send + Sync + fmt::Debug {
    /// # Errors
    /// One line that names no more of the address than its origin.
    fn send(&self, request: WebRequest) -> WebFuture<'_>;
}

/// The most that a sign-in server may say at once, in bytes.
pub(crate) const BODY_MAX: u64 = 1024 * 1024;

// Bodies and headers hold codes and tokens.
impl fmt::Debug for WebRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebRequest")
            .field("method", &self.method)
            .finish_non_exhaustive()
    }
}

impl fmt::Debug for WebReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebReply")
            .field("status", &self.status)
            .finish_non_exhaustive()
    }
}
