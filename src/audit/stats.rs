//! Who asked what, how often, and what was denied by what.

use std::collections::BTreeMap;

use serde::Serialize;

use super::event::{EventKind, OutcomeKind};
use super::record::Record;
use crate::request::Answer;

/// Counts over records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Records of all kinds.
    pub records: u64,
    /// The time of the first and the last record, in milliseconds since the Unix epoch.
    pub span_ms: Option<(i64, i64)>,
    /// Decisions.
    pub decisions: Tally,
    /// Outcomes of effects by what became of them.
    pub results: BTreeMap<String, u64>,
    /// Who asked what of what, most often first.
    pub asked: Vec<Usage>,
    /// The policies that denied, or whose absence did, most often first.
    pub denied_by: Vec<DeniedBy>,
    /// Answers that people gave, by channel.
    pub answered: BTreeMap<String, u64>,
}

/// How often something was decided, and how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Allowed.
    pub allowed: u64,
    /// Denied.
    pub denied: u64,
    /// Allowed or denied after a person was asked.
    pub asked: u64,
}

/// One principal, action and resource.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Who.
    pub principal: String,
    /// What.
    pub action: String,
    /// Of what.
    pub resource: String,
    /// How often.
    #[serde(flatten)]
    pub tally: Tally,
}

/// One policy that denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DeniedBy {
    /// Its id.
    pub policy: String,
    /// Its reason, as it was said last.
    pub reason: String,
    /// How often.
    pub times: u64,
}

impl Tally {
    fn total(self) -> u64 {
        self.allowed + self.denied
    }

    fn add(&mut self, other: Self) {
        self.allowed += other.allowed;
        self.denied += other.denied;
        self.asked += other.asked;
    }
}

impl Stats {
    /// Counts records.
    #[must_use]
    pub fn of(records: impl IntoIterator<Item = Record>) -> Self {
        let mut counting = Counting::default();
        for record in records {
            counting.add(record);
        }
        counting.finish()
    }
}

#[derive(Default)]
struct Counting {
    stats: Stats,
    asked: BTreeMap<(String, String, String), Tally>,
    denied: BTreeMap<String, (String, u64)>,
}

impl Counting {
    fn add(&mut self, record: Record) {
        let stats = &mut self.stats;
        stats.records += 1;
        let at_ms = record.event.at_ms;
        let (from, to) = stats.span_ms.unwrap_or((at_ms, at_ms));
        stats.span_ms = Some((from.min(at_ms), to.max(at_ms)));
        match record.event.kind {
            EventKind::Outcome(outcome) => *stats.results.entry(outcome.result).or_default() += 1,
            EventKind::Note { .. } => {}
            EventKind::Decision {
                action,
                principal,
                resource,
                outcome,
                because,
                answer,
                channel,
                asked,
                ..
            } => {
                let one = Tally {
                    allowed: u64::from(outcome == OutcomeKind::Allow),
                    denied: u64::from(outcome == OutcomeKind::Deny),
                    asked: u64::from(asked),
                };
                stats.decisions.add(one);
                if let Some(channel) = channel.filter(|_| asked && answer != Answer::None) {
                    *stats.answered.entry(channel).or_default() += 1;
                }
                let key = (principal, action, resource);
                self.asked.entry(key).or_default().add(one);
                if let Some(first) = because
                    .into_iter()
                    .next()
                    .filter(|_| outcome == OutcomeKind::Deny)
                {
                    let denied = self.denied.entry(first.policy).or_default();
                    *denied = (first.reason, denied.1 + 1);
                }
            }
        }
    }

    fn finish(self) -> Stats {
        let asked = self.asked.into_iter().map(|(key, tally)| Usage {
            principal: key.0,
            action: key.1,
            resource: key.2,
            tally,
        });
        let mut asked: Vec<Usage> = asked.collect();
        asked.sort_by_key(|one| std::cmp::Reverse(one.tally.total()));
        let denied = self.denied.into_iter();
        let denied = denied.map(|(policy, (reason, times))| DeniedBy {
            policy,
            reason,
            times,
        });
        let mut denied_by: Vec<DeniedBy> = denied.collect();
        denied_by.sort_by_key(|one| std::cmp::Reverse(one.times));
        Stats {
            asked,
            denied_by,
            ..self.stats
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decisions_are_counted_by_who_and_by_what_denied() {
        let decision = |resource: &str, outcome: &str, asked: bool| {
            serde_json::from_value::<Record>(json!({
                "v": 1, "seq": 1, "prev": "0".repeat(64), "at_ms": 5, "run": "r",
                "event": "decision", "action": "tool.call", "principal": "agent/cli",
                "resource": resource, "facts": {}, "outcome": outcome, "judged_us": 1,
                "because": [{"policy": "user/a/no", "layer": "user", "role": "forbids", "reason": "why"}],
                "answer": if asked { "once" } else { "none" },
                "channel": if asked { json!("terminal") } else { json!(null) },
                "asked": asked, "store": "0".repeat(64)
            }))
            .unwrap()
        };
        let stats = Stats::of([
            decision("user/a/b", "deny", false),
            decision("user/a/c", "allow", true),
            decision("user/a/b", "allow", false),
            decision("user/a/b", "deny", false),
        ]);
        let tally = |allowed, denied, asked| Tally {
            allowed,
            denied,
            asked,
        };
        assert_eq!(stats.decisions, tally(2, 2, 1));
        assert_eq!(stats.asked[0].resource, "user/a/b");
        assert_eq!(stats.asked[0].tally, tally(1, 2, 0));
        assert_eq!(stats.asked[1].tally, tally(1, 0, 1));
        assert_eq!((stats.denied_by.len(), stats.denied_by[0].times), (1, 2));
        assert_eq!(stats.answered, BTreeMap::from([("terminal".to_owned(), 1)]));
        assert_eq!(stats.span_ms, Some((5, 5)));
    }
}
