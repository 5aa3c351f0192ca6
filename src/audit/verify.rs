//! Checks a log line by line: finds what was edited, deleted, moved, inserted or repeated, accepts
//! losses that a writer noted when they happened, and looks for effects without an outcome.
//! What keys prove is in `proof`. Without keys and without a [`Head`] noted elsewhere it cannot find
//! an end that was cut off, nor a log that was written anew as a whole.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::digest::{Digest, PublicKey};

use super::chain::{Continued, Mend, Pruned, TornLine};
use super::checkpoint::Checkpoint;
use super::event::OutcomeKind;
use super::keys::{KeyState, StartKey};
use super::proof::Proof;
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
    pub(super) report: Report,
    pub(super) scope: Scope,
    /// Digests of records that were noted elsewhere.
    noted: BTreeMap<u64, Digest>,
    proof: Proof,
    /// The file that is read, and how many lines of it were.
    file: Option<String>,
    line: u64,
    pub(super) at_start: bool,
    /// Up to where deleting older files is on record.
    pruned: Option<Head>,
    /// Digest of the line above, whatever it is.
    pub(super) above: Option<Digest>,
    /// Lines since the last record that are no record.
    junk: Junk,
    first_seq: u64,
    pub(super) lost: Vec<(u64, u64)>,
    waiting: BTreeMap<u64, NoOutcome>,
    ended_runs: BTreeSet<String>,
    at_ms: i64,
}

