//! macOS. `start` runs in the host program; `entry` is the first code of the helper, which is the
//! host program executed again. Helper: `keeper` (stays, holds the lifeline) → `target` (limits,
//! session, Seatbelt profile, `exec`).

mod entry;
mod keeper;
mod probe;
mod start;
mod sys;
mod target;

pub(crate) use entry::run_helper_if_requested;
pub(crate) use probe::{is_root, landlock_abi, system, try_backend};
pub(super) use start::{Lifeline, start};
