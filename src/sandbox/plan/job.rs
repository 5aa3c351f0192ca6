//! The plan of Windows: the numbers of a job object and what is taken from the token. Files and
//! network are not confined by either: an AppContainer would, but programs such as node and git do
//! not start in one, and write-restricted tokens need entries in the access lists of the user's own
//! folders, which would outlive the sandbox.

use serde::{Deserialize, Serialize};

use super::plan::Plan;

/// What a job bounds. The whole tree ends with the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Job {
    /// Memory that one process may commit, in bytes.
    pub(crate) process_memory: Option<usize>,
    /// Processes that may run at a time.
    pub(crate) processes: Option<u32>,
    /// User-mode time of one process, in units of 100 ns.
    pub(crate) process_time: Option<i64>,
    /// Whether the tree gets a console.
    pub(crate) console: Console,
}

/// The console of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Console {
    /// That of the host program.
    Shared,
    /// None.
    Absent,
}

const UNITS_PER_SECOND: u64 = 10_000_000;

/// The job of a plan. A limit that is larger than the system can count is its largest number.
pub(crate) fn job(plan: &Plan) -> Job {
    let limits = &plan.limits;
    let time = |seconds: u64| {
        let units = seconds.saturating_mul(UNITS_PER_SECOND);
        i64::try_from(units).unwrap_or(i64::MAX)
    };
    Job {
        process_memory: limits
            .memory_bytes
            .map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX)),
        // Its threads count on Linux, and do not here: the number is the same all the same.
        processes: limits
            .processes
            .map(|count| u32::try_from(count).unwrap_or(u32::MAX)),
        process_time: limits.cpu_s.map(time),
        console: if plan.terminal {
            Console::Shared
        } else {
            Console::Absent
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grant::{Grant, Launch, Limits};
    use crate::sandbox::plan::plan::plan_with;
    use crate::sandbox::plan::{Backend, Offer, Offers};

    #[test]
    fn limits_become_numbers_of_a_job() {
        let offers = Offers {
            backends: vec![Offer {
                backend: Backend::WindowsJob,
                failure: None,
            }],
            ..Offers::default()
        };
        let launch = Launch {
            program: "/p".into(),
            name: "p".into(),
            args: Vec::new(),
            cwd: "/".into(),
            stamps: Vec::new(),
        };
        let check =
            |cpu_s, processes, memory_bytes, want: (Option<i64>, Option<u32>, Option<usize>)| {
                let limits = Limits {
                    cpu_s,
                    processes,
                    memory_bytes,
                    ..Limits::default()
                };
                let grant = Grant {
                    limits,
                    terminal: cpu_s.is_none(),
                    ..Grant::default()
                };
                let job = job(&plan_with(&offers, &launch, &grant).unwrap());
                assert_eq!((job.process_time, job.processes, job.process_memory), want);
                assert_eq!(job.console == Console::Shared, grant.terminal);
            };
        check(None, None, None, (None, None, None));
        check(
            Some(2),
            Some(3),
            Some(4),
            (Some(20_000_000), Some(3), Some(4)),
        );
        let most = u64::MAX;
        check(
            Some(most),
            Some(most),
            Some(most),
            (Some(i64::MAX), Some(u32::MAX), Some(usize::MAX)),
        );
    }
}
