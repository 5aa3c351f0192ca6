//! Hosts that a sandboxed program wanted and did not reach, for the people who wonder why it failed.

use std::collections::VecDeque;

use crate::clean;

/// A host that was not reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RefusedHost {
    /// `host:port`, in its canonical form.
    pub(crate) target: String,
    /// Why, and the way out. In words for models too.
    pub(crate) why: String,
    /// How often.
    pub(crate) times: u64,
    /// The number of the last time, counted over all refusals of the sandbox.
    last: u64,
}

/// How many different refusals are kept; the oldest goes.
const KEPT: usize = 40;

/// The refusals of one sandbox.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    hosts: VecDeque<RefusedHost>,
    count: u64,
    /// Once nothing is let out any more.
    lost: Option<RefusedHost>,
}

impl Refusals {
    /// Notes a refusal; whether it is the first of its kind.
    pub(super) fn note(&mut self, target: &str, why: &str) -> bool {
        self.count += 1;
        let count = self.count;
        let known = (self.hosts.iter_mut()).find(|host| host.target == target && host.why == why);
        if let Some(host) = known {
            host.times += 1;
            host.last = count;
            return false;
        }
        if self.hosts.len() >= KEPT {
            self.hosts.pop_front();
        }
        self.hosts.push_back(RefusedHost {
            target: target.to_owned(),
            why: why.to_owned(),
            times: 1,
            last: count,
        });
        true
    }

    /// From now on nothing is reached, for one reason.
    pub(super) fn lose(&mut self, why: &str) {
        self.lost = Some(RefusedHost {
            target: "any host".to_owned(),
            why: why.to_owned(),
            times: 1,
            last: u64::MAX,
        });
    }

    /// How many there were so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Those that came after the first `count`.
    pub(super) fn since(&self, count: u64) -> Vec<RefusedHost> {
        let hosts = self.hosts.iter().chain(&self.lost);
        hosts.filter(|host| host.last > count).cloned().collect()
    }
}

/// How many are told at once.
const TOLD: usize = 5;

/// What is said beside a failure, one line a host; empty when there is nothing to say.
pub(crate) fn told(hosts: &[RefusedHost]) -> String {
    let line = |host: &RefusedHost| {
        let why = clean::line(&clean::mask(&host.why), 600);
        format!("Creance did not let it connect to {}: {why}", host.target)
    };
    let mut lines: Vec<String> = hosts.iter().take(TOLD).map(line).collect();
    if let Some(more) = hosts.len().checked_sub(TOLD).filter(|more| *more > 0) {
        lines.push(format!("and {more} more"));
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_told_where_it_happened() {
        let mut refusals = Refusals::default();
        assert!(refusals.note("a.test:443", "no"));
        assert!(!refusals.note("a.test:443", "no"));
        let before = refusals.count();
        assert!(refusals.note("b.test:443", "no"));
        assert_eq!(
            told(&refusals.since(before)),
            "Creance did not let it connect to b.test:443: no"
        );
        assert!(!refusals.note("a.test:443", "no"));
        assert_eq!(refusals.since(before).len(), 2);
        assert_eq!(refusals.since(refusals.count()), []);
        for port in 0..100 {
            refusals.note(&format!("c.test:{port}"), "no");
        }
        let all = refusals.since(0);
        assert_eq!(all.len(), KEPT);
        assert!(told(&all).ends_with("and 35 more"));
        let before = refusals.count();
        refusals.lose("gone");
        assert_eq!(
            told(&refusals.since(before)),
            "Creance did not let it connect to any host: gone"
        );
    }
}
