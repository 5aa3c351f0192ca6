//! Linux. `start` and `confined` run in the host program; `entry` is the first code of the helper,
//! which is the host program executed again. Helper: `keeper` (stays outside, holds the lifeline)
//! → `init` (process 1 of the namespaces, builds the view) → `target` (last steps, `exec`). With the
//! second wall: `init` → `cage` (birdcage) → `stage_two` (executed once more) → `target`.

mod bare;
#[cfg(feature = "birdcage")]
mod cage;
#[cfg(not(feature = "birdcage"))]
#[path = "cage_off.rs"]
mod cage;
mod cgroup;
mod confined;
mod devices;
mod doorway;
mod entry;
mod escape;
mod facts;
mod guard;
#[cfg(feature = "birdcage")]
mod handover;
mod init;
mod keeper;
mod mounts;
mod passing;
mod placeholder;
mod privileges;
mod probe;
mod readable;
mod repository;
mod seccomp;
#[cfg(feature = "birdcage")]
mod stage_two;
mod start;
mod stock;
mod survey;
mod sys;
mod target;
mod usage;
mod view;
mod wall;
mod watch;

use super::stamps;
pub(crate) use cgroup::offer as cgroup;

pub(crate) use confined::{Confined, spawn};
pub(crate) use entry::run_helper_if_requested;
pub(crate) use escape::{reach, try_escapes};
pub(crate) use facts::facts;
pub(crate) use probe::{is_root, memory, system, try_backend};
pub(crate) use wall::landlock_abi;
