//! Hosts, decided one by one: joins the proxy of a sandbox to the decision point. `doorman` answers
//! the proxy, `outlet` owns both for one sandbox, `turns` keeps a program from asking people without
//! end, `refused` is what is told about hosts that were not reached.

mod doorman;
mod outlet;
mod outlets;
mod refused;
mod turns;

pub(crate) use outlet::{Outlet, Tenant};
pub(crate) use outlets::Outlets;
pub(crate) use refused::{RefusedHost, told};
