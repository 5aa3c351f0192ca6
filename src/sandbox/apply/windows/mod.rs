//! Windows. `start` runs in the host program; `entry` is the helper, which is the host program
//! executed again: it puts itself into a job that ends with it, starts the program there with a
//! token without rights, and ends as the program ended.

mod entry;
mod job;
mod probe;
mod process;
mod start;
mod sys;

pub(crate) use entry::run_helper_if_requested;
pub(crate) use probe::{is_root, landlock_abi, second_names, system, try_backend};
pub(super) use start::{Lifeline, start};
