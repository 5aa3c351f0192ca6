//! Reads the folders of policies. A file that cannot be read is never left out silently: it comes
//! with its error, and whoever loads the policies refuses (organisation, user) or says it (project).

use std::fs::Metadata;
use std::io;
use std::path::{Path, PathBuf};

use crate::request::{Layer, TOOL_LOCK};

use super::os;
use super::read::{safe_read, safe_read_below};
use super::resolve::path_text;

/// The largest policy file.
const FILE_MAX: u64 = 1024 * 1024;
/// The most entries of a project's folder that are looked at, and of the others.
const PROJECT_ENTRIES_MAX: usize = 200;
const ENTRIES_MAX: usize = 50_000;

/// Where policies of a layer stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PolicyFolder {
    /// The organisation's folder: root's alone, as each file in it.
    Org(PathBuf),
    /// The user's folder.
    User(PathBuf),
    /// `.creance/policies` below a project's root: written by strangers.
    Project(PathBuf),
}

/// A policy file that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PolicyFile {
    /// The layer it belongs to.
    pub(crate) layer: Layer,
    /// Its name in its folder, as text; the folder's path when that could not be read.
    pub(crate) file: String,
    /// Its content without a byte-order mark, or why it cannot be had.
    pub(crate) text: Result<String, String>,
}

/// A file in a folder of policies that is no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ignored {
    /// The layer whose folder it is in.
    pub(crate) layer: Layer,
    /// Its name, as text.
    pub(crate) file: String,
    /// Why it is ignored.
    pub(crate) why: &'static str,
}

/// All that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PolicySources {
    /// The policy files: by layer as the folders were given, then by name.
    pub(crate) files: Vec<PolicyFile>,
    /// The lock files of tools that policies name as actions.
    pub(crate) locks: Vec<PolicyFile>,
    /// What is no policy file, for `doctor`.
    pub(crate) ignored: Vec<Ignored>,
}

/// Reads folders of policies. One that does not exist is empty.
pub(crate) fn read_policies(folders: &[PolicyFolder]) -> PolicySources {
    let mut sources = PolicySources::default();
    for folder in folders {
        if let Err(why) = read_folder(folder, &mut sources) {
            sources.files.push(PolicyFile {
                layer: folder.layer(),
                file: path_text(&folder.path()),
                text: Err(why),
            });
        }
    }
    sources
}

impl PolicyFolder {
    fn layer(&self) -> Layer {
        match self {
            Self::Org(_) => Layer::Org,
            Self::User(_) => Layer::User,
            Self::Project(_) => Layer::Project,
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        match self {
            Self::Org(path) | Self::User(path) => path.clone(),
            Self::Project(root) => root.join(PROJECT_FOLDER),
        }
    }

    pub(super) fn entries_max(&self) -> usize {
        match self {
            Self::Org(_) | Self::User(_) => ENTRIES_MAX,
            Self::Project(_) => PROJECT_ENTRIES_MAX,
        }
    }

    /// Whether the folder is there; an error when it cannot be trusted.
    fn is_there(&self) -> Result<bool, String> {
        match self {
            Self::Org(path) => match look(path)? {
                Some(meta) if !meta.is_dir() => Err("is not a folder".to_owned()),
                Some(meta) => roots_alone(&meta).map(|()| true),
                None => Ok(false),
            },
            Self::User(path) => match path.metadata() {
                Ok(meta) if !meta.is_dir() => Err("is not a folder".to_owned()),
                Ok(meta) => users_alone(&meta).map(|()| true),
                Err(_) => look(path)?.map_or(Ok(false), |_| Err("leads nowhere".to_owned())),
            },
            Self::Project(root) => Ok(is_real_folder(&root.join(".creance"))?
                && is_real_folder(&root.join(PROJECT_FOLDER))?),
        }
    }

    fn read_file(&self, name: &Path) -> Result<Vec<u8>, String> {
        let read = match self {
            Self::Project(root) => {
                safe_read_below(root, &Path::new(PROJECT_FOLDER).join(name), FILE_MAX)
            }
            Self::Org(folder) => {
                let path = folder.join(name);
                look(&path)?.map_or(Ok(()), |meta| roots_alone(&meta))?;
                safe_read(&path, FILE_MAX)
            }
            Self::User(folder) => {
                // A user may keep the files elsewhere and link to them.
                let path = folder.join(name);
                let path = path.canonicalize().map_err(|error| error.to_string())?;
                look(&path)?.map_or(Ok(()), |meta| users_alone(&meta))?;
                safe_read(&path, FILE_MAX)
            }
        };
        read.map_err(|error| error.to_string())
    }
}

const PROJECT_FOLDER: &str = ".creance/policies";

fn look(path: &Path) -> Result<Option<Metadata>, String> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(format!("cannot be looked at: {error}")),
    }
}

