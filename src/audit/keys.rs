//! The keys of the chain. Each record has a code made with a key of its own; the next key is
//! derived from it, and it is erased once its record is written. Who reads the disk later finds
//! only the key of records to come, and can change no earlier one.
//!
//! The construction is the forward-secure MAC of Bellare and Yee ("Forward-Security in Private-Key
//! Cryptography", CT-RSA 2003), with HMAC-SHA256 as its pseudorandom function and one period a
//! record, over the hash chain of Schneier and Kelsey ("Secure Audit Logs to Support Computer
//! Forensics", 1999). The key that is kept is also what a cut end is known by (Ma and Tsudik, "A New
//! Approach to Secure Logging", 2009): no earlier one can be put back in its place.

use std::fmt;
use std::str::FromStr;

use crate::digest::{Digest, Running, Secret};

use super::record::Head;

/// How many records a key is taken forward at once: more were never lost by a crash, and a number
/// that somebody wrote into the log must not keep a writer busy for ever.
pub(crate) const FORWARD_MAX: u64 = 1 << 24;

/// The key of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RecordKey {
    /// The number of the record.
    seq: u64,
    secret: Secret,
}

impl RecordKey {
    /// The number of the record that it is for.
    pub(crate) fn seq(&self) -> u64 {
        self.seq
    }

    /// The code of a record with this digest.
    pub(crate) fn code(&self, body: Digest) -> Digest {
        self.secret.code("creance audit record 1:", body.as_bytes())
    }

    /// The key of a later record; `None` when it is an earlier one, or far off.
    pub(crate) fn forward(mut self, seq: u64) -> Option<Self> {
        if seq.checked_sub(self.seq)? > FORWARD_MAX {
            return None;
        }
        while self.seq < seq {
            self = self.next();
        }
        Some(self)
    }

    /// The key of the next record.
    pub(crate) fn next(self) -> Self {
        Self {
            // Keys end with the numbers: `link` refuses a record behind the last one.
            seq: self.seq.saturating_add(1),
            secret: self.secret.derive("creance audit next key 1"),
        }
    }
}

/// The first key of a chain of keys: whoever has it can check all records under them, and make
/// them. As text it is `creance-audit-key-1:NUMBER:DIGITS`, with the number of the first record.
#[derive(Clone, PartialEq, Eq)]
pub struct StartKey(RecordKey);

impl StartKey {
    /// Keys from the record `first` on.
    pub(crate) fn new(first: u64, random: [u8; 32]) -> Self {
        Self(RecordKey {
            seq: first,
            secret: Secret::new(random),
        })
    }

    /// What these keys are known by; gives none of them away. The first record under them holds it.
    #[must_use]
    pub fn id(&self) -> Digest {
        let number = self.0.seq.to_be_bytes();
        self.0.secret.code("creance audit key id 1:", &number)
    }

    /// The number of the first record under these keys.
    #[must_use]
    pub fn first(&self) -> u64 {
        self.0.seq
    }

    pub(crate) fn key(&self) -> RecordKey {
        self.0.clone()
    }

    /// The secret as text, to be kept away from the log.
    #[must_use]
    pub fn reveal(&self) -> String {
        let mut text = format!("{PREFIX}{}:", self.0.seq);
        for byte in self.0.secret.reveal() {
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }
}

const PREFIX: &str = "creance-audit-key-1:";

impl fmt::Debug for StartKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StartKey({})", self.id().short())
    }
}

/// The text is no starting key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartKeyError;

impl fmt::Display for StartKeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "a starting key is a line `{PREFIX}NUMBER:` with 64 hexadecimal digits, as `creance \
             audit key take` printed it"
        )
    }
}

impl std::error::Error for StartKeyError {}

impl FromStr for StartKey {
    type Err = StartKeyError;

    fn from_str(text: &str) -> Result<Self, StartKeyError> {
        let rest = text.trim().strip_prefix(PREFIX).ok_or(StartKeyError)?;
        let (first, digits) = rest.split_once(':').ok_or(StartKeyError)?;
        let first: u64 = first.parse().map_err(|_| StartKeyError)?;
        let bytes: Digest = digits.parse().map_err(|_| StartKeyError)?;
        if first == 0 {
            return Err(StartKeyError);
        }
        Ok(Self::new(first, *bytes.as_bytes()))
    }
}

/// What a writer keeps beside the log: the head that the log had when this was written, and the key
/// of the next record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyState {
    /// The number of the first record under these keys.
    pub(crate) first: u64,
    /// What they are known by.
    pub(crate) id: Digest,
    /// The last record.
    pub(crate) head: Head,
    /// Whether the next record begins a new file.
    pub(crate) rotated: bool,
    /// The key of the next record.
    pub(crate) key: RecordKey,
}

const MAGIC: &[u8; 16] = b"creance-audit-k1";

