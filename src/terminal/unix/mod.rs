//! The terminal device and the approval socket, on Unix.

mod client;
mod folder;
mod frame;
mod socket;
mod tty;

pub use client::{scan, send};
pub use socket::ApprovalSocket;
pub use tty::stdout_width;
pub(super) use tty::{Cancel, Cancelled, Stop, Tty, cancel_pair, owns_terminal};
