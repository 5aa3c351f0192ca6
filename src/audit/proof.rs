//! What keys prove of a log: that each record was written by who had its key, which was erased
//! then; and that the key file is the one that goes with its end.

use crate::digest::Digest;

use super::chain::unseal;
use super::keys::{FORWARD_MAX, KeyState, RecordKey, StartKey};
use super::record::{Envelope, Head};
use super::report::FaultKind;

/// How far the keys at hand prove a log.
#[derive(Debug, Default)]
pub(super) struct Proof {
    given: Vec<StartKey>,
    /// The key of the next record, while one at hand fits.
    key: Option<RecordKey>,
    /// Whether records were under keys that are not at hand any more.
    ended: bool,
    /// What the last record under the keys so far says of the next ones.
    handed_over: Option<Digest>,
    /// What the key file holds, until its place is reached.
    state: Option<KeyState>,
    /// Records whose code is right.
    pub(super) proven: u64,
    /// The head in the key file, when that goes with the records.
    pub(super) end: Option<Head>,
}

impl Proof {
    pub(super) fn add_keys(&mut self, keys: impl IntoIterator<Item = StartKey>) {
        self.given.extend(keys);
        self.given.sort_by_key(StartKey::first);
    }

    pub(super) fn set_state(&mut self, state: KeyState) {
        self.state = Some(state);
    }

    pub(super) fn has_keys(&self) -> bool {
        !self.given.is_empty()
    }

    /// Takes the next record.
    pub(super) fn record(&mut self, envelope: &Envelope, line: &[u8]) -> Vec<FaultKind> {
        let mut faults = Vec::new();
        let sealed = unseal(line);
        if let Some(id) = envelope.key {
            self.change_keys(id, envelope.seq, &mut faults);
        } else if self.key.is_none() && !self.ended {
            self.key = self.fitting(envelope.seq, sealed);
        }
        let Some(key) = self.key.take() else {
            return faults;
        };
        match self.take_forward(key, envelope.seq, &mut faults) {
            Some(key) => {
                faults.extend(self.check(&key, sealed));
                self.key = Some(key.next());
            }
            None => {
                self.ended = true;
                faults.push(FaultKind::WrongCode);
            }
        }
        self.compare(&mut faults);
        self.handed_over = envelope
            .note(super::chain::Mend::KEYS_RENEWED)
            .and_then(|details| details.get("next")?.as_str()?.parse().ok());
        faults
    }

    /// What is wrong with the end of the log.
    pub(super) fn finish(&mut self, log: u64, faults: &mut Vec<FaultKind>) {
        let Some(state) = self.state.take() else {
            return;
        };
        if state.head.seq > log {
            let noted = state.head.seq;
            faults.push(FaultKind::CutOff { noted });
        } else if self.has_keys() && self.proven > 0 {
            // Its place was not met under keys at hand.
            faults.push(FaultKind::KeyFile);
        }
    }

    fn change_keys(&mut self, id: Digest, seq: u64, faults: &mut Vec<FaultKind>) {
        let start = self.given.iter().find(|start| start.id() == id);
        let before = self.key.is_some() || self.ended;
        if before && self.handed_over != Some(id) {
            faults.push(FaultKind::KeysChanged);
        }
        self.ended = start.is_none() && (before || self.has_keys());
        self.key = start.map(StartKey::key).filter(|key| key.seq() <= seq);
    }

    /// The given keys that a log which begins here, or lost its word on keys, is under: those whose
    /// code fits, or else the latest that could.
    fn fitting(&self, seq: u64, sealed: Option<(Digest, Digest)>) -> Option<RecordKey> {
        let keys = self.given.iter().rev().filter(|start| start.first() <= seq);
        let mut keys = keys.map(StartKey::key);
        let fits = |key: &RecordKey| {
            let key = key.clone().forward(seq);
            key.zip(sealed)
                .is_some_and(|(key, (body, code))| key.code(body) == code)
        };
        let latest = keys.clone().next();
        keys.find(fits).or(latest)
    }

    /// Takes the key forward to a record; on the way it is compared with the key file.
    fn take_forward(
        &mut self,
        mut key: RecordKey,
        seq: u64,
        faults: &mut Vec<FaultKind>,
    ) -> Option<RecordKey> {
        // Logs are long: from one far key to a far record in several steps.
        while seq.saturating_sub(key.seq()) > FORWARD_MAX {
            key = key.clone().forward(key.seq() + FORWARD_MAX)?;
        }
        if let Some(state) = &self.state
            && (key.seq()..seq).contains(&state.key.seq())
        {
            key = key.forward(state.key.seq())?;
            self.key = Some(key.clone());
            self.compare(faults);
        }
        key.forward(seq)
    }

    fn check(&mut self, key: &RecordKey, sealed: Option<(Digest, Digest)>) -> Option<FaultKind> {
        match sealed {
            None => Some(FaultKind::NoCode),
            Some((body, code)) if key.code(body) == code => {
                self.proven += 1;
                None
            }
            Some(_) => Some(FaultKind::WrongCode),
        }
    }

    /// Compares with the key file, when its place is reached.
    fn compare(&mut self, faults: &mut Vec<FaultKind>) {
        let Some(key) = &self.key else {
            return;
        };
        if let Some(state) = self.state.take_if(|state| state.key.seq() == key.seq()) {
            if state.key == *key {
                self.end = Some(state.head);
            } else {
                faults.push(FaultKind::KeyFile);
            }
        }
    }
}
