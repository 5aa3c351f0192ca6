//! The manifest: what a bundle is, from when to when it holds, and the digest of each of its files.

use std::collections::BTreeMap;
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::protocol::json;

use super::files::is_member;

/// The version of the vocabulary that this program knows.
pub(super) const SCHEMA: u64 = 1;

/// Whether a bundle decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BundleMode {
    /// It decides.
    #[default]
    Enforce,
    /// It is judged beside what decides; where it would decide otherwise is put on record.
    Shadow,
}

/// The manifest of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The organisation's name for it: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// Counts up with each release. A machine takes no lower one than it has seen.
    pub revision: u64,
    /// From when on it holds (RFC 3339).
    pub not_before: String,
    /// Until when it holds (RFC 3339).
    pub expires: String,
    /// The version of the vocabulary that its policies are written in.
    pub schema: u64,
    /// Whether it decides.
    #[serde(default)]
    pub mode: BundleMode,
    /// Guard rails that it switches off, by id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switched_off: Vec<String>,
    /// Each file with its digest.
    pub files: BTreeMap<String, Digest>,
}

impl Manifest {
    /// Reads a manifest, strictly.
    ///
    /// # Errors
    /// What is wrong with it, in one line.
    pub fn read(bytes: &[u8]) -> Result<Self, String> {
        let parsed = json::read(bytes).map_err(|error| format!("manifest.json: {error}"))?;
        let manifest: Self = serde_json::from_value(parsed.json.to_value().value)
            .map_err(|error| format!("manifest.json: {error}"))?;
        manifest
            .check()
            .map_err(|why| format!("manifest.json: {why}"))?;
        Ok(manifest)
    }

    /// Its text: the bytes that are signed.
    #[must_use]
    pub fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
        if !(1..=64).contains(&self.name.len()) || !self.name.chars().all(plain) {
            return Err("`name` has 1 to 64 letters, digits, `-`, `_` and `.`".to_owned());
        }
        if self.revision == 0 {
            return Err("`revision` counts from 1".to_owned());
        }
        if self.schema != SCHEMA {
            return Err(format!(
                "`schema` {} is not the vocabulary of this program, which is {SCHEMA}: update Creance, or ship a bundle for it",
                self.schema
            ));
        }
        if self.window_ms()?.is_empty() {
            return Err("`expires` is before `not_before`".to_owned());
        }
        match self.files.keys().find(|name| !is_member(name)) {
            Some(name) => Err(format!(
                "`{name}` is no file of a bundle: those are `NAME.cedar`, `entities.json` and `tests/NAME.json`"
            )),
            None => Ok(()),
        }
    }

    /// When it holds, in milliseconds since the Unix epoch.
    pub(super) fn window_ms(&self) -> Result<std::ops::Range<i64>, String> {
        let at = |field: &str, text: &str| {
            let time = humantime::parse_rfc3339(text).ok();
            let since = time.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
            let ms = since.as_ref().map(Duration::as_millis);
            ms.and_then(|ms| i64::try_from(ms).ok())
                .ok_or_else(|| format!("`{field}` is a time such as 2026-11-30T00:00:00Z"))
        };
        Ok(at("not_before", &self.not_before)?..at("expires", &self.expires)?)
    }
}
