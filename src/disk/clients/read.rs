//! Reads a client's file: nobody else may have written it, no FIFO or device is waited for, and a
//! link is followed within the user's own home alone, and said.

use std::path::{Path, PathBuf};

use crate::config::import::{Client, Scope};

use super::super::os;
use super::super::program::os as program_os;
use super::super::read::{self, ReadErrorKind};
use super::places::{ClientFile, Homes};

/// The largest file of a client: some keep their history beside the servers.
const FILE_MAX: u64 = 32 << 20;

/// A file that was read.
#[derive(Clone, Debug)]
pub(crate) struct ReadFile {
    /// What was asked for.
    pub(crate) file: ClientFile,
    /// The file itself, when a link was followed to it.
    pub(crate) target: Option<PathBuf>,
    /// Its text.
    pub(crate) text: String,
}

/// Reads a file; `None` when there is none.
///
/// # Errors
/// Why it is not read, in words that follow its name.
pub(crate) fn read_file(file: ClientFile, homes: Homes<'_>) -> Result<Option<ReadFile>, String> {
    let opened = match (file.scope, homes.project) {
        (Scope::Project, Some(root)) => {
            let relative = file
                .path
                .strip_prefix(root)
                .map_err(|_| "lies outside the project")?;
            there(read::open_below(root, relative))?
        }
        _ => there(read::regular(program_os::open(&file.path)))?,
    };
    let Some((handle, metadata)) = opened else {
        return Ok(None);
    };
    if !os::is_own(&metadata) && !os::is_roots(&metadata) {
        return Err("belongs to another user".to_owned());
    }
    if file.scope == Scope::User && os::anybody_writes(&metadata) {
        return Err("can be changed by every user of this machine; try `chmod o-w`".to_owned());
    }
    let target = match file.scope {
        Scope::User => followed(&file.path, homes.home)?,
        Scope::Project => None,
    };
    let bytes = read::read_regular(handle, FILE_MAX).map_err(|kind| kind.to_string())?;
    let text = String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        format!("is not UTF-8 text (byte {at})")
    })?;
    Ok(Some(ReadFile { file, target, text }))
}

/// A file that a person names: below the project it is the project's word, whoever names it.
///
/// # Errors
/// As [`read_file`]; when there is none, or whose it is cannot be told.
pub(crate) fn named_file(
    path: &Path,
    client: Option<Client>,
    homes: Homes<'_>,
) -> Result<ReadFile, String> {
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let real = folder
        .canonicalize()
        .map_err(|error| format!("cannot be read: {error}"))?;
    let name = path.file_name().ok_or("names no file")?;
    let of_project = homes.project.is_some_and(|root| real.starts_with(root));
    let mut file = ClientFile {
        client: client.unwrap_or(Client::ClaudeCode),
        scope: if of_project {
            Scope::Project
        } else {
            Scope::User
        },
        path: real.join(name),
    };
    let read = read_file(file.clone(), homes)?.ok_or("does not exist")?;
    let known = client.or_else(|| Client::of_file(&file.path, &read.text));
    file.client = known.ok_or("is not known by its name: say whose it is with `--from`")?;
    Ok(ReadFile { file, ..read })
}

/// The file behind a link, which must lie in the user's home.
pub(super) fn followed(path: &Path, home: Option<&Path>) -> Result<Option<PathBuf>, String> {
    let real = path
        .canonicalize()
        .map_err(|error| format!("cannot be resolved: {error}"))?;
    let plain = path.parent().and_then(|folder| folder.canonicalize().ok());
    let plain = plain
        .zip(path.file_name())
        .map(|(folder, name)| folder.join(name));
    if plain.as_ref() == Some(&real) {
        return Ok(None);
    }
    if home.is_some_and(|home| real.starts_with(home)) {
        return Ok(Some(real));
    }
    Err("is a link that leads out of your home folder, and is not followed".to_owned())
}

fn there<T>(opened: Result<T, ReadErrorKind>) -> Result<Option<T>, String> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(ReadErrorKind::Missing) => Ok(None),
        Err(kind) => Err(kind.to_string()),
    }
}
