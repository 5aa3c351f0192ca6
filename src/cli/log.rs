//! What the gateway says while it runs, on standard error: one event is one line.

use std::io;

use tracing_subscriber::EnvFilter;

/// The variable that says how much is told: `error`, `warn` (the default), `info`, `debug`.
const LEVEL: &str = "CREANCE_LOG";

/// Starts telling. A level that is none leaves the default in force.
pub(crate) fn start() {
    let level = std::env::var(LEVEL).unwrap_or_default();
    let filter = EnvFilter::try_new(level.trim())
        .ok()
        .filter(|_| !level.trim().is_empty())
        .unwrap_or_else(|| EnvFilter::new("warn"));
    let told = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(false)
        .without_time()
        .with_target(false)
        .compact()
        .try_init();
    // A second start would be a mistake of ours, and costs nothing.
    drop(told);
}
