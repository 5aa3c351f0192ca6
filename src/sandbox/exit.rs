//! How a confined process ended.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::grant::LimitHit;
#[cfg(any(target_os = "linux", test))]
use crate::grant::{Limit, Limits};

/// The end of a process: a code or a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exit {
    /// The exit code, when it ended by itself.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// The limit that ended it, where one did.
    #[serde(default)]
    pub limit: Option<LimitHit>,
}

/// The signals by which the kernel says that a limit was reached.
#[cfg(any(target_os = "linux", test))]
const LIMITS: [(i32, Limit); 2] = [(24, Limit::Cpu), (25, Limit::FileSize)];

impl Exit {
    /// Ended by `SIGKILL`.
    pub(crate) const KILLED: Self = Self {
        code: None,
        signal: Some(9),
        limit: None,
    };

    /// With the limit that its end tells of. A shell ends with 128 and the signal of its child.
    #[cfg(any(target_os = "linux", test))]
    pub(crate) fn explained(self, limits: &Limits) -> Self {
        let signal = self.signal.or_else(|| self.code?.checked_sub(128));
        let reached = LIMITS.iter().find(|(number, _)| signal == Some(*number));
        let hit = reached.and_then(|(_, limit)| {
            let value = limits.get(*limit)?;
            Some(LimitHit {
                limit: *limit,
                value,
            })
        });
        Self {
            limit: self.limit.or(hit),
            ..self
        }
    }

    /// Whether it ended with code 0.
    #[must_use]
    pub fn success(self) -> bool {
        self.code == Some(0)
    }
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.signal, self.limit) {
            (Some(code), _, None) => write!(f, "exited with code {code}"),
            (Some(code), _, Some(hit)) => write!(f, "exited with code {code} at its {hit}"),
            (None, _, Some(hit)) => write!(f, "was killed by its {hit}"),
            (None, Some(signal), None) => match signal_name(signal) {
                Some(name) => write!(f, "was killed by {name}"),
                None => write!(f, "was killed by signal {signal}"),
            },
            (None, None, None) => f.write_str("ended in an unknown way"),
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
    use super::*;

    #[test]
    fn ends_are_named() {
        let mut limits = Limits::default();
        limits.set(Limit::Cpu, 60);
        let memory = LimitHit {
            limit: Limit::Memory,
            value: 2 << 30,
        };
        for (code, signal, limit, want) in [
            (Some(9), None, None, "exited with code 9"),
            (None, Some(9), None, "was killed by SIGKILL"),
            (None, Some(64), None, "was killed by signal 64"),
            (None, None, None, "ended in an unknown way"),
            (
                None,
                Some(9),
                Some(memory),
                "was killed by its memory limit of 2 GiB",
            ),
            (
                None,
                Some(24),
                None,
                "was killed by its CPU time limit of 1 min",
            ),
            (
                Some(152),
                None,
                None,
                "exited with code 152 at its CPU time limit of 1 min",
            ),
            (
                None,
                Some(25),
                None,
                "was killed by its file size limit of 1 GiB",
            ),
        ] {
            let exit = Exit {
                code,
                signal,
                limit,
            };
            assert_eq!(exit.explained(&limits).to_string(), want);
        }
        // Without a limit of ours, the signal means something else.
        let exit = Exit {
            code: None,
            signal: Some(24),
            limit: None,
        };
        assert_eq!(
            exit.explained(&Limits::default()).to_string(),
            "was killed by signal 24"
        );
    }
}
