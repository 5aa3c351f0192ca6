//! An organisation's release: from a folder to a manifest, and what a machine makes of a bundle.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use crate::digest::Digest;
use crate::disk;
use crate::http;
use crate::policy::{Bundle, BundleFiles, BundleMode, Keys, Manifest, Terms, is_member};

use super::error::{Error, ErrorKind};
use super::organisation;
use super::policy_files::PolicyFiles;

/// What the manifest of the next release says; what is not said stays as it was.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The bundle's name.
    pub name: Option<String>,
    /// Its revision; one more than before otherwise.
    pub revision: Option<u64>,
    /// From when on it holds; from now on otherwise.
    pub not_before: Option<String>,
    /// For how many days.
    pub days: u64,
    /// Whether it decides nothing yet.
    pub shadow: bool,
    /// Guard rails that it switches off.
    pub switched_off: Vec<String>,
}

fn wrong(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Policy, why)
}

impl Draft {
    /// Checks and tests the policies of a folder and writes their manifest. A signature that was
    /// there is removed: it is of another manifest. Says how many tests passed.
    ///
    /// # Errors
    /// When the policies cannot be used, a test fails, or a file does not belong into a bundle.
    pub fn write(&self, folder: &Path) -> Result<(Manifest, usize), Error> {
        let files = texts(folder)?;
        let before = files
            .get("manifest.json")
            .map(|text| Manifest::read(text.as_bytes()));
        let before = before.transpose().map_err(wrong)?;
        let manifest = self.manifest(before.as_ref(), digests(&files)?)?;
        let tests = self.try_out(folder, &manifest)?;
        write_file(folder.join("manifest.json"), manifest.text().as_bytes())?;
        let signature = folder.join("manifest.json.minisig");
        if signature.exists() {
            std::fs::remove_file(signature)?;
        }
        Ok((manifest, tests))
    }

    fn manifest(
        &self,
        before: Option<&Manifest>,
        files: BTreeMap<String, Digest>,
    ) -> Result<Manifest, Error> {
        let name = self
            .name
            .clone()
            .or_else(|| before.map(|before| before.name.clone()));
        let start = self
            .not_before
            .clone()
            .unwrap_or_else(|| time(disk::clock()));
        let from = humantime::parse_rfc3339(&start)
            .map_err(|_| wrong("a time is written 2026-11-30T00:00:00Z"))?;
        let until = from.checked_add(Duration::from_secs(self.days.saturating_mul(86_400)));
        let until = until.ok_or_else(|| wrong("so many days lead nowhere"))?;
        let manifest = Manifest {
            name: name.ok_or_else(|| wrong("a bundle has a name: --name"))?,
            revision: self
                .revision
                .unwrap_or_else(|| before.map_or(1, |before| before.revision.saturating_add(1))),
            not_before: start,
            expires: humantime::format_rfc3339_seconds(until).to_string(),
            schema: 1,
            mode: if self.shadow {
                BundleMode::Shadow
            } else {
                BundleMode::Enforce
            },
            switched_off: self.switched_off.clone(),
            files,
        };
        // What a machine would refuse is not written.
        Manifest::read(manifest.text().as_bytes()).map_err(wrong)
    }

    /// A bundle that cannot be used, or fails its own tests, is not made.
    fn try_out(&self, folder: &Path, manifest: &Manifest) -> Result<usize, Error> {
        let files = PolicyFiles::of_bundle(folder, &manifest.switched_off)?;
        let store = files.store().into_store()?;
        let tests = files.read()?;
        let report = store.test(&tests, &[]);
        let failed: Vec<String> = report.failed().map(ToString::to_string).collect();
        if failed.is_empty() {
            Ok(tests.len())
        } else {
            Err(wrong(format!(
                "tests fail, so no bundle is made:\n{}",
                failed.join("\n")
            )))
        }
    }
}

/// The files of a folder.
fn texts(folder: &Path) -> Result<BTreeMap<String, String>, Error> {
    match disk::read_bundle(folder).map_err(wrong)? {
        disk::RawBundle::Folder(files) => Ok(files),
        disk::RawBundle::Packed(_) => Err(Error::new(
            ErrorKind::Usage,
            format!("`{}` is no folder", folder.display()),
        )),
    }
}

/// The digest of each file that belongs to a bundle; any other is said, as machines refuse it.
fn digests(files: &BTreeMap<String, String>) -> Result<BTreeMap<String, Digest>, Error> {
    let mut digests = BTreeMap::new();
    for (name, text) in files {
        if name == "manifest.json" || name == "manifest.json.minisig" {
            continue;
        }
        if !is_member(name) {
            return Err(wrong(format!(
                "`{name}` does not belong into a bundle, which holds `NAME.cedar`, `entities.json`, `tools.lock.json` and `tests/NAME.json`: move it elsewhere"
            )));
        }
        digests.insert(name.clone(), Digest::of(text));
    }
    if digests.is_empty() {
        return Err(wrong("there is nothing to make a bundle of"));
    }
    Ok(digests)
}

fn time(ms: i64) -> String {
    let since = Duration::from_millis(u64::try_from(ms).unwrap_or(0));
    humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string()
}

/// Reads a bundle from a folder, a file or an `https://` address. Nothing about it is believed yet.
///
/// # Errors
/// When it cannot be read.
pub fn read_bundle(place: &str, authority: Option<&Path>) -> Result<BundleFiles, Error> {
    if !place.contains("://") {
        return organisation::read_bundle(Path::new(place)).map_err(wrong);
    }
    let authority = authority.map(std::fs::read).transpose()?;
    let bytes = http::fetch(http::Source {
        url: place,
        authority: authority.as_deref(),
        max: disk::BUNDLE_MAX,
    });
    BundleFiles::unpack(&bytes.map_err(wrong)?).map_err(wrong)
}

/// Believes a bundle as a machine does that has pinned these keys (minisign's form) and has seen no
/// bundle before.
///
/// # Errors
/// The first reason why it is not believed.
pub fn verify_bundle(files: &BundleFiles, keys: &[String]) -> Result<Bundle, Error> {
    let keys = Keys::read(keys).map_err(|error| wrong(error.to_string()))?;
    let terms = Terms {
        now_ms: disk::clock(),
        ..Terms::default()
    };
    Bundle::open(files, &keys, &terms).map_err(|error| wrong(error.to_string()))
}

/// Replaces a file whole, with the rights that it had; a new one is for this user alone.
///
/// # Errors
/// When it cannot be written; what was there is still there.
pub fn replace_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let path = path.as_ref();
    // A bare name has no folder; this one is meant.
    let whole = Path::new(".").join(path);
    disk::replace_file(&whole, bytes)
        .map_err(|error| Error::new(ErrorKind::Io, format!("`{}`: {error}", path.display())))
}

/// Writes a file that others are meant to read. A name in the project is that of a file in the
/// project: no link leads the write out of it.
///
/// # Errors
/// When it cannot be written.
pub fn write_file(path: impl AsRef<Path>, bytes: &[u8]) -> Result<(), Error> {
    let path = path.as_ref();
    disk::write_open(path, bytes)
        .map_err(|error| Error::new(ErrorKind::Io, format!("`{}`: {error}", path.display())))
}
