//! People: questions at a terminal and over the approval socket. Knows questions and replies, and
//! nothing of policy: what a question means is decided elsewhere.

mod broker;
mod dialogue;
mod editor;
mod line;
mod prompt;
mod render;
mod visible;
#[cfg_attr(not(unix), expect(dead_code, reason = "no approval socket there"))]
mod wire;

#[cfg_attr(unix, path = "unix/mod.rs")]
#[cfg_attr(not(unix), path = "absent/mod.rs")]
mod os;

pub use broker::Broker;
pub use line::{Line, Tone};
pub use os::{ApprovalSocket, scan, send, stdout_width};
pub use prompt::{Colour, Prompt};
pub use render::render;
pub use visible::wrap_untrusted;
pub use wire::{ApprovalError, Outcome, Waiting};
