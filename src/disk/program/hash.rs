//! Hashing of files and folders: streamed, bounded, and void when a file changes meanwhile.

use std::collections::BTreeMap;
use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use crate::digest::{Digest, DigestBuilder};
use crate::grant::FileStamp;

use super::os;

/// A digest with the files it is made of.
#[derive(Clone, Debug)]
pub(super) struct Hashed {
    pub(super) digest: Digest,
    pub(super) stamps: Vec<FileStamp>,
}

/// The largest file that is hashed.
const FILE_MAX: u64 = 4 << 30;
/// Bounds of a folder: a package with more is pinned by its lock file alone.
const TREE_FILES_MAX: usize = 5_000;
const TREE_BYTES_MAX: u64 = 128 << 20;
const TREE_DEPTH_MAX: usize = 24;
/// Folders that hold no code of the package itself, or change with every run.
const SKIPPED: &[&str] = &["node_modules", "__pycache__", ".git"];

/// Hashes one file.
pub(super) fn file(path: &Path) -> io::Result<Hashed> {
    let path = fs::canonicalize(path)?;
    let handle = os::open(&path)?;
    let before = handle.metadata()?;
    if !before.is_file() {
        return Err(io::Error::other("is no regular file"));
    }
    if before.len() > FILE_MAX {
        return Err(io::Error::other("is larger than 4 GiB"));
    }
    let stamp = os::stamp(&path, &before);
    let digest = match known(&stamp) {
        Some(digest) => digest,
        None => stream(&mut (&handle).take(FILE_MAX + 1))?,
    };
    if os::stamp(&path, &handle.metadata()?) != stamp {
        return Err(io::Error::other("changes while it is read"));
    }
    keep(&stamp, digest);
    Ok(Hashed {
        digest,
        stamps: vec![stamp],
    })
}

/// Digests of large files of this process by what they were: an interpreter of 100 MB is read once
/// for all servers that it runs. The change time in the stamp cannot be set by a program.
static LARGE: Mutex<BTreeMap<Stamp, Digest>> = Mutex::new(BTreeMap::new());

type Stamp = (u64, u64, u64, i128);

const LARGE_MIN: u64 = 1 << 20;
const LARGE_COUNT_MAX: usize = 1_000;

fn key(stamp: &FileStamp) -> Stamp {
    (stamp.device, stamp.inode, stamp.size, stamp.changed_ns)
}

fn known(stamp: &FileStamp) -> Option<Digest> {
    // Where a file has no number of its own, two files may have one stamp.
    if stamp.size < LARGE_MIN || stamp.inode == 0 {
        return None;
    }
    LARGE.lock().ok()?.get(&key(stamp)).copied()
}

fn keep(stamp: &FileStamp, digest: Digest) {
    if let Ok(mut large) = LARGE.lock()
        && stamp.size >= LARGE_MIN
        && large.len() < LARGE_COUNT_MAX
    {
        large.insert(key(stamp), digest);
    }
}

/// Chunks are framed one by one and have one size, so that equal content has an equal digest
/// however the system cuts its reads.
fn stream(reader: &mut impl Read) -> io::Result<Digest> {
    let mut digest = DigestBuilder::new("file/1");
    let mut chunk = Vec::with_capacity(CHUNK);
    loop {
        chunk.clear();
        let limit = u64::try_from(CHUNK).unwrap_or(u64::MAX);
        if reader.by_ref().take(limit).read_to_end(&mut chunk)? == 0 {
            return Ok(digest.finish());
        }
        digest.field(&chunk);
    }
}

const CHUNK: usize = 256 << 10;

/// Hashes all files of a folder with their names below it. `None` when it is too large.
pub(super) fn tree(root: &Path) -> io::Result<Option<Hashed>> {
    let root = fs::canonicalize(root)?;
    let Some(files) = list(&root)? else {
        return Ok(None);
    };
    let mut digest = DigestBuilder::new("tree/1");
    let mut stamps = Vec::new();
    for (name, path) in files {
        digest.field(name.as_os_str().as_encoded_bytes());
        let metadata = fs::symlink_metadata(&path)?;
        if metadata.is_symlink() {
            digest.field(fs::read_link(&path)?.as_os_str().as_encoded_bytes());
        } else {
            let hashed = file(&path)?;
            digest.field(hashed.digest.as_bytes());
            stamps.extend(hashed.stamps);
        }
    }
    let digest = digest.finish();
    Ok(Some(Hashed { digest, stamps }))
}

/// Files and links below a folder in the order of their names. Links are not followed.
fn list(root: &Path) -> io::Result<Option<Vec<(PathBuf, PathBuf)>>> {
    let mut files = Vec::new();
    let mut bytes = 0;
    let mut folders = vec![(root.to_owned(), 0)];
    while let Some((folder, depth)) = folders.pop() {
        for entry in fs::read_dir(&folder)? {
            let entry = entry?;
            let metadata = fs::symlink_metadata(entry.path())?;
            if metadata.is_dir() {
                let skipped = SKIPPED.iter().any(|name| entry.file_name() == *name);
                folders.extend((!skipped).then(|| (entry.path(), depth + 1)));
            } else if metadata.is_file() || metadata.is_symlink() {
                bytes += size(&metadata);
                let path = entry.path();
                let name = path.strip_prefix(root).unwrap_or(&path).to_owned();
                files.push((name, path));
            }
            if files.len() > TREE_FILES_MAX || bytes > TREE_BYTES_MAX || depth > TREE_DEPTH_MAX {
                return Ok(None);
            }
        }
    }
    files.sort();
    Ok(Some(files))
}

fn size(metadata: &Metadata) -> u64 {
    if metadata.is_file() {
        metadata.len()
    } else {
        0
    }
}

/// A small text file, such as a package's description; nothing when it is larger or no text.
pub(super) fn small_text(path: &Path, bytes_max: u64) -> Option<String> {
    let handle = os::open(path).ok()?;
    if !handle.metadata().ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    handle.take(bytes_max + 1).read_to_end(&mut bytes).ok()?;
    if u64::try_from(bytes.len()).ok()? > bytes_max {
        return None;
    }
    String::from_utf8(bytes).ok()
}
