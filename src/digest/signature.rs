//! Ed25519 signatures (RFC 8032): the pair that signs, and the public key that checks.

use std::fmt;
use std::str::FromStr;

use ed25519_dalek::{Signature as Raw, Signer as _, SigningKey, VerifyingKey};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::hex;

/// Signs.
#[derive(Clone)]
pub(crate) struct KeyPair(SigningKey);

impl KeyPair {
    /// The pair of a random seed.
    pub(crate) fn new(seed: &[u8; 32]) -> Self {
        Self(SigningKey::from_bytes(seed))
    }

    /// What others check with.
    pub(crate) fn public(&self) -> PublicKey {
        PublicKey(self.0.verifying_key().to_bytes())
    }

    /// The signature of a message.
    pub(crate) fn sign(&self, message: &[u8]) -> Signature {
        Signature(self.0.sign(message).to_bytes())
    }
}

impl fmt::Debug for KeyPair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyPair({})", self.public())
    }
}

/// The public half of a pair of keys: tells whose a signature is. 64 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; 32]);

impl PublicKey {
    /// Whether the message was signed with this key. Keys and signatures that fit more than one
    /// message or have more than one form are refused.
    #[must_use]
    pub(crate) fn signed(&self, message: &[u8], signature: &Signature) -> bool {
        VerifyingKey::from_bytes(&self.0).is_ok_and(|key| {
            key.verify_strict(message, &Raw::from_bytes(&signature.0))
                .is_ok()
        })
    }
}

/// A signature. 128 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature([u8; 64]);

/// The text is no key or no signature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SignatureError {
    digits: usize,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected {} hexadecimal digits", self.digits)
    }
}

impl std::error::Error for SignatureError {}

macro_rules! text_form {
    ($name:ident, $digits:literal) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = SignatureError;

            fn from_str(text: &str) -> Result<Self, SignatureError> {
                hex(text)
                    .map(Self)
                    .ok_or(SignatureError { digits: $digits })
            }
        }

        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    };
}

text_form!(PublicKey, 64);
text_form!(Signature, 128);

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, 7.1, test 2.
    #[test]
    fn signatures_are_ed25519() {
        let seed = hex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb").unwrap();
        let pair = KeyPair::new(&seed);
        let public = pair.public();
        assert_eq!(
            public.to_string(),
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
        );
        let signature = pair.sign(&[0x72]);
        let want = "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                    085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00";
        assert_eq!(signature.to_string(), want);
        assert!(public.signed(&[0x72], &want.parse().unwrap()));
        assert!(!public.signed(&[0x73], &signature));
        let other = KeyPair::new(&[7; 32]).public();
        assert!(!other.signed(&[0x72], &signature));
        assert!(!format!("{pair:?}").contains("4ccd"));
        assert!("00".parse::<PublicKey>().is_err());
    }
}
