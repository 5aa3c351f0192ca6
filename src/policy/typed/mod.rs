//! Tools with an action of their own, `Action::"user/fs/write_file"`, whose `context.input` has the
//! types of the tool's own input schema. Only those that policies name, each as the lock file knows it:
//! a tool that is not the one in the lock is denied, and so are arguments that do not fit.

mod fill;
mod input;
mod literals;
mod lock;
mod read;

pub(super) use fill::fill;
pub(super) use input::record_json;
pub(super) use literals::{misses_typed, tools_named};
pub(super) use lock::Locks;
pub(crate) use lock::{LockedTool, ToolLock};
