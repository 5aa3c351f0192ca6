//! The private folders of one sandbox: a cache that stays between starts, and a temporary folder
//! that goes with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::digest::Digest;
use crate::disk;
use crate::grant::Network;

/// Private folders of one sandbox.
#[derive(Debug)]
pub(crate) struct Private {
    /// Stays between starts of the same server.
    pub(crate) cache: PathBuf,
    /// Removed when the sandbox ends.
    pub(crate) temp: PathBuf,
    /// Private caches of other servers: hidden from this one.
    pub(crate) others: Vec<PathBuf>,
}

impl Private {
    /// The private folders of one owner (`user/files`), not yet made: what a dry run needs.
    pub(crate) fn plan(root: &Path, owner: &str) -> std::io::Result<Self> {
        let caches = root.join("servers");
        let own = Digest::of_fields("private-cache/1", [owner]).short();
        let cache = caches.join(own);
        let others = folders_in(&caches)
            .into_iter()
            .filter(|path| *path != cache)
            .collect();
        Ok(Self {
            temp: root
                .join("temp")
                .join(format!("{}-{}", std::process::id(), disk::random_id()?)),
            cache,
            others,
        })
    }

    /// Makes them.
    pub(crate) fn make(&self) -> std::io::Result<()> {
        make_private(&self.cache)?;
        make_private(&self.temp)
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

fn folders_in(root: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// Makes a folder that only the user can enter.
fn make_private(path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700))?;
    }
    Ok(())
}

impl Drop for Private {
    fn drop(&mut self) {
        // Best effort: what is left of a killed run goes with the next clean-up.
        let _ = std::fs::remove_dir_all(&self.temp);
    }
}
