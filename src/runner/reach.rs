//! What each configured server would have in its sandbox, and which secrets it could read there: found
//! out by a scratch process under the same grant.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::clean;
use crate::enforce::{Ground, command, prepare};
use crate::grant::{Confinement, Grant, guarded};
use crate::request::Wish;
use crate::sandbox;

use super::error::Error;
use super::workspace::Workspace;

/// How deep granted folders are searched for files that hold secrets, and how many entries are seen.
const DEPTH_MAX: usize = 3;
const ENTRIES_MAX: usize = 5_000;

/// What a server, or a command, would have in its sandbox.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Reach {
    /// The server's identity; `creance run` for a command to which nothing more is granted.
    pub id: String,
    /// What its sandbox would hold.
    pub confinement: Option<Confinement>,
    /// Readable beside the system and its toolchains.
    pub read: Vec<String>,
    /// Writable beside its private folders.
    pub write: Vec<String>,
    /// Hosts; `*` for the whole network.
    pub network: Vec<String>,
    /// Variables beside the short list that every server gets.
    pub variables: Vec<String>,
    /// Those of them, and references in arguments, that look like secrets.
    pub secret_variables: Vec<String>,
    /// How many secrets of this machine were tried.
    pub secrets_tried: usize,
    /// Those that it could read.
    pub secrets: Vec<String>,
    /// How many sockets of this machine were tried.
    pub sockets_tried: usize,
    /// Those that it could connect to.
    pub sockets: Vec<String>,
    /// What is to be said about the grant.
    pub notices: Vec<String>,
    /// Why it could not be found out.
    pub problem: Option<String>,
}

impl Workspace {
    /// What each configured server would have in its sandbox, and `creance run` with nothing granted.
    /// Nothing of the servers is started.
    ///
    /// # Errors
    /// When pins and answers cannot be read.
    pub fn reach(&self) -> Result<Vec<Reach>, Error> {
        let line = self.dry_line()?;
        let shell = command::Command {
            program: "sh".to_owned(),
            ..command::Command::default()
        };
        let mut all = vec![match command::prepare(&line, &shell) {
            Ok(prepared) => {
                let action = prepared.action;
                self.try_out(
                    "creance run",
                    &action.launch.cwd,
                    (&action.grant, &action.wishes),
                )
            }
            Err(error) => failed("creance run", &error.to_string()),
        }];
        for definition in self
            .servers
            .iter()
            .filter(|s| s.enabled && s.remote.is_none())
        {
            let id = definition.id.to_string();
            all.push(match prepare::prepare(&line, definition) {
                Ok(prepared) => {
                    let action = prepared.action;
                    let terms = (&action.grant, &*action.wishes);
                    let mut reach = self.try_out(&id, &action.launch.cwd, terms);
                    reach.secret_variables = action.secret_names;
                    reach
                }
                Err(error) => failed(&id, &error.to_string()),
            });
        }
        Ok(all)
    }

    fn try_out(&self, id: &str, cwd: &Path, (grant, wishes): (&Grant, &[Wish])) -> Reach {
        let mut reach = Reach {
            id: id.to_owned(),
            ..Reach::default()
        };
        wishes.iter().for_each(|wish| reach.add(wish));
        let secrets = secrets(&self.ground, grant);
        match sandbox::reach(&self.machine(), cwd, (grant, &secrets)) {
            Ok(reached) => {
                reach.confinement = Some(reached.confinement);
                reach.notices = reached.notices;
                reach.secrets_tried = reached.tried;
                reach.secrets = shown(&reached.files);
                reach.sockets_tried = reached.tried_sockets;
                reach.sockets = shown(&reached.sockets);
            }
            Err(why) => reach.problem = Some(clean::line(&why, 1_000)),
        }
        reach
    }
}

impl Reach {
    fn add(&mut self, wish: &Wish) {
        let text = |text: &str| clean::line(text, 1_000);
        match wish {
            Wish::Read(path) => self.read.push(text(&path.text)),
            Wish::Write(path) => self.write.push(text(&path.text)),
            Wish::Env(variable) => self.variables.push(text(&variable.name)),
            Wish::Socket(path) => self.sockets.push(text(&path.text)),
            Wish::Network(network) => self.network.push(network.to_string()),
        }
    }

    /// Whether writes, secrets and the network are enforced.
    #[must_use]
    pub fn holds(&self) -> bool {
        self.confinement.as_ref().is_some_and(Confinement::holds)
    }
}

fn failed(id: &str, why: &str) -> Reach {
    Reach {
        id: id.to_owned(),
        problem: Some(clean::line(why, 1_000)),
        ..Reach::default()
    }
}

fn shown(paths: &[PathBuf]) -> Vec<String> {
    let one = |path: &PathBuf| clean::line(&path.to_string_lossy(), 1_000);
    paths.iter().map(one).collect()
}

/// The secrets of this machine that are there: known places, Creance's own folders, and files of such
/// names in what is granted.
fn secrets(ground: &Ground, grant: &Grant) -> Vec<PathBuf> {
    let mut found: BTreeSet<PathBuf> = ground.own.iter().cloned().collect();
    found.extend(guarded::SYSTEM_SECRETS.iter().map(PathBuf::from));
    if let Some(home) = &ground.home {
        found.extend(guarded::SECRETS.iter().map(|entry| home.join(entry)));
    }
    let home = ground.home.as_deref().map(Path::to_string_lossy);
    let mut left = ENTRIES_MAX;
    for folder in grant.read.iter().chain(&grant.write) {
        let home = home.as_deref().unwrap_or_default();
        search(folder, (home, DEPTH_MAX), (&mut left, &mut found));
    }
    let mut found: Vec<PathBuf> = found.into_iter().collect();
    found.retain(|path| path.symlink_metadata().is_ok());
    found
}

fn search(
    folder: &Path,
    (home, depth): (&str, usize),
    (left, found): (&mut usize, &mut BTreeSet<PathBuf>),
) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let path = entry.path();
        if guarded::is_secret(&path.to_string_lossy(), home) {
            found.insert(path);
        } else if depth > 1 && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            search(&path, (home, depth - 1), (left, found));
        }
    }
}
