//! Signing, for the organisation's release: Ed25519 keys and signatures in minisign's form, so that
//! `minisign` itself, or whatever signs for it, does as well.

use std::fmt;

use minisign::{KeyPair, SecretKey, SecretKeyBox};

/// A key to sign bundles with.
pub struct SigningKey(SecretKey);

/// Why a key cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError(String);

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for KeyError {}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SigningKey")
    }
}

fn failed(what: &'static str) -> impl FnOnce(minisign::PError) -> KeyError {
    move |error| KeyError(format!("{what}: {error}"))
}

impl SigningKey {
    /// A new key: the texts of its secret and its public file. With an empty password the secret
    /// file is as good as the key itself.
    ///
    /// # Errors
    /// When the system gives no random numbers.
    pub fn generate(password: &str) -> Result<(String, String), KeyError> {
        let what = "no key could be made";
        let pair = if password.is_empty() {
            KeyPair::generate_unencrypted_keypair()
        } else {
            KeyPair::generate_encrypted_keypair(Some(password.to_owned()))
        };
        let KeyPair { pk, sk } = pair.map_err(failed(what))?;
        let secret = sk
            .to_box(Some("creance bundle secret key"))
            .map_err(failed(what))?;
        let public = pk.to_box().map_err(failed(what))?;
        Ok((secret.into_string(), public.into_string()))
    }

    /// Reads a secret key file. An empty password is for a key that has none.
    ///
    /// # Errors
    /// When it is no key, or the password is another.
    pub fn read(text: &str, password: &str) -> Result<Self, KeyError> {
        let what = "the secret key cannot be used";
        let boxed = SecretKeyBox::from_string(text).map_err(failed(what))?;
        let key = if password.is_empty() {
            boxed.into_unencrypted_secret_key()
        } else {
            boxed.into_secret_key(Some(password.to_owned()))
        };
        Ok(Self(key.map_err(failed(what))?))
    }

    /// Signs a manifest: the text of `manifest.json.minisig`.
    ///
    /// # Errors
    /// When the key cannot sign.
    pub fn sign(&self, manifest: &str, comment: &str) -> Result<String, KeyError> {
        let signature = minisign::sign(
            None,
            &self.0,
            manifest.as_bytes(),
            Some(comment),
            Some("signature of a creance bundle"),
        );
        Ok(signature
            .map_err(failed("the manifest cannot be signed"))?
            .into_string())
    }
}
