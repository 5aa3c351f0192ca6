//! From a grant to a plan: pure, built on every system for every system. `apply` carries it out.

mod backend;
mod error;
mod folders;
mod levels;
#[expect(clippy::module_inception, reason = "the noun of this folder")]
mod plan;

pub(crate) use backend::{Backend, CgroupOffer, Offer, Offers};
pub(crate) use error::PlanError;
pub(crate) use folders::{Folder, FolderKind};
pub(crate) use levels::confinement;
pub(crate) use plan::{Plan, plan};
