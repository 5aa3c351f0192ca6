//! SHA-256 digests and the one way to hash several fields so that no two lists of fields collide.
//! What is hashed (a server, a tool, a policy set) is said where the digest is made. Beside them
//! what needs a key: codes and signatures.

mod secret;
mod signature;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest as _, Sha256};

pub(crate) use secret::Secret;
pub(crate) use signature::KeyPair;
pub use signature::{PublicKey, Signature, SignatureError};

/// A SHA-256 digest. Displays as 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The digest of some bytes.
    #[must_use]
    pub fn of(bytes: impl AsRef<[u8]>) -> Self {
        Self(Sha256::digest(bytes.as_ref()).into())
    }

    /// The digest of a list of fields, each framed by its length, headed by what kind of thing it is.
    ///
    /// Framing makes `["ab", "c"]` and `["a", "bc"]` differ.
    #[must_use]
    pub fn of_fields<T: AsRef<[u8]>>(kind: &str, fields: impl IntoIterator<Item = T>) -> Self {
        let mut builder = DigestBuilder::new(kind);
        for field in fields {
            builder.field(field);
        }
        builder.finish()
    }

    /// The digest that these bytes are.
    pub(crate) fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The raw bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The first twelve hexadecimal digits, for people.
    #[must_use]
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

/// Hashes fields one after the other, each framed by its length.
#[derive(Clone, Debug)]
pub struct DigestBuilder(Sha256);

impl DigestBuilder {
    /// Starts a digest of one kind of thing (for example `server-definition/1`).
    #[must_use]
    pub fn new(kind: &str) -> Self {
        let mut builder = Self(Sha256::new());
        builder.field(kind);
        builder
    }

    /// Adds one field.
    pub fn field(&mut self, field: impl AsRef<[u8]>) -> &mut Self {
        let bytes = field.as_ref();
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
        self
    }

    /// Adds a list as one field: its length, then its members.
    pub fn list<T: AsRef<[u8]>>(&mut self, members: impl IntoIterator<Item = T>) -> &mut Self {
        self.field(Digest::of_fields("list", members).as_bytes())
    }

    /// The digest of all that was added.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

/// A digest of bytes that still come: that of all so far can be had at any time.
#[derive(Clone, Debug, Default)]
pub(crate) struct Running(Sha256);

impl Running {
    /// Adds bytes, not framed.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes so far.
    pub(crate) fn now(&self) -> Digest {
        Digest(self.0.clone().finalize().into())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Records hold several of these each; a formatter call a byte would cost more than hashing.
        let mut digits = [0; 64];
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(self.0) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

/// The hexadecimal digit of a number below 16.
const fn digit(number: u8) -> u8 {
    match number {
        0..=9 => b'0' + number,
        _ => b'a' + (number - 10),
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DigestError;

impl fmt::Display for DigestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a digest is 64 hexadecimal digits")
    }
}

impl std::error::Error for DigestError {}

impl FromStr for Digest {
    type Err = DigestError;

    fn from_str(text: &str) -> Result<Self, DigestError> {
        hex(text).map(Self).ok_or(DigestError)
    }
}

/// Bytes from twice as many hexadecimal digits.
fn hex<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digits: Vec<u8> = text
        .chars()
        .map(|c| c.to_digit(16).and_then(|d| u8::try_from(d).ok()))
        .collect::<Option<_>>()?;
    let (pairs, []) = digits.as_chunks::<2>() else {
        return None;
    };
    let bytes: Vec<u8> = pairs.iter().map(|[high, low]| high * 16 + low).collect();
    bytes.try_into().ok()
}

impl Serialize for Digest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_form_reads_back() {
        let digest = Digest::of("creance");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        for bad in [
            "",
            "00",
            "zz",
            &"0".repeat(63),
            &"0".repeat(66),
            &"é".repeat(32),
        ] {
            assert_eq!(bad.parse::<Digest>(), Err(DigestError), "{bad:?}");
        }
    }

    #[test]
    fn framing_keeps_lists_apart() {
        let of = |fields: &[&str]| Digest::of_fields("test", fields);
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
        assert_ne!(Digest::of_fields("x", ["a"]), Digest::of_fields("y", ["a"]));
    }
}
