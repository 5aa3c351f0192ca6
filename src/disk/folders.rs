//! Creance's own folders: configuration, state, cache and sockets of the user, and the fixed
//! folder of the organisation.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::os;
use super::surroundings::Surroundings;

/// Creance's own folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Folders {
    /// Settings, servers, the user's policies: `~/.config/creance`.
    pub(crate) config: PathBuf,
    /// Audit log, pins, answers: `~/.local/state/creance`.
    pub(crate) state: PathBuf,
    /// What can be made again: `~/.cache/creance`.
    pub(crate) cache: PathBuf,
    /// Sockets on which questions wait for an answer: `ask` under `state`.
    pub(crate) sockets: PathBuf,
}

/// A folder cannot be used.
#[derive(Debug)]
pub(crate) struct FolderError {
    /// What is wrong, with the folder and the way out.
    pub(crate) what: String,
    /// The cause.
    pub(crate) source: Option<io::Error>,
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(cause) => write!(f, "{}: {cause}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for FolderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|cause| cause as _)
    }
}

impl Folders {
    /// Where the folders are. Nothing is created yet.
    pub(crate) fn of(surroundings: &Surroundings) -> Result<Self, FolderError> {
        let own = |home: &Option<PathBuf>, variable: &str| match home {
            Some(home) => Ok(home.join("creance")),
            None => Err(FolderError {
                what: format!(
                    "there is no home folder for Creance's files: set `HOME` or `{variable}` to an \
                     absolute path"
                ),
                source: None,
            }),
        };
        let state = own(&surroundings.state_home, "XDG_STATE_HOME")?;
        Ok(Self {
            config: own(&surroundings.config_home, "XDG_CONFIG_HOME")?,
            cache: own(&surroundings.cache_home, "XDG_CACHE_HOME")?,
            sockets: state.join("ask"),
            state,
        })
    }

    /// Creates what is missing, for this user alone, and refuses what others could change.
    pub(crate) fn prepare(&self) -> Result<(), FolderError> {
        [&self.config, &self.state, &self.cache, &self.sockets]
            .into_iter()
            .try_for_each(|folder| prepare(folder))
    }

    /// The user's policies.
    pub(crate) fn policies(&self) -> PathBuf {
        self.config.join("policies")
    }

    /// The audit log.
    pub(crate) fn audit_log(&self) -> PathBuf {
        self.state.join("audit.jsonl")
    }

    /// Pins and remembered answers.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.state.join("ledger.json")
    }

    /// Sign-ins to remote servers.
    #[cfg(feature = "http")]
    pub(crate) fn sign_ins(&self) -> PathBuf {
        self.state.join("sign-in")
    }

    /// The last good bundle of the organisation.
    pub(crate) fn bundle_copy(&self) -> PathBuf {
        self.cache.join("organisation.bundle")
    }

    /// The highest revision of the organisation's bundle that was in force here.
    pub(crate) fn bundle_seen(&self) -> PathBuf {
        self.state.join("organisation.json")
    }

    /// The organisation's folder, when there is one: it must be root's alone.
    pub(crate) fn org() -> Result<Option<PathBuf>, FolderError> {
        org_folder(Path::new(os::ORG_FOLDER))
    }
}

fn org_folder(path: &Path) -> Result<Option<PathBuf>, FolderError> {
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(path, "cannot be looked at", Some(error))),
    };
    let wrong = if !meta.is_dir() {
        "is not a folder (a link to one is not followed)"
    } else if !os::is_roots(&meta) {
        "does not belong to root (`chown root` it)"
    } else if os::others_write(&meta) {
        "can be changed by others than root (`chmod go-w` it)"
    } else {
        return Ok(Some(path.to_owned()));
    };
    Err(refused(path, wrong, None))
}

fn prepare(path: &Path) -> Result<(), FolderError> {
    os::create_private_folder(path)
        .map_err(|error| refused(path, "cannot be created", Some(error)))?;
    let look = path.symlink_metadata();
    let meta = look.map_err(|error| refused(path, "cannot be looked at", Some(error)))?;
    let wrong = if !meta.is_dir() {
        "is not a folder of its own; name the real folder instead of a link"
    } else if !os::is_own(&meta) {
        "belongs to another user"
    } else if os::others_write(&meta) {
        "can be changed by others (`chmod go-w` it)"
    } else {
        return Ok(());
    };
    Err(refused(path, wrong, None))
}

fn refused(path: &Path, why: &str, source: Option<io::Error>) -> FolderError {
    FolderError {
        what: format!("the folder `{}` {why}", path.display()),
        source,
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::fs::{Permissions, set_permissions};
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn folders(home: &Path) -> Folders {
        let surroundings = Surroundings {
            home: Some(home.to_owned()),
            config_home: Some(home.join(".config")),
            state_home: Some(home.join(".local/state")),
            cache_home: Some(home.join(".cache")),
            ..Surroundings::default()
        };
        Folders::of(&surroundings).unwrap()
    }

    #[test]
    fn folders_are_private() {
        let home = tempfile::tempdir().unwrap();
        let folders = folders(home.path());
        folders.prepare().unwrap();
        folders.prepare().unwrap();
        for folder in [
            &folders.config,
            &folders.state,
            &folders.cache,
            &folders.sockets,
        ] {
            assert_eq!(
                folder.metadata().unwrap().mode() & 0o777,
                0o700,
                "{folder:?}"
            );
        }
        assert_eq!(
            folders.sockets,
            home.path().join(".local/state/creance/ask")
        );
    }

    #[test]
    fn what_others_can_change_is_refused() {
        let home = tempfile::tempdir().unwrap();
        let folders = folders(home.path());
        folders.prepare().unwrap();
        set_permissions(&folders.config, Permissions::from_mode(0o777)).unwrap();
        let error = folders.prepare().unwrap_err().to_string();
        assert!(error.contains("chmod go-w"), "{error}");
        std::fs::remove_dir(&folders.config).unwrap();
        symlink(home.path(), &folders.config).unwrap();
        let error = folders.prepare().unwrap_err().to_string();
        assert!(error.contains("instead of a link"), "{error}");
    }

    #[test]
    fn without_a_home_the_way_out_is_said() {
        let error = Folders::of(&Surroundings::default())
            .unwrap_err()
            .to_string();
        assert!(error.contains("set `HOME`"), "{error}");
    }

    #[test]
    fn the_organisations_folder_is_roots_alone() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(org_folder(&folder.path().join("none")).unwrap(), None);
        let meta = folder.path().metadata().unwrap();
        let error = |path: &Path| org_folder(path).unwrap_err().to_string();
        if meta.uid() == 0 {
            assert_eq!(
                org_folder(folder.path()).unwrap().as_deref(),
                Some(folder.path())
            );
            set_permissions(folder.path(), Permissions::from_mode(0o775)).unwrap();
            assert!(error(folder.path()).contains("others than root"));
        } else {
            assert!(error(folder.path()).contains("does not belong to root"));
        }
        let link = folder.path().join("link");
        symlink("/etc", &link).unwrap();
        assert!(error(&link).contains("not a folder"));
    }
}