impl KeyState {
    /// How many bytes it takes.
    pub(crate) const SIZE: usize = 16 + 8 + 32 + 8 + 32 + 1 + 32 + 32;

    /// The state before the first record under new keys.
    pub(crate) fn begin(start: &StartKey, head: Head) -> Self {
        Self {
            first: start.first(),
            id: start.id(),
            head,
            rotated: false,
            key: start.key(),
        }
    }

    /// Whether no record was written under these keys yet: the first one names them.
    pub(crate) fn is_new(&self) -> bool {
        self.head.seq < self.first
    }

    /// The state when `head` is the last record; `None` when that is before this one, or far off.
    pub(crate) fn forward(self, head: Head) -> Option<Self> {
        let key = self.key.forward(head.seq.checked_add(1)?)?;
        Some(Self { head, key, ..self })
    }

    /// Which of two is the later one: keys that began later, then the later record.
    pub(crate) fn age(&self) -> (u64, u64) {
        (self.first, self.head.seq)
    }

    pub(crate) fn encode(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        let parts: [&[u8]; 7] = [
            MAGIC,
            &self.first.to_be_bytes(),
            self.id.as_bytes(),
            &self.head.seq.to_be_bytes(),
            self.head.digest.as_bytes(),
            &[u8::from(self.rotated)],
            self.key.secret.reveal(),
        ];
        let mut check = Running::default();
        parts.iter().for_each(|part| check.add(part));
        let check = check.now();
        let all = parts.into_iter().chain([check.as_bytes().as_slice()]);
        for (to, from) in bytes.iter_mut().zip(all.flatten()) {
            *to = *from;
        }
        bytes
    }

    /// Reads it back; `None` when it is not whole.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::SIZE] = bytes.try_into().ok()?;
        let (body, check) = bytes.split_last_chunk::<32>()?;
        let mut digest = Running::default();
        digest.add(body);
        if digest.now().as_bytes() != check {
            return None;
        }
        let rest = body.strip_prefix(MAGIC)?;
        let (first, rest) = rest.split_first_chunk::<8>()?;
        let (id, rest) = rest.split_first_chunk::<32>()?;
        let (seq, rest) = rest.split_first_chunk::<8>()?;
        let (head, rest) = rest.split_first_chunk::<32>()?;
        let (rotated, rest) = rest.split_first()?;
        let secret: [u8; 32] = rest.try_into().ok()?;
        let seq = u64::from_be_bytes(*seq);
        Some(Self {
            first: u64::from_be_bytes(*first),
            id: Digest::from_bytes(*id),
            head: Head {
                seq,
                digest: Digest::from_bytes(*head),
            },
            rotated: *rotated != 0,
            key: RecordKey {
                seq: seq.checked_add(1)?,
                secret: Secret::new(secret),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_go_forward_only() {
        let start = StartKey::new(5, [7; 32]);
        let key = start.key();
        let later = key.clone().forward(8).unwrap();
        assert_eq!(later.seq(), 8);
        assert_eq!(key.clone().next().next().next(), later);
        assert_eq!(later.clone().forward(8), Some(later.clone()));
        assert_eq!(later.clone().forward(7), None);
        assert_eq!(later.forward(u64::MAX), None);
        let body = Digest::of("x");
        assert_ne!(key.code(body), key.clone().next().code(body));
    }

    #[test]
    fn starting_keys_read_back() {
        let start = StartKey::new(58, [0xa7; 32]);
        assert_eq!(start.reveal().parse(), Ok(start.clone()));
        assert!(!format!("{start:?}").contains("a7a7"));
        assert_ne!(start.id(), StartKey::new(59, [0xa7; 32]).id());
        for bad in [
            "",
            "creance-audit-key-1:1:00",
            &start.reveal().replace(":58:", ":0:"),
            &start.reveal().replace(":58:", "::"),
            &start.reveal().replace("key-1", "key-2"),
        ] {
            assert_eq!(bad.parse::<StartKey>(), Err(StartKeyError), "{bad}");
        }
    }

    #[test]
    fn states_read_back_whole_or_not_at_all() {
        let start = StartKey::new(1, [7; 32]);
        let begin = KeyState::begin(&start, Head::empty());
        assert!(begin.is_new());
        let head = Head {
            seq: 3,
            digest: Digest::of("3"),
        };
        let state = begin.clone().forward(head).unwrap();
        assert!(!state.is_new());
        assert_eq!(state.key.seq(), 4);
        assert_eq!(state.clone().forward(Head::empty()), None);
        for state in [begin, state] {
            let bytes = state.encode();
            assert_eq!(KeyState::decode(&bytes), Some(state));
            assert_eq!(KeyState::decode(&bytes[1..]), None);
            for at in 0..bytes.len() {
                let mut broken = bytes;
                broken[at] ^= 1;
                assert_eq!(KeyState::decode(&broken), None, "{at}");
            }
        }
    }
}
