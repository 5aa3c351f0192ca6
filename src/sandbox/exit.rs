//! How a confined process ended.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The end of a process: a code or a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl Exit {
    /// Ended by `SIGKILL`.
    pub(crate) const KILLED: Self = Self {
        code: None,
        signal: Some(9),
    };

    /// Whether it ended with code 0.
    #[must_use]
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exited with code {code}"),
            (None, Some(signal)) => match signal_name(signal) {
                Some(name) => write!(f, "was killed by {name}"),
                None => write!(f, "was killed by signal {signal}"),
            },
            (None, None) => f.write_str("ended in an unknown way"),
        }
    }
}

fn signal_name(signal: i32) -> Option<&'static str> {
    Some(match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        15 => "SIGTERM",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn ends_are_named() {
        for (code, signal, want) in [
            (Some(9), None, "exited with code 9"),
            (None, Some(9), "was killed by SIGKILL"),
            (None, Some(64), "was killed by signal 64"),
            (None, None, "ended in an unknown way"),
        ] {
            assert_eq!(Exit { code, signal }.to_string(), want);
        }
    }
}