/// What is checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// One file, whatever stood before it.
    #[default]
    File,
    /// All files of a log: the first one must begin it.
    Log,
    /// All files of a log where it is written: the key file must be there, too.
    Home,
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
            report: Report::new(),
            scope: Scope::File,
            noted: BTreeMap::new(),
            proof: Proof::default(),
            file: None,
            line: 0,
            at_start: true,
            pruned: None,
            above: None,
            junk: Junk::default(),
            first_seq: 1,
            lost: Vec::new(),
            waiting: BTreeMap::new(),
            ended_runs: BTreeSet::new(),
            at_ms: i64::MIN,
        }
    }

    /// Says what is checked.
    #[must_use]
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }

    /// Compares with a head that was noted elsewhere: finds a cut end too. May be called again.
    #[must_use]
    pub fn with_noted(mut self, head: Head) -> Self {
        self.note(head);
        self
    }

    fn note(&mut self, head: Head) {
        let before = self.noted.insert(head.seq, head.digest);
        if before.is_some_and(|before| before != head.digest) {
            self.fault(Some(head.seq), FaultKind::NotAsNoted);
        }
    }

    /// Compares with checkpoints that were kept elsewhere; those of anybody but `signer` are not
    /// believed.
    #[must_use]
    pub fn with_checkpoints(mut self, kept: &[Checkpoint], signer: Option<PublicKey>) -> Self {
        for checkpoint in kept {
            if Some(checkpoint.signer()) == signer {
                self.note(checkpoint.head());
                continue;
            }
            let seq = Some(checkpoint.head().seq);
            let why = match signer {
                Some(_) => format!("it is signed by {}", checkpoint.signer()),
                None => format!(
                    "it is signed by {}, and it is not known who signs for this log: give \
                     `--signer`",
                    checkpoint.signer()
                ),
            };
            self.fault(seq, FaultKind::Checkpoint { why });
        }
        self
    }

    /// Checks the codes of records with these starting keys.
    #[must_use]
    pub fn with_keys(mut self, keys: impl IntoIterator<Item = StartKey>) -> Self {
        self.proof.add_keys(keys);
        self
    }

    /// Compares the end with what the key file held before the log was read.
    pub(crate) fn with_state(mut self, state: Option<KeyState>) -> Self {
        self.report.key_file = state.is_some();
        if let Some(state) = state {
            self.proof.set_state(state);
        }
        self
    }

    /// Says that the lines that follow are those of another file of the log.
    pub fn file(&mut self, name: impl Into<String>) {
        self.release_junk();
        self.file = Some(name.into());
        self.report.files += 1;
        self.line = 0;
        self.at_start = true;
        self.above = None;
    }

    /// Takes the next line, with its line end as far as it has one.
    pub fn line(&mut self, line: &[u8]) {
        self.report.lines += 1;
        self.line += 1;
        let (body, ended) = match line.strip_suffix(b"\n") {
            Some(body) => (body, true),
            None => (line, false),
        };
        let digest = Digest::of(body);
        match Envelope::parse(body) {
            Ok(envelope) => self.record(&envelope, digest, body),
            Err(_) if !ended => {
                self.release_junk();
                self.loss(LossKind::OpenEnd {
                    bytes: body.len() as u64,
                });
            }
            Err(why) => self.junk.add(self.line, body, why),
        }
        self.above = Some(digest);
    }

    /// What was found.
    #[must_use]
    pub fn finish(mut self) -> Report {
        self.release_junk();
        self.check_end();
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

    /// Whether the log begins and ends where it should.
    fn check_end(&mut self) {
        let head = self.report.head;
        let mut faults = Vec::new();
        let last = self.noted.last_key_value().map(|(seq, _)| *seq);
        if let Some(noted) = last.filter(|noted| *noted > head.seq) {
            faults.push(FaultKind::CutOff { noted });
        }
        self.proof.finish(head.seq, &mut faults);
        self.report.proven = self.proof.proven;
        let elsewhere = self.noted.get(&head.seq) == Some(&head.digest);
        self.report.end_proven = faults.is_empty() && (self.proof.end == Some(head) || elsewhere);
        if self.scope == Scope::Home && !self.report.key_file && self.proof.has_keys() {
            faults.push(FaultKind::NoKeyFile);
        }
        faults.into_iter().for_each(|kind| self.fault(None, kind));
        if self.scope != Scope::File
            && let Some(before) = self.report.rotated
            && self.pruned != Some(before)
        {
            let through = before.seq;
            self.fault(None, FaultKind::FilesMissing { through });
        }
    }

    fn record(&mut self, envelope: &Envelope, digest: Digest, body: &[u8]) {
        self.check_junk(envelope);
        if let Some(kind) = self.broken_link(envelope) {
            self.fault(Some(envelope.seq), kind);
        }
        for kind in self.proof.record(envelope, body) {
            self.fault(Some(envelope.seq), kind);
        }
        if self.report.records == 0 {
            self.first_seq = envelope.seq;
        }
        self.at_start = false;
        self.report.records += 1;
        self.report.head = Head {
            seq: envelope.seq,
            digest,
        };
        let noted = self.noted.get(&envelope.seq);
        if noted.is_some_and(|noted| *noted != digest) {
            self.fault(Some(envelope.seq), FaultKind::NotAsNoted);
        }
        if envelope.at_ms < self.at_ms {
            self.report.clock_set_back += 1;
        }
        self.at_ms = envelope.at_ms;
        if let Some(pruned) = note::<Pruned>(envelope, Mend::PRUNED) {
            self.pruned = Some(pruned.through);
        }
        self.effects(envelope);
    }

    /// Lines that are no record are a loss when the note below them was written about exactly
    /// them, else faults.
    fn check_junk(&mut self, envelope: &Envelope) {
        let torn = note::<TornLine>(envelope, Mend::TORN_LINE)
            .or_else(|| note::<Continued>(envelope, Mend::CONTINUED)?.torn);
        match torn {
            Some(torn) if torn.lost_bytes == self.junk.bytes && torn.after == self.after() => {
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

    /// The last record of the file.
    fn after(&self) -> Head {
        if self.at_start {
            Head::empty()
        } else {
            self.report.head
        }
    }

    fn effects(&mut self, envelope: &Envelope) {
        match envelope.event.as_str() {
            "decision" if envelope.outcome == Some(OutcomeKind::Allow) => {
                let open = NoOutcome {
                    file: self.file.clone(),
                    line: self.line,
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
        self.fault_at(self.line, seq, kind);
    }

    fn fault_at(&mut self, line: u64, seq: Option<u64>, kind: FaultKind) {
        self.report.ok = false;
        if self.report.faults.len() < Report::LISTED_MAX {
            let file = self.file.clone();
            self.report.faults.push(Fault {
                file,
                line,
                seq,
                kind,
            });
        } else {
            self.report.unlisted += 1;
        }
    }

    pub(super) fn loss(&mut self, kind: LossKind) {
        self.loss_at(self.line, kind);
    }

    fn loss_at(&mut self, line: u64, kind: LossKind) {
        if self.report.losses.len() < Report::LISTED_MAX {
            let file = self.file.clone();
            self.report.losses.push(Loss { file, line, kind });
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

pub(super) fn note<T: for<'de> Deserialize<'de>>(envelope: &Envelope, name: &str) -> Option<T> {
    envelope
        .note(name)
        .and_then(|details| T::deserialize(details).ok())
}

#[cfg(test)]
#[path = "tests/verify.rs"]
mod tests;
