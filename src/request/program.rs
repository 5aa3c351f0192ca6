//! Programs and commands: what is run, how it was packaged, and which risks its command line shows.

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::grant::{Confinement, Grant, Launch};

use super::act::{Act, Action, Holding, Key, Query, Run};
use super::principal::{Agent, Pin, Principal};
use super::start::Wish;

/// What starts the code of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunnerKind {
    /// A program of its own.
    Binary,
    /// `npx`, `npm exec`, `pnpm dlx`, `bunx`, …: downloads from npm when needed.
    Npx,
    /// `uvx`, `uv tool run`: downloads from PyPI when needed.
    Uvx,
    /// `pipx run`.
    Pipx,
    /// `docker`, `podman`, `nerdctl`.
    Docker,
    /// `cargo run`, `go run`, …
    Cargo,
    /// An interpreter with a script file (`node x.js`, `python -m y`, `sh z.sh`).
    Script,
    /// A remote server.
    Remote,
}

impl RunnerKind {
    /// The name used in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::Npx => "npx",
            Self::Uvx => "uvx",
            Self::Pipx => "pipx",
            Self::Docker => "docker",
            Self::Cargo => "cargo",
            Self::Script => "script",
            Self::Remote => "remote",
        }
    }
}

/// A risk that a command line shows. Each is a warning for people and a fact for policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Risk {
    /// `sh -c`, `node -e`, `python -c`: the code is in the arguments.
    InlineCode,
    /// A package or file is downloaded and run without a pinned version.
    DownloadAndRun,
    /// Pipes, redirections, substitutions inside an inline shell command.
    ShellMetacharacters,
    /// `sudo`, `doas`, `pkexec`, `su`.
    Privilege,
    /// `rm -r`, `find -delete`, …
    DeleteRecursive,
    /// A grant or argument outside the project.
    OutsideProject,
    /// The value or name of a variable looks like a credential.
    TouchesSecrets,
    /// The network is asked for, or the command is `curl`, `wget`.
    Network,
    /// A package is installed.
    PackageInstall,
    /// The container runtime, devices or the kernel are touched.
    ContainerEscape,
}

impl Risk {
    /// The name used in Cedar.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::InlineCode => "inline-code",
            Self::DownloadAndRun => "download-and-run",
            Self::ShellMetacharacters => "shell-metacharacters",
            Self::Privilege => "privilege",
            Self::DeleteRecursive => "delete-recursive",
            Self::OutsideProject => "outside-project",
            Self::TouchesSecrets => "touches-secrets",
            Self::Network => "network",
            Self::PackageInstall => "package-install",
            Self::ContainerEscape => "container-escape",
        }
    }
}

/// A program file and its pin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramFacts {
    /// The last part of its path, `node`.
    pub name: String,
    /// The resolved path.
    pub path: String,
    /// Its content (and script, lock file) against what was agreed to.
    #[serde(rename = "pinned")]
    pub pin: Pin,
}

/// Runs one command in the sandbox (`creance run`). Cedar action `exec.run`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunCommand {
    /// The program.
    pub program: ProgramFacts,
    /// What exactly is started.
    pub launch: Launch,
    /// The terms it asks for.
    pub grant: Grant,
    /// What the sandbox will hold.
    pub confinement: Confinement,
    /// Grants that are put to policy one by one.
    pub wishes: Vec<Wish>,
    /// Risks of the command line.
    pub risks: Vec<Risk>,
    /// The digest of launch and grant: what "the same command" means.
    pub fingerprint: Digest,
}

impl Action for RunCommand {
    const NAME: &'static str = "exec.run";

    fn queries<'a>(&'a self, agent: &'a Agent, run: &'a Run) -> Vec<Query<'a>> {
        let principal = Principal::Agent(agent);
        let first = Query::new(agent, principal, Act::RunCommand(self), run);
        let wishes = self
            .wishes
            .iter()
            .map(|wish| Query::new(agent, principal, Act::Wish(wish), run));
        std::iter::once(first).chain(wishes).collect()
    }

    fn keys(&self, agent: &Agent) -> Vec<Key> {
        vec![Key {
            action: Self::NAME,
            principal: agent.name.clone(),
            resource: self.program.path.clone(),
            fingerprint: self.fingerprint,
            scope: "this command".to_owned(),
            holding: Holding::Each,
        }]
    }
}
