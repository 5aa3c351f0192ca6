//! Who may put a question about a host, and when: a program that wants many hosts must not wear a
//! person out. One question at a time for each host, few at a time for a sandbox, none again about a
//! host that a person refused, and an end to it after many refusals.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{Mutex as Turn, OwnedMutexGuard, OwnedSemaphorePermit, Semaphore};

use crate::address::Target;
use crate::decision::DenialKind;

/// Questions of one sandbox at one time.
const AT_ONCE: usize = 3;

/// After so many hosts were refused, nobody is asked about further ones.
const REFUSED_MAX: usize = 16;

/// How long nobody is asked about a host again after a question that got no answer.
const REST: Duration = Duration::from_secs(120);

/// The questions of one sandbox.
#[derive(Debug)]
pub(super) struct Turns {
    hosts: Mutex<BTreeMap<Target, Host>>,
    room: Arc<Semaphore>,
}

#[derive(Debug, Default)]
struct Host {
    turn: Arc<Turn<()>>,
    refused: Option<Refused>,
}

#[derive(Clone, Copy, Debug)]
enum Refused {
    ByPerson,
    Until(Instant),
}

/// The right to ask about a host, until it is dropped.
#[derive(Debug)]
pub(super) struct MyTurn {
    _host: OwnedMutexGuard<()>,
    _room: OwnedSemaphorePermit,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            hosts: Mutex::default(),
            room: Arc::new(Semaphore::new(AT_ONCE)),
        }
    }
}

impl Turns {
    /// Waits for the turn to ask about a host.
    ///
    /// # Errors
    /// Why nobody is asked.
    pub(super) async fn wait(&self, target: &Target) -> Result<MyTurn, &'static str> {
        let turn = self.may_ask(target)?;
        let host = turn.lock_owned().await;
        let room = Arc::clone(&self.room).acquire_owned().await;
        let room = room.map_err(|_| "the sandbox ends")?;
        // The question before this one may have been about the same host.
        self.may_ask(target)?;
        Ok(MyTurn {
            _host: host,
            _room: room,
        })
    }

    fn may_ask(&self, target: &Target) -> Result<Arc<Turn<()>>, &'static str> {
        let mut hosts = self.lock();
        let refused = hosts.values().filter(|host| host.refused.is_some()).count();
        match hosts.get(target).and_then(|host| host.refused) {
            Some(Refused::ByPerson) => {
                return Err("a person said no to it, and is not asked again while this runs");
            }
            Some(Refused::Until(time)) if Instant::now() < time => {
                return Err("a person was asked about it a moment ago and did not answer");
            }
            _ => {}
        }
        // Hosts that nobody was asked about are forgotten, so the map stays as small as this.
        if refused >= REFUSED_MAX {
            return Err("so many hosts were refused that nobody is asked about another one");
        }
        Ok(Arc::clone(&hosts.entry(target.clone()).or_default().turn))
    }

    /// Keeps what became of a question.
    pub(super) fn refused(&self, target: &Target, kind: DenialKind) {
        let refused = match kind {
            DenialKind::Refused => Refused::ByPerson,
            DenialKind::NoAnswer => Refused::Until(Instant::now() + REST),
            _ => return,
        };
        self.lock().entry(target.clone()).or_default().refused = Some(refused);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Target, Host>> {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        hosts.retain(|_, host| host.refused.is_some() || Arc::strong_count(&host.turn) > 1);
        hosts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(number: usize) -> Target {
        Target::from_authority(&format!("h{number}.test:443")).unwrap()
    }

    #[tokio::test]
    async fn nobody_is_asked_again_about_what_was_refused() {
        let turns = Turns::default();
        drop(turns.wait(&target(0)).await.unwrap());
        assert!(turns.lock().is_empty());
        turns.refused(&target(0), DenialKind::Refused);
        turns.refused(&target(1), DenialKind::NoAnswer);
        turns.refused(&target(2), DenialKind::Policy);
        for (host, may) in [(0, false), (1, false), (2, true)] {
            assert_eq!(turns.wait(&target(host)).await.is_ok(), may, "{host}");
        }
        for host in 2..REFUSED_MAX {
            assert!(turns.wait(&target(99)).await.is_ok(), "{host}");
            turns.refused(&target(host), DenialKind::Refused);
        }
        assert!(turns.wait(&target(99)).await.is_err());
    }

    #[tokio::test]
    async fn one_question_at_a_time_for_a_host_and_few_for_a_sandbox() {
        let turns = Turns::default();
        let waits = async |host: usize| {
            let target = target(host);
            let wait = tokio::time::timeout(Duration::from_millis(1), turns.wait(&target));
            wait.await.ok().map(Result::unwrap)
        };
        let first = waits(0).await;
        assert!(first.is_some() && waits(0).await.is_none());
        let second = waits(1).await;
        let third = waits(2).await;
        assert!(second.is_some() && third.is_some() && waits(3).await.is_none());
        drop(first);
        assert!(waits(3).await.is_some());
    }
}
