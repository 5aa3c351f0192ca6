//! The private folders of one sandbox: a cache that stays between starts, and a temporary folder
//! that goes with it. A lock on the temporary folder says that its run lives; what a killed run left
//! is removed at the next start.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::digest::Digest;
use crate::disk;
use crate::grant::{Network, proxy_variables};

/// Private folders of one sandbox.
#[derive(Debug)]
pub(crate) struct Private {
    /// Stays between starts of the same server.
    pub(crate) cache: PathBuf,
    /// Removed when the sandbox ends.
    pub(crate) temp: PathBuf,
    /// Private caches of other servers: hidden from this one.
    pub(crate) others: Vec<PathBuf>,
    /// The lock on the temporary folder, once it is made.
    held: OnceLock<File>,
}

impl Private {
    /// The private folders of one owner (`user/files`), not yet made: what a dry run needs.
    pub(crate) fn plan(root: &Path, owner: &str) -> io::Result<Self> {
        let caches = root.join("servers");
        let own = Digest::of_fields("private-cache/1", [owner]).short();
        let cache = caches.join(own);
        let others = folders_in(&caches)
            .into_iter()
            .filter(|path| *path != cache)
            .collect();
        Ok(Self {
            temp: root.join("temp").join(unused_name()?),
            cache,
            others,
            held: OnceLock::new(),
        })
    }

    /// Makes them, and removes what killed runs left.
    pub(crate) fn make(&self) -> io::Result<()> {
        make_private(&self.cache)?;
        if self.held.get().is_none() {
            let held = make_held(&self.temp)?;
            let _ = self.held.set(held);
        }
        for other in self.temp.parent().map(folders_in).unwrap_or_default() {
            sweep(&other);
        }
        Ok(())
    }

    /// Variables that lead tools to these folders.
    pub(crate) fn variables(
        &self,
        home: Option<&Path>,
        network: Network,
    ) -> BTreeMap<String, String> {
        let text = |path: PathBuf| path.to_string_lossy().into_owned();
        let mut variables: BTreeMap<String, String> = [
            ("TMPDIR", text(self.temp.clone())),
            ("XDG_CACHE_HOME", text(self.cache.clone())),
            ("npm_config_update_notifier", "false".to_owned()),
            ("PIP_CACHE_DIR", text(self.cache.join("pip"))),
            ("PYTHONPYCACHEPREFIX", text(self.cache.join("pycache"))),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let npm = self.npm_cache(home, network);
        variables.insert("npm_config_cache".to_owned(), text(npm));
        if network == Network::Hosts {
            variables.extend(proxy_variables());
        }
        if network == Network::None {
            variables.insert("npm_config_offline".to_owned(), "true".to_owned());
            variables.insert("npm_config_logs_max".to_owned(), "0".to_owned());
        }
        variables.insert("UV_CACHE_DIR".to_owned(), text(self.cache.join("uv")));
        variables
    }

    /// The caches of npm that the sandbox reads, its own first.
    pub(crate) fn npm_caches(&self, home: Option<&Path>) -> Vec<PathBuf> {
        let own = home.map(|home| home.join(".npm"));
        std::iter::once(self.cache.join("npm")).chain(own).collect()
    }

    /// Without a network, npm works with what is there: the private cache, else the user's own,
    /// which is readable. With one, packages go to the private cache.
    fn npm_cache(&self, home: Option<&Path>, network: Network) -> PathBuf {
        let private = self.cache.join("npm");
        let own = home.map(|home| home.join(".npm"));
        match own {
            Some(own) if network == Network::None && own.is_dir() && !private.is_dir() => own,
            _ => private,
        }
    }
}

/// A short name: programs make Unix sockets in their temporary folder, and the path of one has room
/// for 107 bytes. Nobody else can make names where this stands.
fn unused_name() -> io::Result<String> {
    let random = disk::random_id()?;
    let short: String = random.chars().take(8).collect();
    Ok(format!("{:x}-{short}", std::process::id()))
}

fn folders_in(root: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(root).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Makes a folder that only the user can enter.
fn make_private(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Makes a private folder and locks it. The lock goes with this process, however it ends.
fn make_held(path: &Path) -> io::Result<File> {
    for _ in 0..TRIES {
        // Another start may sweep it before it is locked, also while it is being made.
        match make_private(path).and_then(|()| File::open(path)) {
            Ok(folder) => {
                folder.lock_shared()?;
                if is_at(&folder, path) {
                    return Ok(folder);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("it is removed all the time"))
}

const TRIES: usize = 100;

#[cfg(unix)]
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    match (folder.metadata(), fs::symlink_metadata(path)) {
        (Ok(mine), Ok(now)) => (mine.dev(), mine.ino()) == (now.dev(), now.ino()),
        _ => false,
    }
}

/// Elsewhere a folder that is open cannot be removed.
#[cfg(not(unix))]
fn is_at(_folder: &File, path: &Path) -> bool {
    path.is_dir()
}

/// Removes the temporary folder of a run that is gone. Best effort: the next start tries again.
fn sweep(path: &Path) {
    let is_folder = fs::symlink_metadata(path).is_ok_and(|found| found.is_dir());
    if !is_folder {
        return;
    }
    if let Ok(folder) = File::open(path)
        && folder.try_lock().is_ok()
    {
        let _ = fs::remove_dir_all(path);
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // Best effort: what is left goes with the next start.
        if self.held.get().is_some() {
            let _ = fs::remove_dir_all(&self.temp);
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn a_start_removes_what_killed_runs_left_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let plan = |owner| Private::plan(root.path(), owner).unwrap();
        let left = root.path().join("temp/1-killed");
        fs::create_dir_all(left.join("below")).unwrap();
        fs::write(left.join("below/file"), "left").unwrap();
        let lives = plan("user/lives");
        lives.make().unwrap();
        fs::write(lives.temp.join("needed"), "needed").unwrap();
        assert!(!left.exists());
        let next = plan("user/next");
        next.make().unwrap();
        assert!(lives.temp.join("needed").exists());
        let (temp, cache) = (next.temp.clone(), next.cache.clone());
        drop(next);
        assert!(!temp.exists() && cache.exists());
        assert_eq!(
            folders_in(&root.path().join("temp")),
            std::slice::from_ref(&lives.temp)
        );
    }
}
