//! The organisation's bundle on this machine: found where root says, believed by the keys that root
//! pinned, never older than what was in force here before. When a new one is not believed, the last
//! good one goes on, and that is said; when there is none either, nothing is permitted.

use std::path::{Path, PathBuf};

use crate::config::Organisation;
use crate::disk::{self, Folders, RawBundle, SeenBundle};
use crate::http;
use crate::policy::{Bundle, BundleError, BundleFiles, Keys, Terms};

/// A bundle that is believed, and what is to be said about it.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) bundle: Bundle,
    pub(crate) notice: Option<String>,
}

/// What is done where.
struct Desk<'a> {
    organisation: Organisation,
    keys: Keys,
    terms: Terms,
    folders: &'a Folders,
}

/// The bundle of the organisation whose folder this is; `None` when it has pinned none.
pub(crate) fn bundle(org: &Path, folders: &Folders) -> Result<Option<Found>, String> {
    let pinned = org.join("organisation.json");
    let Some(text) = disk::roots_file(&pinned)? else {
        return Ok(None);
    };
    let said = |why: String| format!("`{}`: {why}", pinned.display());
    let organisation = Organisation::read(&text).map_err(said)?;
    let keys = Keys::read(&organisation.keys).map_err(|error| said(error.to_string()))?;
    let terms = Terms {
        name: organisation.name.clone(),
        minimum: organisation.minimum_revision,
        seen: seen(folders, &organisation.name)?,
        now_ms: disk::clock(),
    };
    let desk = Desk {
        organisation,
        keys,
        terms,
        folders,
    };
    let found = desk.find()?;
    desk.keep(&found.bundle)?;
    Ok(Some(found))
}

fn seen(folders: &Folders, name: &str) -> Result<Option<(u64, crate::digest::Digest)>, String> {
    let seen = disk::seen_bundle(&folders.bundle_seen())?;
    let seen = seen.filter(|seen| seen.name == name);
    Ok(seen.map(|seen| (seen.revision, seen.digest)))
}

impl Desk<'_> {
    fn find(&self) -> Result<Found, String> {
        let wanted = &self.organisation.bundle;
        if let Some(bundle) = self.fresh_copy() {
            return Ok(Found {
                bundle,
                notice: None,
            });
        }
        let why = match self.newest() {
            Ok(bundle) => {
                return Ok(Found {
                    bundle,
                    notice: None,
                });
            }
            Err(why) => format!("the organisation's bundle `{wanted}` is not taken: {why}"),
        };
        // The last good one goes on, if it still holds.
        match self.copy() {
            Ok(bundle) => {
                let Bundle { manifest, .. } = &bundle;
                let notice = format!(
                    "{why}; revision {} goes on until {}",
                    manifest.revision, manifest.expires
                );
                Ok(Found {
                    notice: Some(notice),
                    bundle,
                })
            }
            Err(_) => Err(why),
        }
    }

    /// A fetched bundle is not fetched again at each start.
    fn fresh_copy(&self) -> Option<Bundle> {
        let limit = u128::from(self.organisation.refresh_minutes) * 60_000;
        let age = disk::age_ms(&self.copy_file())?;
        if self.organisation.is_remote() && age < limit {
            self.copy().ok()
        } else {
            None
        }
    }

    fn copy_file(&self) -> PathBuf {
        self.folders.bundle_copy()
    }

    fn copy(&self) -> Result<Bundle, String> {
        self.open(&read_bundle(&self.copy_file())?)
    }

    fn newest(&self) -> Result<Bundle, String> {
        let files = if self.organisation.is_remote() {
            let authority = self.organisation.authority.as_deref();
            let authority = authority.map(|path| {
                let path = Path::new(path);
                let file = disk::roots_file(path)?;
                file.ok_or_else(|| format!("there is no `{}`", path.display()))
            });
            let authority = authority.transpose()?;
            unpack(&http::fetch(http::Source {
                url: &self.organisation.bundle,
                authority: authority.as_deref(),
                max: disk::BUNDLE_MAX,
            })?)?
        } else {
            read_bundle(Path::new(&self.organisation.bundle))?
        };
        let bundle = self.open(&files)?;
        disk::keep_copy(&self.copy_file(), files.pack().as_bytes())?;
        Ok(bundle)
    }

    fn open(&self, files: &BundleFiles) -> Result<Bundle, String> {
        Bundle::open(files, &self.keys, &self.terms).map_err(|error| error.to_string())
    }

    /// From here on nothing older is taken. What cannot be kept cannot be promised.
    fn keep(&self, bundle: &Bundle) -> Result<(), String> {
        let now = (bundle.manifest.revision, bundle.digest);
        if self.terms.seen == Some(now) {
            return Ok(());
        }
        let seen = SeenBundle {
            name: bundle.manifest.name.clone(),
            revision: now.0,
            digest: now.1,
        };
        disk::keep_seen_bundle(&self.folders.bundle_seen(), &seen)
    }
}

/// A bundle's files from a folder or a file, believed by nobody yet.
pub(crate) fn read_bundle(path: &Path) -> Result<BundleFiles, String> {
    let mut files = match disk::read_bundle(path)? {
        RawBundle::Packed(bytes) => return unpack(&bytes),
        RawBundle::Folder(files) => files,
    };
    let manifest = files.remove("manifest.json");
    Ok(BundleFiles {
        manifest: manifest.ok_or_else(|| format!("`{}` has no manifest.json", path.display()))?,
        signature: files.remove("manifest.json.minisig").unwrap_or_default(),
        files,
    })
}

fn unpack(bytes: &[u8]) -> Result<BundleFiles, String> {
    BundleFiles::unpack(bytes).map_err(|why| BundleError::new(why).to_string())
}
