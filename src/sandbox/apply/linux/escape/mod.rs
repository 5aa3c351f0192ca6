//! The escape suite on Linux. `host` makes a scene, starts the probe in it and looks afterwards at
//! what arrived; `probe` is this program again, inside the sandbox, where `attempts` are made.

mod attempts;
mod ground;
mod host;
mod probe;
mod raw;
mod reach;
mod scene;
mod scenes;
mod targets;
mod terminal;

pub(crate) use host::try_escapes;
pub(super) use probe::{PROBE, run};
pub(crate) use reach::reach;
