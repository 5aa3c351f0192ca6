//! The files of one audit log: the one that is written, the full ones before it, and the keys.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// The evolving key beside a log: `audit.jsonl.key` beside `audit.jsonl`.
pub(super) fn keys(log: &Path) -> PathBuf {
    beside(log, ".key")
}

/// The starting keys that nobody has taken away yet: `audit.jsonl.start`.
pub(super) fn start_keys(log: &Path) -> PathBuf {
    beside(log, ".start")
}

/// The key that signs checkpoints: `audit.jsonl.sign`.
pub(super) fn signing_key(log: &Path) -> PathBuf {
    beside(log, ".sign")
}

fn beside(log: &Path, ending: &str) -> PathBuf {
    let mut name = log.file_name().map(OsString::from).unwrap_or_default();
    name.push(ending);
    log.with_file_name(name)
}

/// A full file of a log.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Archive {
    /// The number of its first record, by its name.
    pub(super) first: u64,
    pub(super) path: PathBuf,
}

/// The full files of a log, in the order of their records.
pub(super) fn archives(log: &Path) -> io::Result<Vec<Archive>> {
    let folder = match log.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    for entry in folder.read_dir()? {
        let path = folder.join(entry?.file_name());
        if let Some(first) = first_of(log, &path) {
            found.push(Archive { first, path });
        }
    }
    found.sort();
    Ok(found)
}

/// Where a full file goes: `audit.000000000001.jsonl`. A name that is taken is not used again.
pub(super) fn archive(log: &Path, first: u64) -> io::Result<PathBuf> {
    for more in 1_u32..1000 {
        let mut name = log.file_stem().map(OsString::from).unwrap_or_default();
        name.push(format!(".{first:012}"));
        if more > 1 {
            name.push(format!("-{more}"));
        }
        if let Some(extension) = log.extension() {
            name.push(".");
            name.push(extension);
        }
        let path = log.with_file_name(name);
        match path.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Err(io::Error::other(
        "a thousand files have the same first record",
    ))
}

fn first_of(log: &Path, path: &Path) -> Option<u64> {
    let (stem, extension) = (log.file_stem()?.to_str()?, log.extension());
    if path.extension() != extension {
        return None;
    }
    let number = path
        .file_stem()?
        .to_str()?
        .strip_prefix(stem)?
        .strip_prefix('.')?;
    let (number, more) = number.split_once('-').unwrap_or((number, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (number.len() >= 12 && digits(number) && digits(more))
        .then(|| number.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_found_in_their_order() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("audit.jsonl");
        for (first, name) in [
            (70, "audit.000000000070.jsonl"),
            (1, "audit.000000000001.jsonl"),
            (70, "audit.000000000070-2.jsonl"),
        ] {
            let path = archive(&log, first).unwrap();
            assert_eq!(path.file_name().unwrap(), name);
            std::fs::write(path, "").unwrap();
        }
        for other in [
            "audit.jsonl",
            "audit.jsonl.key",
            "audit.7.jsonl",
            "audit.00000000000x.jsonl",
            "b.000000000001.jsonl",
        ] {
            std::fs::write(folder.path().join(other), "").unwrap();
        }
        let found = archives(&log).unwrap();
        let firsts: Vec<u64> = found.iter().map(|archive| archive.first).collect();
        assert_eq!(firsts, [1, 70, 70]);
    }
}
