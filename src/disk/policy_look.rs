//! A look at the folders of policies that is cheap enough to take every second: it tells that
//! something may have changed there, and not what.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::digest::{Digest, DigestBuilder};

use super::os;
use super::policies::PolicyFolder;

/// The rest between two looks, at least.
const REST: Duration = Duration::from_secs(1);
/// A look takes at most one part in so many of the time.
const SHARE: u32 = 200;

/// What a look saw.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PolicyLook {
    /// The same as long as no file was added, removed, exchanged, written or given other rights.
    pub(crate) seen: Digest,
    /// How long to rest until the next look.
    pub(crate) rest: Duration,
}

/// Looks at the folders. What cannot be looked at is part of what is seen.
pub(crate) fn look_at_policies(folders: &[PolicyFolder]) -> PolicyLook {
    let begun = Instant::now();
    let mut digest = DigestBuilder::new("policy-look/1");
    for folder in folders {
        let path = folder.path();
        add(&mut digest, &path);
        let entries = path.read_dir().into_iter().flatten().flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.sort();
        for file in files.iter().take(folder.entries_max()) {
            add(&mut digest, file);
        }
    }
    PolicyLook {
        seen: digest.finish(),
        rest: REST.max(begun.elapsed() * SHARE),
    }
}

/// A link and what it leads to: both can be exchanged.
fn add(digest: &mut DigestBuilder, path: &Path) {
    digest.field(path.as_os_str().as_encoded_bytes());
    for meta in [path.symlink_metadata(), path.metadata()] {
        let said = meta.map(|meta| {
            let state = (os::identity(&meta), meta.len(), os::changed(&meta));
            format!("{state:?}")
        });
        digest.field(said.unwrap_or_else(|error| error.kind().to_string()));
    }
}

#[cfg(test)]
#[path = "tests/policy_look.rs"]
mod tests;