fn is_real_folder(path: &Path) -> Result<bool, String> {
    match look(path)? {
        Some(meta) if meta.is_dir() => Ok(true),
        Some(_) => Err("is not a folder (a link is not followed)".to_owned()),
        None => Ok(false),
    }
}

fn roots_alone(meta: &Metadata) -> Result<(), String> {
    if !os::is_roots(meta) {
        return Err("does not belong to root, so it is not the organisation's".to_owned());
    }
    if os::others_write(meta) && !meta.file_type().is_symlink() {
        return Err("can be changed by others than root (`chmod go-w` it)".to_owned());
    }
    Ok(())
}

/// Reads a file that is root's alone; `None` when there is none.
pub(super) fn roots_file(path: &Path, max: u64) -> Result<Option<Vec<u8>>, String> {
    let failed = |why: String| format!("`{}` {why}", path.display());
    let Some(meta) = look(path).map_err(failed)? else {
        return Ok(None);
    };
    roots_alone(&meta).map_err(failed)?;
    let bytes = safe_read(path, max).map_err(|error| error.to_string())?;
    Ok(Some(bytes))
}

fn users_alone(meta: &Metadata) -> Result<(), String> {
    if !os::is_own(meta) && !os::is_roots(meta) {
        return Err("belongs to another user".to_owned());
    }
    if os::anybody_writes(meta) {
        return Err("can be changed by anybody (`chmod o-w` it)".to_owned());
    }
    Ok(())
}

fn read_folder(folder: &PolicyFolder, sources: &mut PolicySources) -> Result<(), String> {
    if !folder.is_there()? {
        return Ok(());
    }
    let mut names = Vec::new();
    let entries = folder
        .path()
        .read_dir()
        .map_err(|error| format!("cannot be read: {error}"))?;
    for entry in entries {
        let entry = entry.map_err(|error| format!("cannot be read: {error}"))?;
        if names.len() >= folder.entries_max() {
            return Err(format!("holds more than {} files", folder.entries_max()));
        }
        names.push(PathBuf::from(entry.file_name()));
    }
    names.sort();
    for name in names {
        let (layer, file) = (folder.layer(), path_text(&name));
        if file == "tests" {
            continue;
        }
        if file == TOOL_LOCK && layer != Layer::Project {
            let text = folder.read_file(&name).and_then(text);
            sources.locks.push(PolicyFile { layer, file, text });
            continue;
        }
        match no_policy(&name) {
            Some(why) => sources.ignored.push(Ignored { layer, file, why }),
            // The name is part of each policy's identity, which is shown and recorded.
            None if file.chars().any(char::is_control) => {
                let text = Err("has a control character in its name".to_owned());
                sources.files.push(PolicyFile { layer, file, text });
            }
            None => {
                let text = folder.read_file(&name).and_then(text);
                sources.files.push(PolicyFile { layer, file, text });
            }
        }
    }
    Ok(())
}

fn no_policy(name: &Path) -> Option<&'static str> {
    if name == Path::new(TOOL_LOCK) {
        return Some("a project's policies bring no lock of tools");
    }
    let bytes = name.as_os_str().as_encoded_bytes();
    if !bytes.ends_with(b".cedar") {
        return Some("its name does not end with `.cedar`");
    }
    bytes
        .starts_with(b".#")
        .then_some("it is an editor's lock file")
}

pub(super) fn text(bytes: Vec<u8>) -> Result<String, String> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("is not UTF-8 text (byte {})", at + 1)
    })?;
    Ok(text
        .strip_prefix('\u{feff}')
        .map(str::to_owned)
        .unwrap_or(text))
}

#[cfg(test)]
#[path = "tests/policies.rs"]
mod tests;
