//! Checks a log line by line: finds what was edited, deleted, moved, inserted or repeated, accepts
//! losses that a writer noted when they happened, and looks for effects without an outcome.
//! What it cannot find: an end that was cut off, unless a [`Head`] noted elsewhere is given.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::digest::Digest;

use super::chain::{Continued, Mend, TornLine};
use super::event::OutcomeKind;
use super::record::{Envelope, Head};
use super::report::{Fault, FaultKind, Loss, LossKind, NoOutcome, Report};

/// Checks all lines of a log; each with its line end, as far as it has one.
#[must_use]
pub fn verify<L: AsRef<[u8]>>(lines: impl IntoIterator<Item = L>) -> Report {
    let mut verifier = Verifier::new();
    for line in lines {
        verifier.line(line.as_ref());
    }
    verifier.finish()
}

/// Checks a log whose lines come one by one.
#[derive(Debug)]
pub struct Verifier {
    report: Report,
    noted: Option<Head>,
    /// Digest of the line above, whatever it is.
    above: Option<Digest>,
    /// Lines since the last record that are no record.
    junk: Junk,
    first_seq: u64,
    lost: Vec<(u64, u64)>,
    waiting: BTreeMap<u64, NoOutcome>,
    ended_runs: BTreeSet<String>,
    at_ms: i64,
}

#[derive(Debug, Default)]
struct Junk {
    first_line: u64,
    lines: u64,
    bytes: u64,
    /// Why they are no records, as far as they will be listed.
    whys: Vec<String>,
}

impl Default for Verifier {
    fn default() -> Self {
        Self::new()
    }
}

impl Verifier {
    /// Starts at the first line of a log.
    #[must_use]
    pub fn new() -> Self {
        Self {
            report: Report {
                ok: true,
                lines: 0,
                records: 0,
                head: Head::empty(),
                continues: None,
                faults: Vec::new(),
                losses: Vec::new(),
                no_outcome: Vec::new(),
                unlisted: 0,
                clock_set_back: 0,
            },
            noted: None,
            above: None,
            junk: Junk::default(),
            first_seq: 1,
            lost: Vec::new(),
            waiting: BTreeMap::new(),
            ended_runs: BTreeSet::new(),
            at_ms: i64::MIN,
        }
    }

    /// Compares with a head that was noted elsewhere: finds a cut end too.
    #[must_use]
    pub fn with_noted(mut self, head: Head) -> Self {
        self.noted = Some(head);
        self
    }

    /// Takes the next line, with its line end as far as it has one.
    pub fn line(&mut self, line: &[u8]) {
        self.report.lines += 1;
        let (body, ended) = match line.strip_suffix(b"\n") {
            Some(body) => (body, true),
            None => (line, false),
        };
        let digest = Digest::of(body);
        match Envelope::parse(body) {
            Ok(envelope) => self.record(&envelope, digest),
            Err(_) if !ended => {
                self.release_junk();
                self.loss(LossKind::OpenEnd {
                    bytes: body.len() as u64,
                });
            }
            Err(why) => self.junk.add(self.report.lines, body, why),
        }
        self.above = Some(digest);
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.release_junk();
        if let Some(noted) = self.noted
            && noted.seq > self.report.head.seq
        {
            self.fault(None, FaultKind::CutOff { noted: noted.seq });
        }
        for (_, mut open) in std::mem::take(&mut self.waiting) {
            open.run_ended = self.ended_runs.contains(&open.run);
            if self.report.no_outcome.len() < Report::LISTED_MAX {
                self.report.no_outcome.push(open);
            } else {
                self.report.unlisted += 1;
            }
        }
        self.report
    }

    fn record(&mut self, envelope: &Envelope, digest: Digest) {
        self.check_junk(envelope);
        if let Some(kind) = self.broken_link(envelope) {
            self.fault(Some(envelope.seq), kind);
        }
        if self.report.records == 0 {
            self.first_seq = envelope.seq;
        }
        self.report.records += 1;
        self.report.head = Head {
            seq: envelope.seq,
            digest,
        };
        if self
            .noted
            .is_some_and(|noted| noted.seq == envelope.seq && noted.digest != digest)
        {
            self.fault(Some(envelope.seq), FaultKind::NotAsNoted);
        }
        if envelope.at_ms < self.at_ms {
            self.report.clock_set_back += 1;
        }
        self.at_ms = envelope.at_ms;
        self.effects(envelope);
    }

    /// Lines that are no record are a loss when the note below them was written about exactly
    /// them, else faults.
    fn check_junk(&mut self, envelope: &Envelope) {
        let torn = note::<TornLine>(envelope, Mend::TORN_LINE);
        match torn {
            Some(torn) if torn.lost_bytes == self.junk.bytes && torn.after == self.report.head => {
                let junk = std::mem::take(&mut self.junk);
                if junk.lines > 0 {
                    self.loss_at(junk.first_line, LossKind::TornLine { bytes: junk.bytes });
                }
            }
            Some(_) => {
                self.release_junk();
                self.fault(Some(envelope.seq), FaultKind::FalseNote);
            }
            None => self.release_junk(),
        }
    }

