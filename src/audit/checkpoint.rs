//! Signed heads of a log. Kept elsewhere they show later that the log still has every record that it
//! had then: nothing that is done to the log's own disk reaches them.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::{DigestBuilder, KeyPair, PublicKey, Signature};

use super::record::Head;

/// A signed head, one line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Checkpoint {
    /// The version of the format.
    #[serde(rename = "checkpoint")]
    v: u64,
    /// When it was made, in milliseconds since the Unix epoch.
    at_ms: i64,
    /// The head.
    #[serde(flatten)]
    head: Head,
    /// The public key of the log that it is of.
    signer: PublicKey,
    /// Over all of the above.
    signature: Signature,
}

impl Checkpoint {
    const VERSION: u64 = 1;

    /// Signs a head.
    pub(crate) fn sign(head: Head, at_ms: i64, keys: &KeyPair) -> Self {
        let signer = keys.public();
        Self {
            v: Self::VERSION,
            at_ms,
            head,
            signer,
            signature: keys.sign(&message(head, at_ms, signer)),
        }
    }

    /// Reads a line.
    ///
    /// # Errors
    /// When it is no checkpoint of a known version, or its signature does not hold.
    pub fn parse(line: &str) -> Result<Self, CheckpointError> {
        let read: Self =
            serde_json::from_str(line).map_err(|error| CheckpointError(error.to_string()))?;
        if read.v != Self::VERSION {
            let known = Self::VERSION;
            return Err(CheckpointError(format!(
                "version {} is not known here (this version reads {known})",
                read.v
            )));
        }
        let message = message(read.head, read.at_ms, read.signer);
        if !read.signer.signed(&message, &read.signature) {
            return Err(CheckpointError("its signature does not hold".to_owned()));
        }
        Ok(read)
    }

    /// The head.
    #[must_use]
    pub fn head(&self) -> Head {
        self.head
    }

    /// When it was made.
    #[must_use]
    pub fn at_ms(&self) -> i64 {
        self.at_ms
    }

    /// Who signed it.
    #[must_use]
    pub fn signer(&self) -> PublicKey {
        self.signer
    }
}

/// The line.
impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// What is signed.
fn message(head: Head, at_ms: i64, signer: PublicKey) -> [u8; 32] {
    let mut builder = DigestBuilder::new("creance-audit-checkpoint/1");
    builder
        .field(at_ms.to_be_bytes())
        .field(head.seq.to_be_bytes())
        .field(head.digest.as_bytes())
        .field(signer.to_string());
    *builder.finish().as_bytes()
}

/// The line is no checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointError(String);

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for CheckpointError {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn a_changed_checkpoint_is_refused() {
        let keys = KeyPair::new(&[7; 32]);
        let head = Head {
            seq: 57,
            digest: Digest::of("57"),
        };
        let line = Checkpoint::sign(head, 9, &keys).to_string();
        let read = Checkpoint::parse(&line).unwrap();
        assert_eq!(
            (read.head(), read.at_ms(), read.signer()),
            (head, 9, keys.public())
        );
        let other = KeyPair::new(&[8; 32]).public().to_string();
        for (from, to) in [
            ("\"seq\":57", "\"seq\":56"),
            ("\"at_ms\":9", "\"at_ms\":8"),
            ("\"checkpoint\":1", "\"checkpoint\":2"),
            ("{", "{\"more\":1,"),
            (keys.public().to_string().as_str(), &other),
            (
                head.digest.to_string().as_str(),
                &Digest::of("x").to_string(),
            ),
        ] {
            let changed = line.replacen(from, to, 1);
            assert_ne!(changed, line);
            assert!(Checkpoint::parse(&changed).is_err(), "{changed}");
        }
    }
}
