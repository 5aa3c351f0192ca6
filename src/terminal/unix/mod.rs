//! The terminal device and the approval socket, on Unix.

mod client;
mod folder;
mod frame;
mod socket;
mod tty;

pub use client::{scan, send};
pub use socket::ApprovalSocket;
pub(super) use tty::{Cancelled, Stop, Tty, cancel_pair, owns_terminal};
