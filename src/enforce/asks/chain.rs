//! Which calls and which requests to models are under way, and how deep: a model that asks a server
//! that asks a model. One stdio stream does not say which call a server's request belongs to; where
//! it is not clear, the longest chain counts.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::transport::{Account, Cancel, Origin};

/// All chains of one gateway; clones share them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chains(Arc<Mutex<Links>>);

#[derive(Debug, Default)]
struct Links {
    last: u64,
    calls: BTreeMap<u64, Call>,
    samples: BTreeMap<u64, OpenSample>,
    /// By server, also over its restarts.
    asked: HashMap<String, Asked>,
}

#[derive(Debug)]
struct Call {
    server: String,
    /// How many models stand before it.
    depth: u64,
    cancel: Cancel,
}

#[derive(Debug)]
struct OpenSample {
    server: String,
    /// How many models ask in a row; `None` while no model has it yet, which then calls nobody.
    depth: Option<u64>,
}

/// The chains, as far as they are about one server.
#[derive(Debug)]
pub(crate) struct Chain {
    pub(crate) chains: Chains,
    pub(crate) server: String,
}

impl Account for Chain {
    fn begin(&self, cancel: &Cancel) -> Box<dyn Send> {
        Box::new(self.chains.begin(&self.server, cancel))
    }

    fn origin(&self) -> Origin {
        self.chains.origin(&self.server)
    }
}

/// How often a server asked, in this session.
#[derive(Clone, Copy, Debug, Default)]
struct Asked {
    people: u64,
    models: u64,
}

/// A call that is under way, until it is dropped.
#[derive(Debug)]
struct Working {
    chains: Chains,
    id: u64,
}

/// A request to a model that is under way, until it is dropped.
#[derive(Debug)]
pub(super) struct Sampling {
    chains: Chains,
    id: u64,
    pub(super) depth: u64,
    pub(super) concurrent: u64,
    pub(super) this_session: u64,
}

impl Chains {
    /// A call of a server begins. Who called may be a model that a server asked.
    fn begin(&self, server: &str, cancel: &Cancel) -> Working {
        let mut links = self.lock();
        let depth = links
            .samples
            .values()
            .filter_map(|sample| sample.depth)
            .max();
        let call = Call {
            server: server.to_owned(),
            depth: depth.unwrap_or_default(),
            cancel: cancel.clone(),
        };
        links.last += 1;
        let id = links.last;
        links.calls.insert(id, call);
        Working {
            chains: self.clone(),
            id,
        }
    }

    /// What of a server is under way: a request of it may belong to any of its calls.
    fn origin(&self, server: &str) -> Origin {
        let links = self.lock();
        let own: Vec<&Call> = (links.calls.values())
            .filter(|call| call.server == server)
            .collect();
        let any = links.calls.values().map(|call| call.depth);
        let any = any.chain(links.samples.values().filter_map(|sample| sample.depth));
        let before = own.iter().map(|call| call.depth).max();
        Origin {
            calls: own.iter().map(|call| call.cancel.clone()).collect(),
            depth: before.or_else(|| any.max()).unwrap_or_default(),
        }
    }

    /// Counts a form or a link; returns how many came before it.
    pub(super) fn count_asked(&self, server: &str) -> u64 {
        let mut links = self.lock();
        let asked = links.asked.entry(server.to_owned()).or_default();
        asked.people += 1;
        asked.people - 1
    }

    /// A request to a model begins.
    pub(super) fn sample(&self, server: &str, depth: u64) -> Sampling {
        let mut links = self.lock();
        let beside = links.samples.values().filter(|open| open.server == server);
        let concurrent = u64::try_from(beside.count()).unwrap_or(u64::MAX);
        let asked = links.asked.entry(server.to_owned()).or_default();
        asked.models += 1;
        let this_session = asked.models - 1;
        links.last += 1;
        let id = links.last;
        let open = OpenSample {
            server: server.to_owned(),
            depth: None,
        };
        links.samples.insert(id, open);
        Sampling {
            chains: self.clone(),
            id,
            depth,
            concurrent,
            this_session,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Links> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sampling {
    /// A model has it now: what is called from now on may be called by that model.
    pub(super) fn at_the_model(&self) {
        if let Some(open) = self.chains.lock().samples.get_mut(&self.id) {
            open.depth = Some(self.depth);
        }
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.chains.lock().calls.remove(&self.id);
    }
}

impl Drop for Sampling {
    fn drop(&mut self) {
        self.chains.lock().samples.remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_chain_counts_where_it_is_not_clear() {
        let chains = Chains::default();
        let cancel = Cancel::default();
        let sample = |server: &str| {
            let sample = chains.sample(server, chains.origin(server).depth + 1);
            sample.at_the_model();
            sample
        };
        // Out of nothing: a model that was asked by nobody's call.
        assert_eq!(sample("a").depth, 1);
        let call = chains.begin("a", &cancel);
        let first = sample("a");
        assert_eq!(
            (first.depth, first.concurrent, first.this_session),
            (1, 0, 1)
        );
        // While a model works for `a`, every new call may be its.
        let inner = chains.begin("b", &cancel);
        let second = sample("b");
        assert_eq!(
            (second.depth, second.concurrent, second.this_session),
            (2, 0, 0)
        );
        // `c` was not called: whose chain it continues is not known.
        assert_eq!(sample("c").depth, 3);
        assert!(chains.origin("c").calls.is_empty());
        // `a` was called before any model was asked.
        let beside = sample("a");
        assert_eq!((beside.depth, beside.concurrent), (1, 1));
        assert_eq!(chains.origin("a").calls.len(), 1);
        // A question that waits calls nobody.
        let waits = chains.sample("d", 7);
        assert_eq!(sample("c").depth, 3);
        drop((call, first, inner, second, beside, waits));
        assert_eq!(sample("c").depth, 1);
        assert!(chains.origin("a").calls.is_empty());
    }
}
