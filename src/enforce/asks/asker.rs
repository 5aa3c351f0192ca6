//! A server that may ask back: who it is, what it was told that it may ask, and the links that it sent
//! the person to.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::grant::Grant;
use crate::request::ServerFacts;
use crate::transport::{Holds, Upstream};

use super::offers::Offers;

/// A server that is connected and has not shaken hands yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Newcomer<'a> {
    pub(crate) upstream: &'a Upstream,
    pub(crate) facts: &'a ServerFacts,
    pub(crate) holds: &'a Holds,
    pub(crate) grant: &'a Grant,
}

impl Newcomer<'_> {
    /// Whether its sandbox lets it read this folder: what was decided at its start.
    pub(super) fn reads(&self, folder: &Path) -> bool {
        let granted = self.grant.read.iter().chain(&self.grant.write);
        let mut granted = granted.filter(|path| !self.grant.hide.contains(path));
        granted.any(|path| folder.starts_with(path))
    }
}

/// A server that may ask back.
#[derive(Debug)]
pub(crate) struct Asker {
    /// As it was when it started.
    pub(crate) facts: ServerFacts,
    /// What it was told that it may ask.
    pub(crate) declared: Offers,
    /// What a modern server may be told with a call, as far as the client offers it then.
    pub(crate) offers: Offers,
    /// The project's root, where it may read it.
    pub(super) root: Option<std::path::PathBuf>,
    /// What stands while it waits for a person or a model.
    pub(super) holds: Holds,
    /// Links that the person was sent to: the server's id and ours.
    links: Mutex<VecDeque<(String, String)>>,
    refused: AtomicU64,
}

/// So many links are remembered.
const LINKS_MAX: usize = 64;

/// Requests that were refused: so many go on record, and after them nothing is asked any more.
const REFUSED_MAX: u64 = 500;

impl Asker {
    pub(crate) fn new(
        newcomer: Newcomer<'_>,
        (declared, offers): (Offers, Offers),
        root: Option<&Path>,
    ) -> Self {
        let root = root.filter(|root| newcomer.reads(root));
        Self {
            facts: newcomer.facts.clone(),
            declared,
            offers,
            root: root.map(Path::to_owned),
            holds: newcomer.holds.clone(),
            links: Mutex::default(),
            refused: AtomicU64::new(0),
        }
    }

    /// As people and policies name it.
    pub(super) fn name(&self) -> String {
        self.facts.id.to_string()
    }

    /// Notes a link that the person is sent to.
    pub(super) fn opens(&self, theirs: &str, ours: &str) {
        let mut links = self.lock();
        if links.len() == LINKS_MAX {
            links.pop_front();
        }
        links.push_back((theirs.to_owned(), ours.to_owned()));
    }

    /// Our id of a link that this server sent the person to, once: it is done.
    pub(crate) fn done(&self, theirs: &str) -> Option<String> {
        let mut links = self.lock();
        let at = links.iter().position(|(id, _)| id == theirs)?;
        links.remove(at).map(|(_, ours)| ours)
    }

    /// Counts a refusal.
    pub(super) fn count_refusal(&self) {
        if self.refused.fetch_add(1, Ordering::Relaxed) + 1 == REFUSED_MAX {
            let name = crate::clean::line(&self.name(), 120);
            tracing::warn!("{name} was refused {REFUSED_MAX} times and is not heard any more");
        }
    }

    /// Whether it was refused so often that it is not listened to any more.
    pub(super) fn is_tiresome(&self) -> bool {
        self.refused.load(Ordering::Relaxed) >= REFUSED_MAX
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, String)>> {
        self.links.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
