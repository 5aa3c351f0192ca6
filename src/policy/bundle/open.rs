//! From files to a bundle that is believed: signature first, then what the manifest says of itself,
//! then each file. Nothing is read before the signature holds.

use std::fmt;

use minisign_verify::{PublicKey, Signature};

use crate::digest::Digest;
use crate::policy::{PolicySource, StoreParts};
use crate::request::{Layer, TOOL_LOCK};

use super::files::BundleFiles;
use super::manifest::Manifest;

/// A bundle that is believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// Its manifest.
    pub manifest: Manifest,
    /// Digest of the manifest, and with it of every file.
    pub digest: Digest,
    /// What a store is made of.
    pub parts: StoreParts,
    /// Its tests.
    pub tests: Vec<PolicySource>,
}

/// The public keys that are pinned on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Keys(Vec<PublicKey>);

/// What a machine asks of a bundle, beside a signature.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The name that it must have; any when empty.
    pub(crate) name: String,
    /// The lowest revision that is taken, by the organisation's word.
    pub(crate) minimum: u64,
    /// The highest revision that was ever in force here, and its digest.
    pub(crate) seen: Option<(u64, Digest)>,
    /// Now, in milliseconds since the Unix epoch.
    pub(crate) now_ms: i64,
}

/// Why a bundle is not believed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleError(String);

impl BundleError {
    /// An error of whoever fetches bundles.
    #[must_use]
    pub fn new(why: impl Into<String>) -> Self {
        Self(why.into())
    }
}

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BundleError {}

fn refuse<T>(why: impl Into<String>) -> Result<T, BundleError> {
    Err(BundleError(why.into()))
}

impl Keys {
    /// Public keys in minisign's form: the line that begins with `RW`, or the whole `.pub` file.
    ///
    /// # Errors
    /// When there is none, or a text is no key.
    pub(crate) fn read<T: AsRef<str>>(texts: &[T]) -> Result<Self, BundleError> {
        if texts.is_empty() {
            return refuse(
                "no key is pinned, so no bundle can be believed: put the organisation's minisign key into `keys`",
            );
        }
        let key = |text: &T| {
            let line = text.as_ref().trim().lines().last().unwrap_or_default();
            PublicKey::from_base64(line.trim())
                .map_err(|error| BundleError(format!("a pinned key is no minisign key: {error}")))
        };
        Ok(Self(texts.iter().map(key).collect::<Result<_, _>>()?))
    }

    fn believe(&self, manifest: &str, signature: &str) -> Result<(), BundleError> {
        if signature.trim().is_empty() {
            return refuse("it is not signed: there is no manifest.json.minisig");
        }
        let signature = Signature::decode(signature).map_err(|error| {
            BundleError(format!("manifest.json.minisig is no signature: {error}"))
        })?;
        let holds = |key: &PublicKey| key.verify(manifest.as_bytes(), &signature, false).is_ok();
        if self.0.iter().any(holds) {
            return Ok(());
        }
        refuse("no pinned key has signed this manifest: it was changed, or another key was used")
    }
}

impl Bundle {
    /// Believes the files of a bundle, or says why not.
    ///
    /// # Errors
    /// The first thing that is wrong, with the way out where there is one.
    pub(crate) fn open(
        files: &BundleFiles,
        keys: &Keys,
        terms: &Terms,
    ) -> Result<Self, BundleError> {
        keys.believe(&files.manifest, &files.signature)?;
        let manifest = Manifest::read(files.manifest.as_bytes()).map_err(BundleError)?;
        let digest = Digest::of(&files.manifest);
        terms.meet(&manifest, digest)?;
        check_files(files, &manifest)?;
        Ok(Self::of(files, manifest, digest))
    }

    /// A bundle that its author is working on, not yet signed: for checks and tests alone.
    ///
    /// # Errors
    /// When the manifest cannot be read.
    pub fn draft(files: &BundleFiles) -> Result<Self, BundleError> {
        let manifest = Manifest::read(files.manifest.as_bytes()).map_err(BundleError)?;
        Ok(Self::of(files, manifest, Digest::of(&files.manifest)))
    }

    fn of(files: &BundleFiles, manifest: Manifest, digest: Digest) -> Self {
        let mut parts = StoreParts {
            switched_off: manifest.switched_off.clone(),
            ..StoreParts::default()
        };
        let mut tests = Vec::new();
        for (name, text) in &files.files {
            let source = PolicySource {
                layer: Layer::Org,
                file: name.clone(),
                text: text.clone(),
            };
            match name.as_str() {
                "entities.json" => parts.members.push(source),
                TOOL_LOCK => parts.locks.push(source),
                _ if name.starts_with("tests/") => tests.push(source),
                _ => parts.sources.push(source),
            }
        }
        Self {
            manifest,
            digest,
            parts,
            tests,
        }
    }
}

impl Terms {
    fn meet(&self, manifest: &Manifest, digest: Digest) -> Result<(), BundleError> {
        let Manifest { name, revision, .. } = manifest;
        if !self.name.is_empty() && self.name != *name {
            return refuse(format!(
                "it is the bundle `{name}`, and `{}` is wanted here",
                self.name
            ));
        }
        if *revision < self.minimum {
            return refuse(format!(
                "revision {revision} is older than {}, the lowest that is taken here",
                self.minimum
            ));
        }
        match self.seen {
            Some((highest, _)) if *revision < highest => {
                return refuse(format!(
                    "revision {revision} is older than {highest}, which was in force here: no way back"
                ));
            }
            Some((highest, seen)) if *revision == highest && seen != digest => {
                return refuse(format!(
                    "revision {revision} was in force here with other content: a change has a new revision"
                ));
            }
            _ => {}
        }
        let window = manifest.window_ms().map_err(BundleError)?;
        if self.now_ms < window.start {
            return refuse(format!(
                "it holds from {} on, which is not yet",
                manifest.not_before
            ));
        }
        if self.now_ms >= window.end {
            return refuse(format!(
                "it expired at {}: a new revision is due",
                manifest.expires
            ));
        }
        Ok(())
    }
}

/// Exactly the files of the manifest, each as it was signed.
fn check_files(files: &BundleFiles, manifest: &Manifest) -> Result<(), BundleError> {
    for (name, text) in &files.files {
        match manifest.files.get(name) {
            None => {
                return refuse(format!(
                    "`{name}` is not in the manifest: a bundle holds nothing else"
                ));
            }
            Some(want) if *want != Digest::of(text) => {
                return refuse(format!("`{name}` is not what was signed"));
            }
            Some(_) => {}
        }
    }
    match manifest
        .files
        .keys()
        .find(|name| !files.files.contains_key(*name))
    {
        Some(missing) => refuse(format!("`{missing}` is missing")),
        None => Ok(()),
    }
}
