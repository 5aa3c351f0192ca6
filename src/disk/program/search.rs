//! Where a named program lies: a path by its slash, a bare name along `PATH`.

use std::fs;
use std::path::{Path, PathBuf};

use super::artefact::{ProgramError, shown};
use super::os;

/// The file that a command names, links not followed.
///
/// Only absolute folders of `PATH` are searched: an empty or relative entry would let the working
/// folder, often a cloned repository, decide what `git` is.
pub(super) fn program(command: &str, cwd: &Path, path: &str) -> Result<PathBuf, ProgramError> {
    let error = |why: String| ProgramError {
        command: command.to_owned(),
        why,
    };
    if command.is_empty() {
        return Err(error("names no program".to_owned()));
    }
    if command.contains('/') {
        let file = cwd.join(command);
        return match fs::metadata(&file) {
            Ok(metadata) if !metadata.is_file() => Err(error("is no regular file".to_owned())),
            Ok(_) if !os::is_executable(&file) => {
                let path = shown(&file);
                Err(error(format!(
                    "cannot be executed; try `chmod +x` on {path}"
                )))
            }
            Ok(_) => Ok(file),
            Err(cause) => Err(error(format!("cannot be found in {}: {cause}", shown(cwd)))),
        };
    }
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let found = folders
        .map(|folder| folder.join(command))
        .find(|file| file.is_file() && os::is_executable(file));
    found.ok_or_else(|| {
        error("is in no folder of PATH; install it, or write its whole path".to_owned())
    })
}

/// The interpreter that a script names in its first line, and that line's argument.
pub(super) fn shebang(head: &[u8]) -> Option<(String, Option<String>)> {
    let line = head.strip_prefix(b"#!")?;
    let end = line.iter().position(|byte| *byte == b'\n')?;
    let line = String::from_utf8_lossy(line.get(..end)?).trim().to_owned();
    let (program, argument) = match line.split_once([' ', '\t']) {
        Some((program, argument)) => (program.to_owned(), Some(argument.trim().to_owned())),
        None => (line, None),
    };
    (!program.is_empty()).then_some((program, argument))
}
