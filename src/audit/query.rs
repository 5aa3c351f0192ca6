//! Picks records: by time, action, server, principal, outcome and run, the last few of them.

use std::collections::{BTreeSet, VecDeque};

use super::event::{EventKind, OutcomeKind};
use super::record::Record;

/// Which records are wanted. Everything that is set must hold. The outcome of an effect goes with
/// its decision.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Not before this time, in milliseconds since the Unix epoch.
    pub since_ms: Option<i64>,
    /// Before this time, in milliseconds since the Unix epoch.
    pub until_ms: Option<i64>,
    /// The Cedar action, `tool.call`; `tool.*` for all of a kind.
    pub action: Option<String>,
    /// The server, `user/files` or `files`.
    pub server: Option<String>,
    /// Who asked, `agent/claude-code` or `claude-code`.
    pub principal: Option<String>,
    /// `allow` or `deny`.
    pub outcome: Option<OutcomeKind>,
    /// The run, or the start of its id.
    pub run: Option<String>,
    /// Only the last so many.
    pub last: Option<usize>,
}

impl Filter {
    /// The records that are wanted, in their order.
    pub fn pick(&self, records: impl IntoIterator<Item = Record>) -> Vec<Record> {
        let mut picked = VecDeque::new();
        let mut picker = self.picker();
        for record in records {
            if !picker.wants(&record) {
                continue;
            }
            picked.push_back(record);
            if self.last.is_some_and(|last| picked.len() > last) {
                picked.pop_front();
            }
        }
        picked.into()
    }

    /// Picks records one by one; `last` is not looked at.
    #[must_use]
    pub fn picker(&self) -> Picker<'_> {
        Picker {
            filter: self,
            decisions: BTreeSet::new(),
        }
    }

    fn wants(&self, record: &Record, decisions: &BTreeSet<u64>) -> bool {
        let event = &record.event;
        let in_time = self.since_ms.is_none_or(|since| event.at_ms >= since)
            && self.until_ms.is_none_or(|until| event.at_ms < until);
        let in_run = self
            .run
            .as_ref()
            .is_none_or(|run| event.run.starts_with(run));
        in_time && in_run && self.wants_kind(&event.kind, decisions)
    }

    fn wants_kind(&self, kind: &EventKind, decisions: &BTreeSet<u64>) -> bool {
        match kind {
            EventKind::Decision {
                action,
                resource,
                principal,
                outcome,
                ..
            } => {
                self.action
                    .as_ref()
                    .is_none_or(|want| is_action(action, want))
                    && self.outcome.is_none_or(|want| want == *outcome)
                    && self
                        .principal
                        .as_ref()
                        .is_none_or(|want| is_principal(principal, want))
                    && self.server.as_ref().is_none_or(|server| {
                        is_server(resource, server) || is_server(principal, server)
                    })
            }
            EventKind::Outcome(outcome) => {
                !self.about_decisions() || decisions.contains(&outcome.of)
            }
            EventKind::Note { details, .. } => {
                let of_server = self.server.as_ref().is_none_or(|server| {
                    let named = details.get("server").and_then(|name| name.as_str());
                    named.is_some_and(|name| is_server(name, server))
                });
                self.action.is_none()
                    && self.outcome.is_none()
                    && self.principal.is_none()
                    && of_server
            }
        }
    }

    fn about_decisions(&self) -> bool {
        self.action.is_some()
            || self.server.is_some()
            || self.outcome.is_some()
            || self.principal.is_some()
    }
}

/// Picks records one by one: an outcome goes with the decision that was picked before it.
#[derive(Clone, Debug)]
pub struct Picker<'a> {
    filter: &'a Filter,
    decisions: BTreeSet<u64>,
}

impl Picker<'_> {
    /// Whether this record is wanted.
    pub fn wants(&mut self, record: &Record) -> bool {
        let wanted = self.filter.wants(record, &self.decisions);
        if wanted && matches!(record.event.kind, EventKind::Decision { .. }) {
            self.decisions.insert(record.seq);
        }
        wanted
    }
}

/// Whether this is who is meant, with or without the kind.
fn is_principal(principal: &str, want: &str) -> bool {
    principal == want
        || principal
            .split_once('/')
            .is_some_and(|(_, name)| name == want)
}

fn is_action(action: &str, want: &str) -> bool {
    match want.strip_suffix(".*") {
        Some(kind) => action
            .split_once('.')
            .is_some_and(|(start, _)| start == kind),
        None => action == want,
    }
}

/// Whether a resource (`user/files/read`) belongs to a server, named with or without its source.
fn is_server(resource: &str, server: &str) -> bool {
    let owns = |resource: &str| {
        resource
            .strip_prefix(server)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    owns(resource) || resource.split_once('/').is_some_and(|(_, rest)| owns(rest))
}
