//! Facts about one path of the file system, and the pure rule that says which place it is in.
//! Resolving (links, `..`) happens before, in `disk`; a [`PathFacts`] is always resolved.

use serde::{Deserialize, Serialize};

use crate::grant::{Place, guarded};

/// One resolved path: absolute, links followed, no `.` or `..`, no trailing slash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathFacts {
    /// The path as text. Bytes that are not UTF-8 are escaped as `\xNN`.
    pub text: String,
    /// The place it lies in.
    pub place: Place,
    /// The path below the project root (`docs/a.md`, `` for the root itself), when inside it.
    pub in_project: Option<String>,
}

/// The folders that the rule of places needs. All resolved, without trailing slash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// The user's home folder.
    pub home: String,
    /// The project's root, when there is one.
    pub project: Option<String>,
    /// Temporary folders (`/tmp`, `/var/tmp`, the own `TMPDIR`).
    pub temp: Vec<String>,
    /// Cache folders (`~/.cache`).
    pub cache: Vec<String>,
    /// Creance's own folders (configuration, state, sockets) and its binary.
    pub own: Vec<String>,
}

impl Places {
    /// The facts of a resolved path.
    #[must_use]
    pub fn facts(&self, text: impl Into<String>) -> PathFacts {
        let text = text.into();
        let in_project = self
            .project
            .as_deref()
            .and_then(|root| below(&text, root))
            .map(str::to_owned);
        PathFacts {
            place: self.place(&text, in_project.as_deref()),
            in_project,
            text,
        }
    }

    fn place(&self, text: &str, in_project: Option<&str>) -> Place {
        let in_any = |folders: &[String]| folders.iter().any(|f| below(text, f).is_some());
        if in_any(&self.own) {
            return Place::Config;
        }
        if guarded::is_secret(text, &self.home) {
            return Place::Secrets;
        }
        if let Some(rest) = in_project {
            return guarded::project_place(rest);
        }
        if in_any(&self.temp) {
            return Place::Temp;
        }
        if in_any(&self.cache) {
            return Place::Cache;
        }
        if !self.home.is_empty() && below(text, &self.home).is_some() {
            return Place::Home;
        }
        let under = |roots: &[&str]| roots.iter().any(|root| below(text, root).is_some());
        if under(guarded::DEVICES) {
            Place::Devices
        } else if under(guarded::SYSTEM) {
            Place::System
        } else {
            Place::Other
        }
    }
}

/// What remains of `path` below `folder` (`""` for the folder itself), decided part by part: a text
/// prefix would let `/w/proj_secret` pass for `/w/proj` (CVE-2025-53110).
pub(crate) fn below<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    if folder == "/" {
        return path.strip_prefix('/');
    }
    let rest = path.strip_prefix(folder)?;
    if rest.is_empty() {
        Some(rest)
    } else {
        rest.strip_prefix('/')
    }
}
