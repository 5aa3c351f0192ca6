//! What is read once from the process: its folders and user. All else gets it as an argument.

use std::collections::BTreeMap;
use std::env;
use std::path::PathBuf;

use etcetera::BaseStrategy as _;

use super::os;

/// What the process was started in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Surroundings {
    /// The home folder.
    pub(crate) home: Option<PathBuf>,
    /// Where configuration goes (`~/.config`).
    pub(crate) config_home: Option<PathBuf>,
    /// Where state goes (`~/.local/state`).
    pub(crate) state_home: Option<PathBuf>,
    /// Where caches go (`~/.cache`).
    pub(crate) cache_home: Option<PathBuf>,
    /// The folder for temporary files.
    pub(crate) temp: PathBuf,
    /// The working folder.
    pub(crate) cwd: Option<PathBuf>,
    /// The environment; variables that are not UTF-8 are left out.
    pub(crate) environment: BTreeMap<String, String>,
    /// The user's name, as the system says it: policies hang on it, so `USER` is not believed.
    pub(crate) user: String,
}

impl Surroundings {
    /// Reads them. `HOME` may be missing: the system's list of users is then asked.
    pub(crate) fn read() -> Self {
        let home = env::home_dir().filter(|home| home.is_absolute());
        let base = etcetera::choose_base_strategy().ok();
        let below = |folder: &str| home.as_ref().map(|home| home.join(folder));
        let chosen = |path: Option<PathBuf>, default: &str| {
            path.filter(|path| path.is_absolute())
                .or_else(|| below(default))
        };
        Self {
            config_home: chosen(base.as_ref().map(|b| b.config_dir()), ".config"),
            state_home: chosen(base.as_ref().and_then(|b| b.state_dir()), ".local/state"),
            cache_home: chosen(base.as_ref().map(|b| b.cache_dir()), ".cache"),
            temp: env::temp_dir(),
            cwd: env::current_dir().ok(),
            environment: env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            user: os::user(),
            home,
        }
    }
}
