//! Texts of a folder that a person names on the command line: policies, their tests, a bundle.

use std::path::{Path, PathBuf};

use super::policies::text;
use super::read::safe_read;
use super::resolve::path_text;

/// The largest file.
const FILE_MAX: u64 = 4 * 1024 * 1024;
/// The most entries of one folder.
const ENTRIES_MAX: usize = 50_000;

/// A file and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TextFile {
    /// Its path, as it was named.
    pub(crate) path: String,
    /// Its last part.
    pub(crate) name: String,
    /// Its text without a byte-order mark.
    pub(crate) text: String,
}

/// The names in a folder, sorted; a folder that does not exist has none.
pub(crate) fn names_in(folder: &Path) -> Result<Vec<String>, String> {
    let failed = |error: std::io::Error| format!("`{}` cannot be read: {error}", folder.display());
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut names = Vec::new();
    for entry in folder.read_dir().map_err(failed)? {
        if names.len() >= ENTRIES_MAX {
            return Err(format!(
                "`{}` holds more than {ENTRIES_MAX} files",
                folder.display()
            ));
        }
        names.push(path_text(&PathBuf::from(
            entry.map_err(failed)?.file_name(),
        )));
    }
    names.sort();
    Ok(names)
}

/// The files of a folder whose names end like this.
pub(crate) fn texts_in(folder: &Path, ending: &str) -> Result<Vec<TextFile>, String> {
    let names = names_in(folder)?.into_iter();
    let wanted = names.filter(|name| name.ends_with(ending) && !name.starts_with(".#"));
    wanted.map(|name| text_of(&folder.join(name))).collect()
}

/// One file. A link leads to the file that it names: the person who names it owns both.
pub(crate) fn text_of(path: &Path) -> Result<TextFile, String> {
    let failed = |why: String| format!("`{}`: {why}", path.display());
    let real = path
        .canonicalize()
        .map_err(|error| failed(error.to_string()))?;
    let bytes = safe_read(&real, FILE_MAX).map_err(|error| error.to_string())?;
    Ok(TextFile {
        path: path_text(path),
        name: path_text(&PathBuf::from(path.file_name().unwrap_or_default())),
        text: text(bytes).map_err(failed)?,
    })
}
