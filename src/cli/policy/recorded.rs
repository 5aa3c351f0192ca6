//! Recorded decisions under two stores: what would come out otherwise.

use std::collections::BTreeMap;
use std::path::Path;

use creance::{
    AuditLog, Because, Error, Filter, Paint, PolicyOutcome, PolicySet, Record, Shape, Verdict,
};
use serde_json::{Value, json};

use crate::cli::out;

/// What two stores make of a log.
#[derive(Default)]
pub(super) struct Recorded {
    same: u64,
    changed: Vec<(Record, Verdict, Verdict)>,
    unknown: BTreeMap<String, u64>,
    unread: u64,
}

impl Recorded {
    /// Decides all that is on record again, under both.
    pub(super) fn read(log: &Path, from: &PolicySet, to: &PolicySet) -> Result<Self, Error> {
        let (records, unread) = AuditLog::pick(log, &Filter::default())?;
        let mut found = Self {
            unread,
            ..Self::default()
        };
        for record in records {
            let (Some(before), Some(after)) = (from.replay(&record), to.replay(&record)) else {
                continue;
            };
            match (before.now, after.now) {
                (Ok(before), Ok(after)) if before.outcome == after.outcome => found.same += 1,
                (Ok(before), Ok(after)) => found.changed.push((record, before, after)),
                (Err(why), _) | (_, Err(why)) => *found.unknown.entry(why).or_default() += 1,
            }
        }
        Ok(found)
    }

    /// Whether any is decided otherwise.
    pub(super) fn differs(&self) -> bool {
        !self.changed.is_empty()
    }

    pub(super) fn json(&self) -> Value {
        let changed = self.changed.iter().map(
            |(record, before, after)| json!({ "record": record, "from": before, "to": after }),
        );
        json!({
            "same": self.same,
            "changed": changed.collect::<Vec<_>>(),
            "unknown": self.unknown,
            "unread": self.unread,
        })
    }

    pub(super) fn print(&self) {
        for (record, before, after) in &self.changed {
            out::line(&format!(
                "{} -> {}: {}",
                word(before),
                word(after),
                record.view(Shape::Line, Paint::Plain)
            ));
            for because in &after.because {
                out::line(&format!("    because of {}", reason(because)));
            }
        }
        for (why, times) in &self.unknown {
            out::line(&format!("cannot be told ({times}): {why}"));
        }
        let unknown: u64 = self.unknown.values().sum();
        out::line(&format!(
            "{} recorded decisions: {} the same under both, {} decided otherwise, {unknown} cannot be told",
            self.same + self.changed.len() as u64 + unknown,
            self.same,
            self.changed.len(),
        ));
        if self.unread > 0 {
            out::line(&format!("{} lines are no records", self.unread));
        }
    }
}

fn word(verdict: &Verdict) -> String {
    match verdict.outcome {
        PolicyOutcome::Allow => "allow".to_owned(),
        PolicyOutcome::Ask(answer) => format!("ask:{}", answer.word()),
        PolicyOutcome::Deny => "deny".to_owned(),
    }
}

fn reason(because: &Because) -> String {
    if because.reason.is_empty() {
        because.policy.clone()
    } else {
        format!("{}: {}", because.policy, because.reason)
    }
}
