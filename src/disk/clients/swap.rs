//! Puts a new text in the place of a client's file, with a copy of the old one beside it; and takes
//! that back, byte for byte. What stands where is on record in Creance's own folder: a stranger's
//! file beside a client's is no copy.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use crate::digest::Digest;

use super::super::os;
use super::super::program::os as program_os;
use super::super::read::{self, ReadErrorKind, read_regular, regular, safe_read};
use super::super::write::{write_atomic, write_atomic_as};
use super::read::followed;

/// The largest file that is put back.
const FILE_MAX: u64 = 32 << 20;

/// What is to be done.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange<'a> {
    /// The client's file as it is named.
    pub(crate) path: &'a Path,
    /// The user's home: a link is followed within it alone.
    pub(crate) home: Option<&'a Path>,
    /// Creance's own folder of state.
    pub(crate) state: &'a Path,
    /// The time.
    pub(crate) now_ms: i64,
    /// A file that was changed since is put back too.
    pub(crate) force: bool,
}

/// What was taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Back {
    /// The original stands there again.
    Restored,
    /// There was no file before, and there is none again.
    Removed,
    /// The original stood there already.
    Already,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    file: PathBuf,
    backup: Option<PathBuf>,
    before: Option<Digest>,
    after: Digest,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Records {
    v: u64,
    exports: Vec<Record>,
}

/// Replaces the text that was read with a new one; returns the copy of the old one. In this order:
/// copy, record, file. Whatever is interrupted, the original is there.
///
/// # Errors
/// When the file is no longer what was read, or something cannot be written; the file is then as it was.
pub(crate) fn exchange(
    terms: Exchange<'_>,
    before: Option<&str>,
    after: &str,
) -> Result<Option<PathBuf>, String> {
    let target = target(terms)?;
    let now = current(&target)?;
    if now.as_ref().map(|now| now.bytes.as_slice()) != before.map(str::as_bytes) {
        return Err("was changed while this command ran: nothing was done; try again".to_owned());
    }
    if now.as_ref().is_some_and(|now| now.rights.readonly()) {
        return Err("is read-only; try `chmod u+w`".to_owned());
    }
    let folder = target.parent().ok_or("lies in no folder")?;
    if !folder.is_dir() {
        let folder = folder.display();
        return Err(format!(
            "cannot be made: there is no folder `{folder}`; start the client once"
        ));
    }
    let backup = match before {
        Some(before) => Some(copy(&target, before.as_bytes(), terms.now_ms)?),
        None => None,
    };
    let record = Record {
        file: target.clone(),
        backup: backup.clone(),
        before: before.map(Digest::of),
        after: Digest::of(after),
    };
    let mut records = records(terms.state)?;
    records.exports.push(record);
    save(terms.state, &records)?;
    let rights = now.map(|now| now.rights);
    write_atomic_as(&target, after.as_bytes(), rights.as_ref()).map_err(failed)?;
    Ok(backup)
}

/// Takes the last exchange of this file back. By force also when the file was changed since: what
/// stands there then is copied first, and the copy is named.
///
/// # Errors
/// When there is nothing to take back, the file was changed since, or the copy is not the original.
pub(crate) fn roll_back(terms: Exchange<'_>) -> Result<(Back, Option<PathBuf>), String> {
    let target = target(terms)?;
    let mut records = records(terms.state)?;
    let found = records
        .exports
        .iter()
        .rposition(|record| record.file == target);
    let Some(at) = found else {
        return Err("was not exported to, or was rolled back already".to_owned());
    };
    let record = records.exports.remove(at);
    let now = current(&target)?;
    let digest = now.as_ref().map(|now| Digest::of(&now.bytes));
    if digest == record.before {
        save(terms.state, &records)?;
        return Ok((Back::Already, record.backup));
    }
    let mut kept = None;
    if digest != Some(record.after) {
        if !terms.force {
            return Err(
                "was changed since the export: nothing was done; `--force` puts the original back \
                 and keeps a copy of what is there now"
                    .to_owned(),
            );
        }
        if let Some(now) = &now {
            kept = Some(copy(&target, &now.bytes, terms.now_ms)?);
        }
    }
    let Some((backup, before)) = record.backup.as_ref().zip(record.before) else {
        if now.is_some() {
            fs::remove_file(&target).map_err(failed)?;
        }
        save(terms.state, &records)?;
        return Ok((Back::Removed, kept));
    };
    let original = safe_read(backup, FILE_MAX).map_err(|error| format!("has no copy: {error}"))?;
    if Digest::of(&original) != before {
        let backup = backup.display();
        return Err(format!(
            "cannot be put back: the copy `{backup}` is not the original any more"
        ));
    }
    let rights = now.map(|now| now.rights);
    write_atomic_as(&target, &original, rights.as_ref()).map_err(failed)?;
    save(terms.state, &records)?;
    // What it held stands in the file again.
    let _ = fs::remove_file(backup);
    Ok((Back::Restored, kept))
}

