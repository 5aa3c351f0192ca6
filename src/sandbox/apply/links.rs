//! Files with a second name: a guard covers names, so what goes through the other name passes it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Entries of one guarded folder that are looked at.
const ENTRIES_MAX: usize = 256;

/// The files at these paths, or directly in them, that have a second hard link.
pub(crate) fn second_names(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in paths {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => {
                let entries = fs::read_dir(path).into_iter().flatten().flatten();
                let entries = entries.take(ENTRIES_MAX).map(|entry| entry.path());
                found.extend(entries.filter(|entry| has_second_name(entry)));
            }
            Ok(_) if has_second_name(path) => found.push(path.clone()),
            _ => {}
        }
    }
    found
}

fn has_second_name(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.nlink() > 1)
}
