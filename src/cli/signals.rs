//! The signals that end a command, so that it can leave in order.

/// Waits for an interrupt, a request to end, or the end of the terminal; gives the signal's number.
#[cfg(unix)]
pub(crate) async fn ending() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};
    let wait = |kind: SignalKind| async move {
        match signal(kind) {
            Ok(mut signal) => {
                signal.recv().await;
                kind.as_raw_value()
            }
            // Then the signal ends the process by itself.
            Err(_) => std::future::pending().await,
        }
    };
    let number = tokio::select! {
        number = wait(SignalKind::interrupt()) => number,
        number = wait(SignalKind::terminate()) => number,
        number = wait(SignalKind::hangup()) => number,
    };
    u8::try_from(number).unwrap_or(0)
}

/// Waits for an interrupt.
#[cfg(not(unix))]
pub(crate) async fn ending() -> u8 {
    let _ = tokio::signal::ctrl_c().await;
    2
}

/// The exit code of a command that a signal ended, as shells have it.
pub(crate) fn code(signal: u8) -> u8 {
    128_u8.saturating_add(signal)
}
