//! What every effect needs: the decision point, what this machine can enforce, and the ground.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decision::{Asking, DecisionPoint};
use crate::disk;
use crate::request::{Agent, Places, Project, Run, ServerId, Trigger};
use crate::sandbox::Machine;

use super::eras::Eras;
use super::reach::Outlets;

/// Where things are for one run of Creance. All paths are resolved.
#[derive(Clone, Debug)]
pub(crate) struct Ground {
    /// The user's home folder.
    pub(crate) home: Option<PathBuf>,
    /// The project's root.
    pub(crate) project: Option<PathBuf>,
    /// The working folder.
    pub(crate) cwd: PathBuf,
    /// The rule of places.
    pub(crate) places: Places,
    /// The environment of the user.
    pub(crate) environment: BTreeMap<String, String>,
    /// Creance's own folders and files: hidden in every sandbox.
    pub(crate) own: Vec<PathBuf>,
    /// Where private caches and temporary folders of sandboxes lie.
    pub(crate) cache: PathBuf,
}

impl Ground {
    /// The folder against which a relative path is meant.
    pub(crate) fn base(&self) -> &Path {
        self.project.as_deref().unwrap_or(&self.cwd)
    }

    /// Under what pins and answers about a server are kept here.
    pub(crate) fn subject(&self, id: &ServerId) -> String {
        id.subject(self.project.as_deref().map(disk::path_text).as_deref())
    }
}

/// The line on which everything hangs.
#[derive(Debug)]
pub(crate) struct Line {
    pub(crate) point: Arc<DecisionPoint>,
    /// The ways out of the sandboxes that run.
    pub(crate) outlets: Outlets,
    /// How the servers that ran speak.
    pub(crate) eras: Eras,
    pub(crate) machine: Machine,
    pub(crate) ground: Ground,
    pub(crate) trigger: Trigger,
    /// What signing in to a remote server takes.
    #[cfg(feature = "http")]
    pub(crate) sign_ins: super::sign_in::SignIns,
}

impl Line {
    /// The circumstances of a request made now.
    pub(crate) fn run(&self) -> Run {
        let project = match &self.ground.project {
            Some(root) => Project {
                id: root.to_string_lossy().into_owned(),
                trusted: false,
            },
            None => Project::none(),
        };
        Run {
            now_ms: self.point.now_ms(),
            project,
            trigger: self.trigger,
            attended: self.point.attended(),
            dry_run: false,
        }
    }

    /// Who asks, and in which circumstances.
    pub(crate) fn asking<'a>(&self, agent: &'a Agent, run: &'a Run) -> Asking<'a> {
        Asking { agent, run }
    }
}
