//! Signed heads, added to a file that another machine or a backup reads. Each is of records that are
//! on the disk already.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::audit::{Checkpoint, Head};
use crate::digest::KeyPair;

use super::clock::clock;
use super::os;

/// At least so often while records are written.
const EVERY: Duration = Duration::from_secs(60);
/// And after so many of them.
const EVERY_RECORDS: u64 = 256;

/// Where checkpoints go.
#[derive(Debug)]
pub(super) struct Checkpoints {
    path: PathBuf,
    keys: KeyPair,
    last: Option<(u64, Instant)>,
}

/// Whether a checkpoint may wait for more records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Haste {
    Wait,
    Now,
}

impl Checkpoints {
    pub(super) fn new(path: &Path, keys: KeyPair) -> Self {
        Self {
            path: path.to_owned(),
            keys,
            last: None,
        }
    }

    /// Adds a checkpoint, when it is time for one.
    pub(super) fn keep(&mut self, head: Head, haste: Haste) -> io::Result<()> {
        if !self.is_due(head, haste) {
            return Ok(());
        }
        // A place that fails is tried again no sooner than one that works.
        self.last = Some((head.seq, Instant::now()));
        let line = format!("{}\n", Checkpoint::sign(head, clock(), &self.keys));
        let mut options = OpenOptions::new();
        let mut file = os::guarded(options.append(true).create(true)).open(&self.path)?;
        file.write_all(line.as_bytes())?;
        file.sync_data()
    }

    fn is_due(&self, head: Head, haste: Haste) -> bool {
        match self.last {
            Some((seq, _)) if seq >= head.seq => false,
            Some((seq, at)) => {
                haste == Haste::Now || head.seq - seq >= EVERY_RECORDS || at.elapsed() >= EVERY
            }
            None => head.seq > 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;

    #[test]
    fn a_checkpoint_is_kept_when_it_is_time() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoints");
        let mut checkpoints = Checkpoints::new(&path, KeyPair::new(&[7; 32]));
        let mut check = |seq: u64, haste: Haste, want: &[u64]| {
            let digest = Digest::of(seq.to_string());
            checkpoints.keep(Head { seq, digest }, haste).unwrap();
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            let seqs: Vec<u64> = text
                .lines()
                .map(|line| Checkpoint::parse(line).unwrap().head().seq)
                .collect();
            assert_eq!(seqs, want);
        };
        check(0, Haste::Now, &[]);
        check(1, Haste::Wait, &[1]);
        check(200, Haste::Wait, &[1]);
        check(257, Haste::Wait, &[1, 257]);
        check(258, Haste::Wait, &[1, 257]);
        check(258, Haste::Now, &[1, 257, 258]);
        check(258, Haste::Now, &[1, 257, 258]);
    }
}
