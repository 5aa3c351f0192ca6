//! What this machine offers, found out by doing it once in a scratch process.

use std::sync::{Arc, OnceLock};

use super::advice::Failure;
use super::apply;
use super::plan::{Backend, Offer, Offers, PlanError};

/// What this machine offers. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Machine(Choice);

#[derive(Clone, Debug)]
enum Choice {
    Probed(Arc<Offers>),
    Only(String),
}

impl Machine {
    /// Tries each backend until one works; found out once per process.
    pub(crate) fn probe() -> Self {
        static PROBED: OnceLock<Arc<Offers>> = OnceLock::new();
        Self(Choice::Probed(Arc::clone(
            PROBED.get_or_init(|| Arc::new(offers(Effort::FirstThatWorks))),
        )))
    }

    /// This backend and no other, whether or not it works here.
    pub(crate) fn only(backend: &str) -> Self {
        Self(Choice::Only(backend.to_owned()))
    }

    /// The machine as data.
    pub(crate) fn offers(&self) -> Result<Offers, PlanError> {
        match &self.0 {
            Choice::Probed(offers) => Ok(Offers::clone(offers)),
            Choice::Only(name) => {
                let backend = name.parse().map_err(PlanError::UnknownBackend)?;
                Ok(Offers {
                    backends: vec![Offer {
                        backend,
                        failure: None,
                    }],
                    ..ground()
                })
            }
        }
    }
}

/// How many backends are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    FirstThatWorks,
    All,
}

/// Tries the backends of this system in their order.
pub(super) fn offers(effort: Effort) -> Offers {
    offers_of(&tried(effort))
}

/// A backend, and why it does not work.
pub(super) type Tried = (Backend, Option<Failure>);

/// What became of each backend.
pub(super) fn tried(effort: Effort) -> Vec<Tried> {
    let mut backends = Vec::new();
    let here = std::env::consts::OS;
    let all = Backend::ALL.into_iter();
    for backend in all.filter(|backend| backend.system() == here) {
        let failed = apply::try_backend(backend).err();
        let failure = failed.map(|failed| {
            let facts = apply::facts();
            Failure::of(&failed.stage, &failed.error, failed.errno, &facts)
        });
        let works = failure.is_none();
        backends.push((backend, failure));
        if works && effort == Effort::FirstThatWorks {
            break;
        }
    }
    backends
}

/// The same as an offer to plans.
pub(super) fn offers_of(tried: &[Tried]) -> Offers {
    let offer = |(backend, failure): &Tried| Offer {
        backend: *backend,
        failure: failure.as_ref().map(ToString::to_string),
    };
    let backends = tried.iter().map(offer).collect();
    Offers {
        backends,
        ..ground()
    }
}

/// What does not depend on a backend.
fn ground() -> Offers {
    Offers {
        backends: Vec::new(),
        root: apply::is_root(),
        landlock: apply::landlock_abi(),
        memory: apply::memory(),
        cgroup: apply::cgroup(),
    }
}
