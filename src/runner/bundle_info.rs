//! The organisation's bundle on this machine, as it is told, and whether one is believed.

use std::fmt;

use serde::Serialize;

use crate::digest::Digest;
use crate::policy::{Bundle, BundleMode};

/// An organisation has pinned a bundle, and none is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BundleLost;

/// The digest of the bundle that is believed, where one is pinned, and why a newer one is not.
pub(super) type BundleState = Result<(Option<Digest>, Option<String>), BundleLost>;

/// The organisation's bundle on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BundleInfo {
    /// Its name.
    pub name: String,
    /// Its revision.
    pub revision: u64,
    /// Until when it holds.
    pub expires: String,
    /// Whether it decides.
    pub mode: BundleMode,
    /// Guard rails that it switches off.
    pub switched_off: Vec<String>,
    /// Digest of its manifest.
    pub digest: Digest,
}

impl BundleInfo {
    pub(super) fn of(bundle: &Bundle) -> Self {
        let Bundle {
            manifest, digest, ..
        } = bundle;
        Self {
            name: manifest.name.clone(),
            revision: manifest.revision,
            expires: manifest.expires.clone(),
            mode: manifest.mode,
            switched_off: manifest.switched_off.clone(),
            digest: *digest,
        }
    }
}

impl fmt::Display for BundleInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            revision,
            expires,
            ..
        } = self;
        write!(f, "bundle {name}, revision {revision}, until {expires}")?;
        if self.mode == BundleMode::Shadow {
            f.write_str(", in shadow: it decides nothing")?;
        }
        self.switched_off
            .iter()
            .try_for_each(|id| write!(f, "\nswitched off by the bundle: {id}"))
    }
}
