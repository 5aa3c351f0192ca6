//! Sign-ins: what is no secret in a file of this user alone, the secret in the system's key store, or
//! where there is none in that file too.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use super::os;
use super::write::write_atomic;

/// The name of Creance in key stores.
const SERVICE: &str = "creance";

/// Where secrets go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// In the key store of the system, where it has one.
    System,
    /// In files.
    Files,
}

/// Where sign-ins are kept.
#[derive(Clone, Debug)]
pub(crate) struct Vault {
    folder: PathBuf,
    keep: Keep,
}

/// One sign-in.
pub(crate) struct Safe {
    /// What is no secret.
    pub(crate) open: String,
    /// The secret.
    pub(crate) secret: String,
}

impl fmt::Debug for Safe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Safe").finish_non_exhaustive()
    }
}

/// The file of one.
#[derive(Serialize, Deserialize)]
struct OnDisk {
    version: u32,
    open: String,
    /// The secret; none when it lies in the key store.
    secret: Option<String>,
}

/// Nobody else reads and writes a sign-in as long as this lives.
#[derive(Debug)]
pub(crate) struct VaultLock {
    _file: File,
}

impl Vault {
    /// The folder is made when something is written.
    pub(crate) fn new(folder: PathBuf, keep: Keep) -> Self {
        Self { folder, keep }
    }

    /// Waits until nobody else works on a sign-in.
    pub(crate) fn lock(&self, key: &str) -> io::Result<VaultLock> {
        os::create_private_folder(&self.folder)?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        let file = os::guarded(&mut options).open(self.path(key, "lock"))?;
        file.lock()?;
        Ok(VaultLock { _file: file })
    }

    /// Whether something is kept under a key.
    pub(crate) fn holds(&self, key: &str) -> bool {
        self.path(key, "json").is_file()
    }

    /// What is kept under a key.
    pub(crate) fn read(&self, key: &str) -> io::Result<Option<Safe>> {
        let Some(file) = self.file(key)? else {
            return Ok(None);
        };
        let secret = match file.secret {
            Some(secret) => secret,
            None => key_store::read(key).map_err(io::Error::other)?,
        };
        Ok(Some(Safe {
            open: file.open,
            secret,
        }))
    }

    /// Replaces what is kept under a key.
    pub(crate) fn write(&self, key: &str, safe: &Safe) -> io::Result<()> {
        os::create_private_folder(&self.folder)?;
        let stored = self.keep == Keep::System && key_store::write(key, &safe.secret).is_ok();
        let file = OnDisk {
            version: 1,
            open: safe.open.clone(),
            secret: (!stored).then(|| safe.secret.clone()),
        };
        let text = Zeroizing::new(serde_json::to_vec(&file).map_err(io::Error::other)?);
        write_atomic(&self.path(key, "json"), &text)
    }

    /// Forgets what is kept under a key; whether there was something.
    pub(crate) fn remove(&self, key: &str) -> io::Result<bool> {
        let Some(file) = self.file(key)? else {
            return Ok(false);
        };
        if file.secret.is_none() {
            key_store::remove(key).map_err(io::Error::other)?;
        }
        std::fs::remove_file(self.path(key, "json"))?;
        os::sync_folder(&self.folder)?;
        Ok(true)
    }

    fn file(&self, key: &str) -> io::Result<Option<OnDisk>> {
        let path = self.path(key, "json");
        let file = match os::guarded(OpenOptions::new().read(true)).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        refuse_strangers(&path, &file)?;
        let text = Zeroizing::new(io::read_to_string(file)?);
        serde_json::from_str(&text)
            .map(Some)
            .map_err(io::Error::other)
    }

    fn path(&self, key: &str, ending: &str) -> PathBuf {
        self.folder.join(format!("{key}.{ending}"))
    }
}

/// A file that is not this user's, or that others could have written, is none of ours.
fn refuse_strangers(path: &Path, file: &File) -> io::Result<()> {
    let meta = file.metadata()?;
    if os::is_own(&meta) && !os::others_write(&meta) {
        return os::make_private(file, &meta);
    }
    let text = format!(
        "`{}` can be changed by others: remove it, and sign in again",
        path.display()
    );
    Err(io::Error::new(io::ErrorKind::PermissionDenied, text))
}

/// The key store of the system.
mod key_store {
    use keyring::Entry;

    use super::SERVICE;

    fn entry(key: &str) -> Result<Entry, String> {
        Entry::new(SERVICE, key)
            .map_err(|_| "the key store of the system cannot be reached".to_owned())
    }

    pub(super) fn read(key: &str) -> Result<String, String> {
        let secret = entry(key)?.get_password();
        secret.map_err(|_| "the key store of the system does not give it".to_owned())
    }

    pub(super) fn write(key: &str, secret: &str) -> Result<(), String> {
        let entry = entry(key)?;
        let refused = |_| "the key store of the system does not take it".to_owned();
        entry.set_password(secret).map_err(refused)?;
        // What cannot be read again was not kept.
        let again = entry.get_password().map_err(refused)?;
        if again == secret {
            Ok(())
        } else {
            Err("the key store of the system gives something else".to_owned())
        }
    }

    pub(super) fn remove(key: &str) -> Result<(), String> {
        let gone = entry(key)?.delete_credential();
        match gone {
            Ok(()) | Err(keyring::Error::NoEntry) => Ok(()),
            Err(_) => Err("the key store of the system does not forget it".to_owned()),
        }
    }
}

#[cfg(test)]
#[path = "tests/vault.rs"]
mod tests;
