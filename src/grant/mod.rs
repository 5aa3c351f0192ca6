//! The terms of a permit: what a sandboxed process may read, write, reach and spend, what is
//! started, and what the sandbox really holds. Plain data; `sandbox` turns it into a plan.

mod confinement;
pub mod guarded;
mod limits;
mod place;
mod proxied;
mod terms;

pub use confinement::{Confinement, Guarantee, Level};
pub use limits::{Limit, LimitHit, Limits};
pub use place::Place;
#[cfg(target_os = "linux")]
pub(crate) use proxied::PROXY_PORT;
pub(crate) use proxied::proxy_variables;
pub use terms::{Environment, FileStamp, Grant, Launch, Network};
