//! The one place that reads the clock and the system's random numbers.

use std::io;
use std::time::SystemTime;

/// Now, in milliseconds since the Unix epoch; 0 when the clock stands before it.
#[expect(
    clippy::disallowed_methods,
    reason = "the home of the clock: all others get the time with the request"
)]
pub(crate) fn clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| {
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    })
}

/// A random id of 32 hexadecimal digits: of a run, of a question.
///
/// # Errors
/// When the system gives no random numbers; an id that could be guessed is never made instead.
pub(crate) fn random_id() -> io::Result<String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ_and_time_has_come() {
        let (one, other) = (random_id().unwrap(), random_id().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
        assert!(clock() > 1_700_000_000_000);
    }
}
