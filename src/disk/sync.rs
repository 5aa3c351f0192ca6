//! Brings written records to the disk: a thread of its own syncs them in groups, at most 50 ms
//! after the first of a group was written, so that no effect waits for the disk.

use std::fs::File;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::audit::Head;
use crate::digest::KeyPair;

use super::checkpoints::{Checkpoints, Haste};

/// When a record must be on the disk. It is always written (and seen by other processes, and safe
/// from a crash of Creance) before its effect.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// At most 50 ms later, in groups: a power cut may take the last records.
    #[default]
    Grouped,
    /// Before `append` returns.
    Always,
}

/// How long records gather; the rest of the 50 ms is for the disk.
const GATHER: Duration = Duration::from_millis(20);

/// The thread and what it is to do.
#[derive(Debug)]
pub(super) struct Syncer {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    work: Mutex<Work>,
    changed: Condvar,
    checkpoints: Mutex<Option<Checkpoints>>,
}

#[derive(Debug, Default)]
struct Work {
    /// Files with records that are not known to be on the disk; more than one after a rotation.
    unsynced: Vec<Arc<File>>,
    /// The last record that was written.
    head: Option<Head>,
    stop: bool,
    failed: Option<String>,
    /// Why the last checkpoint was not kept.
    not_kept: Option<String>,
}

impl Syncer {
    pub(super) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("audit-sync".to_owned())
            .spawn(move || of_thread.run());
        Self {
            shared,
            // Without a thread every append syncs by itself.
            thread: thread.ok(),
        }
    }

    /// Says that checkpoints are kept, and where.
    pub(super) fn keep_checkpoints(&self, path: &Path, keys: KeyPair) {
        let checkpoints = Some(Checkpoints::new(path, keys));
        *self.shared.lock_checkpoints() = checkpoints;
    }

    /// Says that records up to `head` were written to this file.
    pub(super) fn written(&self, file: &Arc<File>, head: Head) {
        let mut work = self.shared.lock();
        work.head = Some(head);
        if !work
            .unsynced
            .last()
            .is_some_and(|last| Arc::ptr_eq(last, file))
        {
            work.unsynced.push(Arc::clone(file));
            self.shared.changed.notify_all();
        }
        drop(work);
        if self.thread.is_none() {
            self.shared.sync(Haste::Wait);
        }
    }

    /// Syncs now what was written. A failure is kept for [`Syncer::take_failure`].
    pub(super) fn flush(&self) {
        self.shared.sync(Haste::Now);
    }

    /// Why the last checkpoint was not kept, once.
    pub(super) fn take_not_kept(&self) -> Option<String> {
        self.shared.lock().not_kept.take()
    }

    /// Why the last sync failed, once.
    pub(super) fn take_failure(&self) -> Option<String> {
        self.shared.lock().failed.take()
    }

    /// Keeps a failure that was taken but could not be dealt with.
    pub(super) fn put_back_failure(&self, failure: Option<String>) {
        if let Some(failure) = failure {
            self.shared.lock().failed.get_or_insert(failure);
        }
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.shared.lock().stop = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // A panic there has been printed; the records are synced here.
            drop(thread.join());
        }
        self.shared.sync(Haste::Now);
    }
}

impl Shared {
    fn lock_checkpoints(&self) -> MutexGuard<'_, Option<Checkpoints>> {
        self.checkpoints
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Work> {
        self.work.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let idle = |work: &mut Work| work.unsynced.is_empty() && !work.stop;
            let work = self
                .changed
                .wait_while(self.lock(), idle)
                .unwrap_or_else(PoisonError::into_inner);
            let gathered = self
                .changed
                .wait_timeout_while(work, GATHER, |work| !work.stop);
            let (work, _) = gathered.unwrap_or_else(PoisonError::into_inner);
            let stop = work.stop;
            drop(work);
            self.sync(Haste::Wait);
            if stop {
                return;
            }
        }
    }

    fn sync(&self, haste: Haste) {
        let mut work = self.lock();
        let files = std::mem::take(&mut work.unsynced);
        let head = work.head;
        drop(work);
        for file in files {
            if let Err(error) = file.sync_data() {
                self.lock().failed = Some(error.to_string());
                return;
            }
        }
        // Of what is on the disk alone: a power cut must not look like a cut log.
        let mut checkpoints = self.lock_checkpoints();
        if let (Some(checkpoints), Some(head)) = (checkpoints.as_mut(), head)
            && let Err(error) = checkpoints.keep(head, haste)
        {
            self.lock().not_kept = Some(error.to_string());
        }
    }
}
