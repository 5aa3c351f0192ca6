//! What keys prove of a log: that each record was written by who had its key, which was erased
//! then; and that the key file is the one that goes with its end.

use crate::digest::Digest;

use super::chain::{Mend, unseal};
use super::keys::{FORWARD_MAX, KeyState, RecordKey, StartKey};
use super::record::{Envelope, Head};
use super::report::FaultKind;

/// How far the keys at hand prove a log.
#[derive(Debug, Default)]
pub(super) struct Proof {
    given: Vec<StartKey>,
    /// The key of the next record, while one at hand fits.
    key: Option<RecordKey>,
    /// What the keys in use are known by, as far as records say or a key at hand fits.
    id: Option<Digest>,
    /// Whether the records are under keys that are not at hand.
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
        } else if self.key.is_none()
            && !self.ended
            && let Some((id, key)) = self.fitting(envelope.seq, sealed)
        {
            self.id = Some(id);
            self.key = Some(key);
        }
        if let Some(key) = self.key.take() {
            self.check_code((key, envelope.seq), sealed, &mut faults);
        }
        self.handed_over = envelope
            .note(Mend::KEYS_RENEWED)
            .and_then(|details| details.get("next")?.as_str()?.parse().ok());
        faults
    }

    fn check_code(
        &mut self,
        (key, seq): (RecordKey, u64),
        sealed: Option<(Digest, Digest)>,
        faults: &mut Vec<FaultKind>,
    ) {
        match self.take_forward(key, seq, faults) {
            Some(key) => {
                faults.extend(self.check(&key, sealed));
                self.key = Some(key.next());
            }
            None => {
                self.ended = true;
                faults.push(FaultKind::WrongCode);
            }
        }
        self.compare(faults);
    }

    /// What is wrong with the end of the log.
    pub(super) fn finish(&mut self, log: u64, faults: &mut Vec<FaultKind>) {
        let Some(state) = self.state.take() else {
            return;
        };
        if state.head.seq > log {
            let noted = state.head.seq;
            faults.push(FaultKind::CutOff { noted });
        } else if self.handed_over == Some(state.id) {
            // No record is under the new keys yet.
            let start = self.given.iter().find(|start| start.id() == state.id);
            let fits = start.is_some_and(|start| start.key() == state.key);
            self.end = fits.then_some(state.head);
        } else if self.key.is_some() || self.id.is_some_and(|id| id != state.id) {
            // Its place was not met, though the keys are at hand; or it is of other keys.
            faults.push(FaultKind::KeyFile);
        }
    }

    fn change_keys(&mut self, id: Digest, seq: u64, faults: &mut Vec<FaultKind>) {
        let start = self.given.iter().find(|start| start.id() == id);
        let before = self.key.is_some() || self.ended;
        if before && self.handed_over != Some(id) {
            faults.push(FaultKind::KeysChanged);
        }
        self.ended = start.is_none();
        self.id = Some(id);
        self.key = start.map(StartKey::key).filter(|key| key.seq() <= seq);
    }

    /// The given keys that a log which begins here, or lost its word on keys, is under: those whose
    /// code fits, or else the latest that could.
    fn fitting(&self, seq: u64, sealed: Option<(Digest, Digest)>) -> Option<(Digest, RecordKey)> {
        let keys = self.given.iter().rev().filter(|start| start.first() <= seq);
        let mut keys = keys.map(|start| (start.id(), start.key()));
        let fits = |(_, key): &(Digest, RecordKey)| {
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
            && Some(state.id) == self.id
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
        let id = self.id;
        let here = |state: &mut KeyState| state.key.seq() == key.seq() && Some(state.id) == id;
        if let Some(state) = self.state.take_if(here) {
            if state.key == *key {
                self.end = Some(state.head);
            } else {
                faults.push(FaultKind::KeyFile);
            }
        }
    }
}
