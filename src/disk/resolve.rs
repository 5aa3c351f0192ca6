//! Turns the text of a path into the file it names: absolute, all links followed, the last one
//! too, no `.` and `..`. What does not exist yet is judged by where it would be created.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Component, Path, PathBuf};

use super::os;

/// As many links as Linux follows.
const LINKS_MAX: u32 = 40;
/// Parts of a path, links included, that are walked.
const PARTS_MAX: u32 = 4096;

/// Why a path cannot be resolved; it is then denied.
#[derive(Debug)]
pub(crate) enum ResolveError {
    /// It holds a NUL.
    Nul,
    /// It starts with `~` and there is no home folder.
    NoHome,
    /// A `file:` URL of another form than `file:///path`.
    Url(&'static str),
    /// Too many links, or parts.
    Loop(PathBuf),
    /// A `..` after a link: a program that shortens the text first would open another file than
    /// one that follows the link first.
    Ambiguous,
    /// The system refused to look at a part.
    Io(PathBuf, io::Error),
}

impl fmt::Display for ResolveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nul => f.write_str("the path holds a NUL character"),
            Self::NoHome => f.write_str("the path starts with `~`, and there is no home folder"),
            Self::Url(why) => write!(f, "the file URL {why}"),
            Self::Loop(path) => write!(f, "too many symbolic links at `{}`", path.display()),
            Self::Ambiguous => f.write_str(
                "the path has a `..` after a symbolic link, so programs disagree on what it names; \
                 name the file without it",
            ),
            Self::Io(path, cause) => write!(f, "cannot look at `{}`: {cause}", path.display()),
        }
    }
}

impl std::error::Error for ResolveError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, cause) => Some(cause),
            _ => None,
        }
    }
}

/// Resolves the text of a path against an absolute folder. `~` and `~/x` are below `home`,
/// `file:///x` is decoded once; a `%2e` elsewhere is part of a name.
pub(crate) fn resolve(
    text: &str,
    base: &Path,
    home: Option<&Path>,
) -> Result<PathBuf, ResolveError> {
    let named = named(text, home)?;
    if named.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(ResolveError::Nul);
    }
    let full = base.join(named);
    let found = follow(&full)?;
    if full.components().any(|part| part == Component::ParentDir)
        && follow(&shortened(&full))? != found
    {
        return Err(ResolveError::Ambiguous);
    }
    Ok(found)
}

/// A path as text for policies and records. Bytes that are not UTF-8 stand as `\xNN`; a `\x` that
/// is really in the name stands as `\x5cx`, so that no two paths have one text.
pub(crate) fn path_text(path: &Path) -> String {
    let mut text = String::new();
    for chunk in path.as_os_str().as_encoded_bytes().utf8_chunks() {
        text.push_str(&chunk.valid().replace("\\x", "\\x5cx"));
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}

fn named(text: &str, home: Option<&Path>) -> Result<PathBuf, ResolveError> {
    if let Some(scheme) = text.get(..5)
        && scheme.eq_ignore_ascii_case("file:")
    {
        return from_url(text.get(5..).unwrap_or_default());
    }
    match text.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let home = home.ok_or(ResolveError::NoHome)?;
            Ok(home.join(rest.trim_start_matches('/')))
        }
        _ => Ok(PathBuf::from(text)),
    }
}

fn from_url(rest: &str) -> Result<PathBuf, ResolveError> {
    let path = match rest.strip_prefix("//") {
        Some(after) => {
            let (host, _) = after.split_once('/').unwrap_or((after, ""));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return Err(ResolveError::Url("names another machine"));
            }
            after.strip_prefix(host).unwrap_or_default()
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err(ResolveError::Url("holds no absolute path"));
    }
    if path.contains(['?', '#']) {
        return Err(ResolveError::Url("has a query or fragment"));
    }
    os::path_from(percent_decoded(path)?).ok_or(ResolveError::Url("holds no path of this system"))
}

fn percent_decoded(path: &str) -> Result<Vec<u8>, ResolveError> {
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
        let (Some(high), Some(low)) = (digit(), digit()) else {
            return Err(ResolveError::Url("has a `%` without two digits"));
        };
        match u8::try_from(high * 16 + low).unwrap_or_default() {
            0 => return Err(ResolveError::Nul),
            // Programs disagree on whether it separates folders.
            b'/' | b'\\' => return Err(ResolveError::Url("has an encoded slash")),
            byte => bytes.push(byte),
        }
    }
    Ok(bytes)
}

/// The path with `.` and `..` taken out as text.
fn shortened(path: &Path) -> PathBuf {
    let mut short = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(short.pop()),
            Component::CurDir => {}
            part => short.push(part),
        }
    }
    short
}

/// Walks the path as the system would.
fn follow(path: &Path) -> Result<PathBuf, ResolveError> {
    let mut todo: VecDeque<OsString> = parts(path);
    let mut done = PathBuf::new();
    let mut links = 0;
    let mut walked = 0;
    while let Some(part) = todo.pop_front() {
        walked += 1;
        if walked > PARTS_MAX {
            return Err(ResolveError::Loop(done));
        }
        if part == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&part);
        let Some(target) = link_target(&next)? else {
            done = next;
            continue;
        };
        links += 1;
        if links > LINKS_MAX {
            return Err(ResolveError::Loop(next));
        }
        for part in parts(&target).into_iter().rev() {
            todo.push_front(part);
        }
    }
    Ok(done)
}

/// The parts of a path, `..` included; the root is a part of its own, so that joining an absolute
/// link's target starts over.
fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter(|part| *part != Component::CurDir)
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

/// Where a link points to; `None` for anything else, also for what does not exist.
fn link_target(path: &Path) -> Result<Option<PathBuf>, ResolveError> {
    let fail = |error| ResolveError::Io(path.to_owned(), error);
    match path.symlink_metadata() {
        Ok(meta) if meta.file_type().is_symlink() => path.read_link().map(Some).map_err(fail),
        Ok(_) => Ok(None),
        // Below a file, or below nothing, there is nothing to follow.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(error) => Err(fail(error)),
    }
}

#[cfg(test)]
#[path = "tests/resolve.rs"]
mod tests;
