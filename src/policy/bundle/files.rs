//! The files of a bundle, as they come: from a folder, or packed into one file.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::protocol::json;
use crate::request::TOOL_LOCK;

/// A bundle's files, not yet believed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BundleFiles {
    /// The text of `manifest.json`, to the byte.
    pub manifest: String,
    /// The text of `manifest.json.minisig`; empty when there is none.
    pub signature: String,
    /// Every other file by its name in the bundle: also what does not belong there.
    pub files: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Packed {
    creance_bundle: u64,
    manifest: String,
    signature: String,
    files: BTreeMap<String, String>,
}

impl BundleFiles {
    /// Reads the one-file form.
    ///
    /// # Errors
    /// Why it is none, in one line.
    pub fn unpack(bytes: &[u8]) -> Result<Self, String> {
        let parsed = json::read(bytes).map_err(|error| format!("no bundle: {error}"))?;
        let value = parsed.json.to_value().value;
        let packed: Packed =
            serde_json::from_value(value).map_err(|error| format!("no bundle: {error}"))?;
        if packed.creance_bundle != 1 {
            return Err(format!(
                "a bundle of form {}, which this program does not know",
                packed.creance_bundle
            ));
        }
        Ok(Self {
            manifest: packed.manifest,
            signature: packed.signature,
            files: packed.files,
        })
    }

    /// The one-file form: JSON, so that a reviewer can read what is shipped.
    #[must_use]
    pub fn pack(&self) -> String {
        let packed = serde_json::json!({
            "creance_bundle": 1,
            "manifest": self.manifest,
            "signature": self.signature,
            "files": self.files,
        });
        serde_json::to_string_pretty(&packed).unwrap_or_default() + "\n"
    }
}

/// Whether a file of this name may stand in a bundle.
pub(crate) fn is_member(name: &str) -> bool {
    let plain = |part: &str| {
        !part.starts_with('.')
            && (1..=80).contains(&part.len())
            && part
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    match name.strip_prefix("tests/") {
        Some(test) => plain(test) && test.ends_with(".json"),
        None => {
            plain(name) && (matches!(name, "entities.json" | TOOL_LOCK) || name.ends_with(".cedar"))
        }
    }
}
