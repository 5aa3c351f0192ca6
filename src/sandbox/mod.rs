//! The OS sandbox: a grant becomes a plan (pure, in `plan`), the plan becomes a confined process
//! (system calls, in `apply`). Knows words only: nothing here has heard of policy.

mod advice;
mod apply;
mod doctor;
// Public to the crate for `enforce`, which decides what the proxy asks.
#[doc(hidden)]
pub(crate) mod door;
pub(crate) mod egress;
mod escape;
mod exit;
mod machine;
mod plan;
mod reach;
mod spawn;
#[cfg(feature = "prove")]
mod trusted;

pub use advice::MachineFacts;
pub(crate) use apply::run_helper_if_requested;
pub use doctor::{BackendReport, DoctorReport, examine};
pub(crate) use escape::control;
pub use escape::{EscapeResult, EscapeVerdict, SelfTest, self_test};
pub use exit::Exit;
pub(crate) use machine::Machine;
pub(crate) use plan::{PlanError, plan};
pub(crate) use reach::reach;
pub(crate) use spawn::{Confined, SpawnError, Stdio, spawn};
#[cfg(feature = "prove")]
pub(crate) use trusted::{Trusted, start_trusted};