struct Current {
    bytes: Vec<u8>,
    rights: fs::Permissions,
}

fn target(terms: Exchange<'_>) -> Result<PathBuf, String> {
    if terms.path.symlink_metadata().is_err() {
        return Ok(terms.path.to_owned());
    }
    let followed = followed(terms.path, terms.home)?;
    Ok(followed.unwrap_or_else(|| terms.path.to_owned()))
}

fn current(target: &Path) -> Result<Option<Current>, String> {
    match regular(program_os::open(target)) {
        Ok((file, metadata)) => {
            if !os::is_own(&metadata) && !os::is_roots(&metadata) {
                return Err("belongs to another user".to_owned());
            }
            let bytes = read_regular(file, FILE_MAX).map_err(|kind| kind.to_string())?;
            let rights = metadata.permissions();
            Ok(Some(Current { bytes, rights }))
        }
        Err(ReadErrorKind::Missing) => Ok(None),
        Err(kind) => Err(kind.to_string()),
    }
}

/// A private copy next to the file, under a name that nothing has.
fn copy(target: &Path, bytes: &[u8], now_ms: i64) -> Result<PathBuf, String> {
    let since = Duration::from_millis(u64::try_from(now_ms).unwrap_or_default());
    let stamp = humantime::format_rfc3339_seconds(UNIX_EPOCH + since).to_string();
    let stamp = stamp.replace([':', '-'], "");
    for n in 1..100 {
        let mut name = target.as_os_str().to_owned();
        name.push(format!(".creance-{stamp}"));
        if n > 1 {
            name.push(format!("-{n}"));
        }
        name.push(".bak");
        let mut options = OpenOptions::new();
        let opened = os::guarded(options.write(true).create_new(true)).open(&name);
        let mut file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
            Err(error) => return Err(format!("gets no copy beside it: {error}")),
        };
        let written = file.write_all(bytes).and_then(|()| file.sync_all());
        if let Err(error) = written {
            let _ = fs::remove_file(&name);
            return Err(format!("gets no copy beside it: {error}"));
        }
        return Ok(PathBuf::from(name));
    }
    Err("has too many copies beside it".to_owned())
}

fn record_file(state: &Path) -> PathBuf {
    state.join("exports.json")
}

fn records(state: &Path) -> Result<Records, String> {
    let file = record_file(state);
    let bytes = match safe_read(&file, FILE_MAX) {
        Ok(bytes) => bytes,
        Err(read::ReadError {
            kind: ReadErrorKind::Missing,
            ..
        }) => {
            return Ok(Records {
                v: VERSION,
                exports: Vec::new(),
            });
        }
        Err(error) => return Err(format!("is not touched: {error}")),
    };
    let records: Records = serde_json::from_slice(&bytes)
        .map_err(|error| format!("is not touched: `{}`: {error}", file.display()))?;
    if records.v != VERSION {
        return Err(format!(
            "is not touched: `{}` is of another version",
            file.display()
        ));
    }
    Ok(records)
}

fn save(state: &Path, records: &Records) -> Result<(), String> {
    let text = serde_json::to_string_pretty(records).map_err(|error| error.to_string())?;
    write_atomic(&record_file(state), text.as_bytes()).map_err(failed)
}

fn failed(error: io::Error) -> String {
    format!("cannot be written: {error}")
}

const VERSION: u64 = 1;
