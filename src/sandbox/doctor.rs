//! What this machine can enforce, found out by doing it.

use std::fmt;

use serde::Serialize;

use super::advice::MachineFacts;
use super::apply;
use super::machine::{Effort, Tried, offers_of, tried};
use super::plan::{Backend, confinement};
use crate::grant::{Confinement, Grant, Guarantee, Level};

/// What was found out about this machine.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct DoctorReport {
    /// The operating system, with the kernel's release.
    pub system: String,
    /// The Landlock ABI, 0 without.
    pub landlock_abi: u32,
    /// Whether this runs as root.
    pub root: bool,
    /// What else is known about the machine.
    pub facts: MachineFacts,
    /// Each backend, strongest first.
    pub backends: Vec<BackendReport>,
    /// What an ordinary server would get.
    pub confinement: Confinement,
}

/// Whether one backend works.
#[derive(Clone, Debug, Serialize)]
pub struct BackendReport {
    /// Its name.
    pub name: String,
    /// The step that failed and the way out; `None` when it works.
    pub failure: Option<String>,
    /// The step that failed.
    pub stage: Option<String>,
    /// Its error number.
    pub errno: Option<i32>,
    /// The way out, where one is known.
    pub fix: Option<String>,
}

/// Tries every backend of this machine.
#[must_use]
pub fn examine() -> DoctorReport {
    let tried = tried(Effort::All);
    let offers = offers_of(&tried);
    let chosen = offers.backends.iter().find(|offer| offer.failure.is_none());
    let chosen = chosen.map_or(Backend::None, |offer| offer.backend);
    DoctorReport {
        system: apply::system(),
        landlock_abi: offers.landlock,
        root: offers.root,
        confinement: confinement(chosen, &Grant::default(), &offers),
        facts: apply::facts(),
        backends: tried.into_iter().map(backend).collect(),
    }
}

fn backend((backend, failure): Tried) -> BackendReport {
    let text = failure.as_ref().map(ToString::to_string);
    let (stage, errno, fix) = failure.map_or((None, None, None), |failure| {
        (Some(failure.stage), failure.errno, failure.fix)
    });
    BackendReport {
        name: backend.name().to_owned(),
        failure: text,
        stage,
        errno,
        fix,
    }
}

impl DoctorReport {
    /// Whether writes, secrets and the network are enforced.
    #[must_use]
    pub fn ok(&self) -> bool {
        self.confinement.holds()
    }
}

impl fmt::Display for DoctorReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = if self.root { "root" } else { "not root" };
        writeln!(f, "system     {} ({user})", self.system)?;
        match self.landlock_abi {
            0 => writeln!(f, "landlock   not there")?,
            abi => writeln!(f, "landlock   ABI {abi}")?,
        }
        for (name, text) in self.facts.lines() {
            writeln!(f, "{name:<10} {text}")?;
        }
        writeln!(f, "backends")?;
        for backend in &self.backends {
            match &backend.failure {
                None => writeln!(f, "  {:<16} works", backend.name)?,
                Some(why) => writeln!(f, "  {:<16} no: {why}", backend.name)?,
            }
        }
        writeln!(f, "chosen     {}", self.confinement.backend)?;
        for guarantee in Guarantee::ALL {
            let (mark, text) = match self.confinement.levels.get(&guarantee) {
                Some(Level::Enforced { by }) => ("enforced", by.clone()),
                Some(Level::Weakened { by, why }) => ("weakened", format!("{by}; {why}")),
                Some(Level::Absent { why }) => ("absent", why.clone()),
                None => ("absent", String::new()),
            };
            writeln!(f, "  {:<16} {mark:<9} {text}", guarantee.name())?;
        }
        Ok(())
    }
}
