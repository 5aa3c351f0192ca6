//! From a grant to a plan: pure, built on every system for every system. `apply` carries it out.

mod backend;
mod error;
mod folders;
#[cfg_attr(
    not(any(test, windows)),
    expect(dead_code, reason = "built and tested on every system")
)]
mod job;
mod levels;
#[expect(clippy::module_inception, reason = "the noun of this folder")]
mod plan;
mod quote;
#[cfg_attr(
    not(any(test, target_os = "macos")),
    expect(dead_code, reason = "built and tested on every system")
)]
mod seatbelt;
#[cfg_attr(
    not(any(test, windows)),
    expect(dead_code, reason = "built and tested on every system")
)]
mod words;

pub(crate) use backend::{Backend, CgroupOffer, Offer, Offers};
pub(crate) use error::PlanError;
#[cfg(target_os = "linux")]
pub(crate) use folders::{Folder, FolderKind};
#[cfg(windows)]
pub(crate) use job::{Console, Job, job};
pub(crate) use levels::confinement;
pub(crate) use plan::{Plan, plan};
#[cfg(target_os = "macos")]
pub(crate) use seatbelt::profile;
#[cfg(windows)]
pub(crate) use words::{block, command_line};
