//! The keeper's eye on a running tree: obeys main, and ends the tree when it reaches a limit that
//! the kernel does not hold by itself.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal};

use super::cgroup::Cgroup;
use super::start::RUNS;
use super::usage;
use crate::grant::{Limit, LimitHit, Limits};

/// Between two looks at a tree that works.
const PAUSE_LEAST: Duration = Duration::from_millis(200);
/// Between two looks at one that rests: it cannot use much without working.
const PAUSE_MOST: Duration = Duration::from_secs(1);
/// Time to end by itself after the time is up.
const TERM_GRACE: Duration = Duration::from_secs(3);

/// What is watched, and how far it is.
#[derive(Debug)]
pub(super) struct Watch {
    limits: Limits,
    cgroup: Option<Cgroup>,
    /// The first process of the tree.
    root: Pid,
    /// Since when the program runs; main tells.
    begun: Option<Instant>,
    pause: Duration,
    spent: u64,
    hit: Option<LimitHit>,
}

impl Watch {
    pub(super) fn new(limits: &Limits, cgroup: Option<Cgroup>, root: Pid) -> Self {
        Self {
            limits: limits.clone(),
            cgroup,
            root,
            begun: None,
            pause: PAUSE_LEAST,
            spent: 0,
            hit: None,
        }
    }

    /// Waits until the process has ended, whatever ends it. `control` is the line to main: when main
    /// is gone, the process is killed.
    pub(super) fn until_ended(&mut self, process: &OwnedFd, control: &OwnedFd) {
        let mut main_lives = true;
        loop {
            let mut fds = vec![PollFd::new(process, PollFlags::IN)];
            if main_lives {
                fds.push(PollFd::new(control, PollFlags::IN));
            }
            let wait = self.wait();
            match poll(&mut fds, wait.as_ref()) {
                Ok(0) => self.look(process),
                Ok(_) => {}
                Err(_) => continue,
            }
            let ready = |at: usize| fds.get(at).is_some_and(|fd| !fd.revents().is_empty());
            if ready(0) {
                return;
            }
            if ready(1) {
                main_lives = self.obey(control, process);
            }
        }
    }

    /// Does what main says; `false` when main is gone.
    fn obey(&mut self, control: &OwnedFd, process: &OwnedFd) -> bool {
        let mut word = [0_u8; 1];
        match rustix::io::read(control, &mut word) {
            Ok(1) if word == *RUNS => {
                self.begun.get_or_insert_with(Instant::now);
                true
            }
            Ok(1) => {
                let _ = rustix::process::pidfd_send_signal(process, Signal::TERM);
                true
            }
            Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => true,
            _ => {
                kill(process);
                false
            }
        }
    }

    /// The limit that ended the tree, once it has ended.
    pub(super) fn reached(&self) -> Option<LimitHit> {
        let by_kernel = || self.cgroup.as_ref()?.reached(&self.limits);
        self.hit.or_else(by_kernel)
    }

    /// The cgroup around the tree.
    pub(super) fn cgroup(&self) -> Option<&Cgroup> {
        self.cgroup.as_ref()
    }

    /// Until the next look; `None`: there is nothing to look at.
    fn wait(&self) -> Option<Timespec> {
        let left = |most: Duration| most.saturating_sub(self.age());
        let time = self.limits.time_s.filter(|_| self.begun.is_some());
        let time = time.map(Duration::from_secs);
        let wait = match (self.hit, time) {
            // It was told to go.
            (Some(_), Some(time)) => left(time + TERM_GRACE),
            (Some(_), None) => return None,
            (None, time) => {
                let looks = self.watches_memory() || self.limits.tree_cpu_s.is_some();
                let time = time.map(left).into_iter();
                time.chain(looks.then_some(self.pause)).min()?
            }
        };
        Timespec::try_from(wait).ok()
    }

    fn age(&self) -> Duration {
        self.begun.map_or(Duration::ZERO, |begun| begun.elapsed())
    }

    fn watches_memory(&self) -> bool {
        self.limits.tree_bytes.is_some()
            && self
                .cgroup
                .as_ref()
                .is_none_or(|group| !group.holds_memory())
    }

    fn look(&mut self, process: &OwnedFd) {
        if self.hit.is_some() {
            // Its time was up, and it did not go.
            return kill(process);
        }
        if let Some(value) = self.limits.time_s
            && self.age() >= Duration::from_secs(value)
        {
            self.hit = Some(LimitHit {
                limit: Limit::Time,
                value,
            });
            let _ = rustix::process::pidfd_send_signal(process, Signal::TERM);
            return;
        }
        self.hit = self.over();
        if self.hit.is_some() {
            kill(process);
        }
    }

    fn over(&mut self) -> Option<LimitHit> {
        let used = usage::below(self.root);
        let spent_us = self.cgroup.as_ref().and_then(Cgroup::cpu_us);
        let spent_us = spent_us.unwrap_or_else(|| {
            used.ticks.saturating_mul(1_000_000) / rustix::param::clock_ticks_per_second().max(1)
        });
        let works = spent_us > self.spent;
        self.spent = spent_us;
        self.pause = if works {
            PAUSE_LEAST
        } else {
            (self.pause * 2).min(PAUSE_MOST)
        };
        if let Some(value) = self.limits.tree_cpu_s
            && spent_us / 1_000_000 > value
        {
            return Some(LimitHit {
                limit: Limit::Cpu,
                value,
            });
        }
        let value = self.limits.tree_bytes.filter(|_| self.watches_memory())?;
        let over = used.memory > value && usage::exact_memory_below(self.root) > value;
        over.then_some(LimitHit {
            limit: Limit::Memory,
            value,
        })
    }
}

fn kill(process: &OwnedFd) {
    let _ = rustix::process::pidfd_send_signal(process, Signal::KILL);
}
