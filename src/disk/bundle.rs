//! Bundles on the disk: a folder or one file, read whole and believed by nobody yet; the copy of a
//! fetched one, and the highest revision that was ever in force here.

use std::collections::BTreeMap;
use std::fs::{File, FileType};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::policies::text;
use super::read::safe_read;
use super::resolve::path_text;
use super::write::write_atomic;

/// The largest bundle, and the most files in it.
pub(crate) const BUNDLE_MAX: u64 = 16 * 1024 * 1024;
const FILES_MAX: usize = 2_000;

/// A bundle's files by name; or the one file that holds them all.
pub(crate) enum RawBundle {
    /// A folder's files, `manifest.json` among them.
    Folder(BTreeMap<String, String>),
    /// The one-file form.
    Packed(Vec<u8>),
}

/// Reads a bundle. Links are refused, at any place: what is judged is what lies in the bundle.
pub(crate) fn read_bundle(path: &Path) -> Result<RawBundle, String> {
    let meta = path
        .symlink_metadata()
        .map_err(|error| format!("`{}`: {error}", path.display()))?;
    if !meta.is_dir() {
        let packed = safe_read(path, BUNDLE_MAX).map_err(|error| error.to_string())?;
        return Ok(RawBundle::Packed(packed));
    }
    let mut files = BTreeMap::new();
    read_folder(path, "", &mut files)?;
    Ok(RawBundle::Folder(files))
}

fn read_folder(
    folder: &Path,
    prefix: &str,
    files: &mut BTreeMap<String, String>,
) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("`{}` cannot be read: {error}", folder.display());
    for entry in folder.read_dir().map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind: FileType = entry.file_type().map_err(failed)?;
        let (path, name) = (entry.path(), path_text(Path::new(&entry.file_name())));
        let name = format!("{prefix}{name}");
        if files.len() >= FILES_MAX {
            return Err(format!(
                "`{}` holds more than {FILES_MAX} files",
                folder.display()
            ));
        }
        if kind.is_dir() && prefix.is_empty() {
            read_folder(&path, &format!("{name}/"), files)?;
            continue;
        }
        if !kind.is_file() {
            return Err(format!(
                "`{name}` is no file: a bundle holds files alone, and no links"
            ));
        }
        let bytes = safe_read(&path, BUNDLE_MAX).map_err(|error| error.to_string())?;
        let text =
            if name.ends_with(".json") || name.ends_with(".cedar") || name.ends_with(".minisig") {
                text(bytes).map_err(|why| format!("`{name}` {why}"))?
            } else {
                // It is refused by its name; its bytes are nobody's text.
                String::new()
            };
        files.insert(name, text);
    }
    Ok(())
}

/// What was in force here: kept so that no older revision comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SeenBundle {
    pub(crate) name: String,
    pub(crate) revision: u64,
    pub(crate) digest: crate::digest::Digest,
}

/// What was in force here; an error when that cannot be read: then nothing can be said of rollback.
pub(crate) fn seen_bundle(file: &Path) -> Result<Option<SeenBundle>, String> {
    if !file.exists() {
        return Ok(None);
    }
    let bytes = safe_read(file, BUNDLE_MAX).map_err(|error| error.to_string())?;
    let seen =
        serde_json::from_slice(&bytes).map_err(|error| format!("`{}`: {error}", file.display()))?;
    Ok(Some(seen))
}

/// Keeps what is in force now.
pub(crate) fn keep_seen_bundle(file: &Path, seen: &SeenBundle) -> Result<(), String> {
    let text = serde_json::to_vec(seen).map_err(|error| error.to_string())?;
    write_atomic(file, &text).map_err(|error| format!("`{}`: {error}", file.display()))
}

/// Keeps a fetched bundle, whole or not at all.
pub(crate) fn keep_copy(file: &Path, bytes: &[u8]) -> Result<(), String> {
    write_atomic(file, bytes).map_err(|error| format!("`{}`: {error}", file.display()))
}

/// How old a file is, in milliseconds; `None` when there is none, or its time is in the future.
pub(crate) fn age_ms(file: &Path) -> Option<u128> {
    let modified = File::open(file).ok()?.metadata().ok()?.modified().ok()?;
    modified.elapsed().ok().map(|age| age.as_millis())
}

/// One file that must be root's alone, as the organisation's folder is.
pub(crate) fn roots_file(path: &Path) -> Result<Option<Vec<u8>>, String> {
    super::policies::roots_file(path, BUNDLE_MAX)
}
