//! A secret key of 32 bytes: codes of data by HMAC-SHA256, and the next key of a chain of keys from
//! which no earlier one can be had. Overwritten in memory when it is dropped, and never shown.

use std::fmt;

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

use super::Digest;

/// A secret key.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(Zeroizing<[u8; 32]>);

impl Secret {
    /// A key from random bytes.
    pub(crate) fn new(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The key itself, to be kept where nobody else reads it.
    pub(crate) fn reveal(&self) -> &[u8; 32] {
        &self.0
    }

    /// The code of some data of one kind. Kinds must not be the beginning of each other.
    pub(crate) fn code(&self, kind: &str, data: &[u8]) -> Digest {
        Digest(self.hmac(kind, data))
    }

    /// Another key, which does not give this one away.
    pub(crate) fn derive(&self, kind: &str) -> Self {
        Self::new(self.hmac(kind, &[]))
    }

    fn hmac(&self, kind: &str, data: &[u8]) -> [u8; 32] {
        let mut hmac = Hmac::<Sha256>::new(&hmac_block(&self.0));
        hmac.update(kind.as_bytes());
        hmac.update(data);
        hmac.finalize().into_bytes().into()
    }
}

/// A key is filled up with zeros to the block of the hash (RFC 2104).
fn hmac_block(key: &[u8; 32]) -> hmac::digest::Key<Hmac<Sha256>> {
    let mut block = hmac::digest::Key::<Hmac<Sha256>>::default();
    for (to, from) in block.iter_mut().zip(key) {
        *to = *from;
    }
    block
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 1 with its key filled up, and what is told of a key.
    #[test]
    fn codes_are_hmac_sha256() {
        let mut key = [0; 32];
        key[..20].fill(0x0b);
        let secret = Secret::new(key);
        assert_eq!(
            secret.code("Hi There", b"").to_string(),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        );
        assert_eq!(secret.code("Hi ", b"There"), secret.code("Hi There", b""));
        assert_ne!(secret.derive("a"), secret.derive("b"));
        assert_eq!(format!("{secret:?}"), "Secret(…)");
    }
}