    /// Why this record does not follow the line above it.
    fn broken_link(&mut self, envelope: &Envelope) -> Option<FaultKind> {
        let continued = note::<Continued>(envelope, Mend::CONTINUED);
        let Some(above) = self.above else {
            return self.broken_start(envelope, continued);
        };
        let expected = self.report.head.seq.saturating_add(1);
        if envelope.seq < expected {
            return Some(FaultKind::OutOfOrder { expected });
        }
        if envelope.prev != above && envelope.seq == expected {
            return Some(FaultKind::LineAboveChanged);
        }
        let noted = continued.filter(|it| it.after.seq.checked_add(1) == Some(envelope.seq));
        match noted {
            Some(it) if envelope.prev == above => self.records_lost(it),
            _ if envelope.seq > expected => return Some(FaultKind::Missing { expected }),
            _ => {}
        }
        None
    }

    fn broken_start(
        &mut self,
        envelope: &Envelope,
        continued: Option<Continued>,
    ) -> Option<FaultKind> {
        let empty = Head::empty();
        if let Some(it) = continued
            && it.after.seq.checked_add(1) == Some(envelope.seq)
            && envelope.prev == it.after.digest
        {
            self.report.continues = Some(it.after);
            return None;
        }
        let first = envelope.seq == 1 && envelope.prev == empty.digest;
        (!first).then_some(FaultKind::NoStart)
    }

    fn records_lost(&mut self, continued: Continued) {
        let after = self.report.head.seq;
        let known = continued.after.seq;
        if known > after {
            self.lost.push((after, known));
            let why = continued.why;
            self.loss(LossKind::Records { after, known, why });
        }
    }

    fn effects(&mut self, envelope: &Envelope) {
        match envelope.event.as_str() {
            "decision" if envelope.outcome == Some(OutcomeKind::Allow) => {
                let open = NoOutcome {
                    line: self.report.lines,
                    seq: envelope.seq,
                    action: envelope.action.clone().unwrap_or_default(),
                    run: envelope.run.clone(),
                    run_ended: false,
                };
                self.waiting.insert(envelope.seq, open);
            }
            "outcome" => {
                let of = envelope.of.unwrap_or_default();
                let elsewhere = of < self.first_seq
                    || self
                        .lost
                        .iter()
                        .any(|(from, to)| (from + 1..=*to).contains(&of));
                if self.waiting.remove(&of).is_none() && !elsewhere {
                    self.fault(Some(envelope.seq), FaultKind::OutcomeOfNothing { of });
                }
            }
            "note" if envelope.name.as_deref() == Some("run-stop") => {
                self.ended_runs.insert(envelope.run.clone());
            }
            "note" if envelope.name.as_deref() == Some(Mend::SYNC_FAILED) => {
                self.loss(LossKind::NotSynced);
            }
            _ => {}
        }
    }

    fn release_junk(&mut self) {
        let junk = std::mem::take(&mut self.junk);
        self.report.unlisted += junk.lines - junk.whys.len() as u64;
        for (line, why) in (junk.first_line..).zip(junk.whys) {
            self.fault_at(line, None, FaultKind::Unreadable { why });
        }
    }

    fn fault(&mut self, seq: Option<u64>, kind: FaultKind) {
        self.fault_at(self.report.lines, seq, kind);
    }

    fn fault_at(&mut self, line: u64, seq: Option<u64>, kind: FaultKind) {
        self.report.ok = false;
        if self.report.faults.len() < Report::LISTED_MAX {
            self.report.faults.push(Fault { line, seq, kind });
        } else {
            self.report.unlisted += 1;
        }
    }

    fn loss(&mut self, kind: LossKind) {
        self.loss_at(self.report.lines, kind);
    }

    fn loss_at(&mut self, line: u64, kind: LossKind) {
        if self.report.losses.len() < Report::LISTED_MAX {
            self.report.losses.push(Loss { line, kind });
        } else {
            self.report.unlisted += 1;
        }
    }
}

impl Junk {
    fn add(&mut self, line: u64, body: &[u8], why: String) {
        if self.lines == 0 {
            self.first_line = line;
        } else {
            // The line end between two such lines.
            self.bytes += 1;
        }
        self.lines += 1;
        self.bytes += body.len() as u64;
        if self.whys.len() < Report::LISTED_MAX {
            self.whys.push(why);
        }
    }
}

fn note<T: for<'de> Deserialize<'de>>(envelope: &Envelope, name: &str) -> Option<T> {
    envelope
        .note(name)
        .and_then(|details| T::deserialize(details).ok())
}

#[cfg(test)]
#[path = "tests/verify.rs"]
mod tests;
