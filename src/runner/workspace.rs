//! Everything that Creance finds on this machine for a working folder: folders, project, policies,
//! servers, settings. Read once; what is wrong is kept and said, and costs only itself.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::audit::{AuditError, AuditSink};
use crate::clean;
use crate::config::{AuditSync, ServerDefinition, Settings};
use crate::decision::DecisionPoint;
use crate::disk::settings::{self, Configuration};
use crate::disk::{
    self, AuditLog, Durability, FileLedger, Folders, PolicyFolder, Rotation, Surroundings,
};
use crate::enforce::{Eras, Ground, Line, Outlets};
use crate::policy::PolicySet;
use crate::request::{Agent, Approver, Ledger, Places, Trigger};
use crate::sandbox::Machine;

use super::error::{Error, ErrorKind};
use super::follow::Followed;
use super::policies::Policies;

/// Where a workspace is looked for.
#[derive(Clone, Debug, Default)]
pub struct WorkspaceOptions {
    home: Option<PathBuf>,
    cwd: Option<PathBuf>,
    organisation: bool,
}

impl WorkspaceOptions {
    /// The folders of this process and its user.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            organisation: true,
            ..Self::default()
        }
    }

    /// A home and a working folder of its own, without the organisation's policies: for
    /// demonstrations and tests.
    #[must_use]
    pub fn apart(home: impl Into<PathBuf>, cwd: impl Into<PathBuf>) -> Self {
        Self {
            home: Some(home.into()),
            cwd: Some(cwd.into()),
            organisation: false,
        }
    }
}

/// Everything found for a working folder.
#[derive(Debug)]
pub struct Workspace {
    pub(super) folders: Folders,
    pub(super) ground: Ground,
    pub(super) user: String,
    pub(super) policies: Policies,
    pub(super) followed: Followed,
    pub(super) servers: Vec<ServerDefinition>,
    pub(super) settings: Settings,
    pub(super) problems: Vec<String>,
    pub(super) machine: std::sync::OnceLock<Machine>,
    /// A home of its own keeps its secrets to itself.
    #[cfg(feature = "http")]
    pub(super) apart: bool,
}

impl Workspace {
    /// Finds everything for this process.
    ///
    /// # Errors
    /// When Creance's own folders cannot be used, or the organisation's folder is not root's alone.
    pub fn open() -> Result<Self, Error> {
        Self::open_with(&WorkspaceOptions::of_process())
    }

    /// Finds everything.
    ///
    /// # Errors
    /// As [`Workspace::open`].
    pub fn open_with(options: &WorkspaceOptions) -> Result<Self, Error> {
        let surroundings = surroundings(options);
        let folder_error = |e: disk::FolderError| Error::caused(ErrorKind::Io, e.to_string(), e);
        let folders = Folders::of(&surroundings).map_err(folder_error)?;
        folders.prepare().map_err(folder_error)?;
        let org = if options.organisation {
            Folders::org().map_err(folder_error)?
        } else {
            None
        };
        let ground = ground(&surroundings, &folders, org.as_deref())?;
        let policy_folders = policy_folders(&folders, org.as_deref(), &ground);
        // The look comes first: what changes while the files are read is then a change.
        let followed = Followed {
            seen: disk::look_at_policies(&policy_folders).seen,
            folders: policy_folders,
            org,
            own: folders.clone(),
        };
        let policies = followed.read();
        let files = settings::Files::new(&folders.config, ground.project.as_deref());
        let Configuration {
            servers,
            settings,
            problems,
            notices,
        } = settings::read_all(&files, &ground.environment);
        let said = problems.iter().map(ToString::to_string).chain(notices);
        let said = said.chain(disk::unread(&ground.cwd, ground.project.as_deref()));
        Ok(Self {
            problems: said.map(|text| clean::line(&text, 2_000)).collect(),
            folders,
            ground,
            user: surroundings.user,
            policies,
            followed,
            servers,
            settings,
            machine: std::sync::OnceLock::new(),
            #[cfg(feature = "http")]
            apart: options.home.is_some(),
        })
    }

    /// The policies in force, and what is to be said about their files.
    #[must_use]
    pub fn policies(&self) -> &Policies {
        &self.policies
    }

    /// The policies that would be in force with those of another folder in place of the user's.
    ///
    /// # Errors
    /// When there is no such folder.
    pub fn policies_with(&self, folder: impl AsRef<Path>) -> Result<Policies, Error> {
        let folder = folder.as_ref();
        if !folder.is_dir() {
            let what = format!("no policy folder `{}`", folder.display());
            return Err(Error::new(ErrorKind::Policy, what));
        }
        let folders = self.followed.folders.iter().map(|kept| match kept {
            PolicyFolder::User(_) => PolicyFolder::User(folder.to_owned()),
            other => other.clone(),
        });
        let followed = Followed {
            folders: folders.collect(),
            ..self.followed.clone()
        };
        Ok(followed.read())
    }

    /// What is wrong with configuration files, each with file, line, field and the way out.
    #[must_use]
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The project's root.
    #[must_use]
    pub fn project(&self) -> Option<&Path> {
        self.ground.project.as_deref()
    }

    /// The audit log's file.
    #[must_use]
    pub fn audit_log(&self) -> PathBuf {
        self.folders.audit_log()
    }

    /// The folder on whose sockets questions wait.
    #[must_use]
    pub fn sockets(&self) -> &Path {
        &self.folders.sockets
    }

    /// The configured servers' identities, in the order of their files.
    #[must_use]
    pub fn server_ids(&self) -> Vec<String> {
        self.servers.iter().map(|s| s.id.to_string()).collect()
    }

    /// How long a question waits for its answer.
    #[must_use]
    pub fn question_limit(&self) -> Duration {
        Duration::from_millis(self.settings.question_timeout_ms())
    }

    /// The agent that stands for a person at the command line.
    #[must_use]
    pub fn cli_agent(&self) -> Agent {
        let mut agent = Agent::new("cli", &self.user);
        agent.client_verified = true;
        agent
    }

    pub(super) fn machine(&self) -> Machine {
        self.machine.get_or_init(Machine::probe).clone()
    }

    /// The line on which everything hangs.
    pub(super) fn line(
        &self,
        approver: Arc<dyn Approver>,
        trigger: Trigger,
    ) -> Result<Line, Error> {
        self.line_under(&self.policies, approver, trigger)
    }

    /// The same under other policies than those that were found at first.
    pub(super) fn line_under(
        &self,
        policies: &Policies,
        approver: Arc<dyn Approver>,
        trigger: Trigger,
    ) -> Result<Line, Error> {
        let audit = self.open_audit_log()?;
        let ledger = self.ledger()?;
        let line = self.line_of(
            policies.store.clone(),
            Arc::new(audit),
            (approver, ledger),
            trigger,
        )?;
        line.point.shadow().replace(policies.shadow.clone());
        Ok(line)
    }

    /// The audit log, as the settings want it.
    fn open_audit_log(&self) -> Result<AuditLog, Error> {
        let failed = |e: AuditError| Error::caused(ErrorKind::Audit, e.to_string(), e);
        let settings = &self.settings.audit;
        let days = |days: Option<u64>| {
            let days = days.and_then(|days| i64::try_from(days).ok());
            days.map(|days| days.saturating_mul(24 * 3600 * 1000))
        };
        let standard = Rotation::default();
        let log = AuditLog::file(self.audit_log())
            .map_err(failed)?
            .with_durability(match self.settings.audit_sync() {
                AuditSync::Grouped => Durability::Grouped,
                AuditSync::Always => Durability::Always,
            })
            .with_rotation(Rotation {
                max_bytes: (settings.max_mib)
                    .map_or(standard.max_bytes, |mib| mib.saturating_mul(1024 * 1024)),
                max_age_ms: days(settings.max_days),
                keep_files: settings.keep_files.and_then(|n| usize::try_from(n).ok()),
                keep_ms: days(settings.keep_days),
            });
        match &settings.checkpoints {
            Some(file) => log.with_checkpoints(file).map_err(failed),
            None => Ok(log),
        }
    }

    pub(super) fn ledger(&self) -> Result<Arc<dyn Ledger>, Error> {
        let ledger = FileLedger::file(self.folders.ledger())
            .map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))?;
        Ok(Arc::new(ledger))
    }

    pub(super) fn line_of(
        &self,
        policies: PolicySet,
        audit: Arc<dyn AuditSink>,
        (approver, ledger): (Arc<dyn Approver>, Arc<dyn Ledger>),
        trigger: Trigger,
    ) -> Result<Line, Error> {
        let run_id = disk::random_id()
            .map_err(|e| Error::caused(ErrorKind::Io, format!("no random numbers: {e}"), e))?;
        Ok(Line {
            point: Arc::new(
                DecisionPoint::new(
                    policies,
                    audit,
                    ledger,
                    approver,
                    (disk::clock, disk::random_id, run_id),
                )
                .keeping_for(Duration::from_secs(
                    self.settings.keep_days() * 24 * 60 * 60,
                )),
            ),
            eras: Eras::default(),
            outlets: Outlets::default(),
            machine: self.machine(),
            ground: self.ground.clone(),
            trigger,
            #[cfg(feature = "http")]
            sign_ins: self.sign_ins(),
        })
    }

    pub(super) fn definition(&self, name: &str) -> Result<&ServerDefinition, Error> {
        let by_id = |s: &&ServerDefinition| s.id.to_string() == name;
        let by_name = |s: &&ServerDefinition| s.id.name == name;
        let mut named = self.servers.iter().filter(by_name);
        let found = self.servers.iter().find(by_id).or_else(|| {
            let first = named.next();
            // A bare name that two sources use is nobody's.
            first.filter(|_| named.next().is_none())
        });
        found.ok_or_else(|| {
            let there = match self.server_ids() {
                none if none.is_empty() => {
                    "there are none (`creance server add` adds one)".to_owned()
                }
                some => format!("there are: {}", some.join(", ")),
            };
            let name = clean::line(name, 100);
            Error::new(ErrorKind::Usage, format!("no server `{name}`; {there}"))
        })
    }
}

fn surroundings(options: &WorkspaceOptions) -> Surroundings {
    let mut surroundings = Surroundings::read();
    if let Some(home) = &options.home {
        surroundings.config_home = Some(home.join(".config"));
        surroundings.state_home = Some(home.join(".local/state"));
        surroundings.cache_home = Some(home.join(".cache"));
        surroundings
            .environment
            .insert("HOME".to_owned(), home.to_string_lossy().into_owned());
        surroundings.home = Some(home.clone());
    }
    if let Some(cwd) = &options.cwd {
        surroundings.cwd = Some(cwd.clone());
    }
    surroundings
}

fn policy_folders(folders: &Folders, org: Option<&Path>, ground: &Ground) -> Vec<PolicyFolder> {
    let org = org.map(|org| PolicyFolder::Org(org.join("policies")));
    let project = (ground.project.as_ref()).map(|root| PolicyFolder::Project(root.clone()));
    org.into_iter()
        .chain([PolicyFolder::User(folders.policies())])
        .chain(project)
        .collect()
}

fn ground(
    surroundings: &Surroundings,
    folders: &Folders,
    org: Option<&Path>,
) -> Result<Ground, Error> {
    let resolve = |path: &Path| std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let cwd = surroundings.cwd.as_deref().map(resolve).ok_or_else(|| {
        Error::new(
            ErrorKind::Io,
            "the working folder cannot be found; it may have been removed",
        )
    })?;
    let home = surroundings.home.as_deref().map(resolve);
    let project = disk::project_root(&cwd, home.as_deref());
    let mut own: Vec<PathBuf> = [&folders.config, &folders.state]
        .into_iter()
        .map(|path| resolve(path))
        .collect();
    own.extend(org.map(resolve));
    let text = |path: &Path| disk::path_text(path);
    let places = Places {
        home: home.as_deref().map(text).unwrap_or_default(),
        project: project.as_deref().map(text),
        temp: vec![
            "/tmp".to_owned(),
            "/var/tmp".to_owned(),
            text(&resolve(&surroundings.temp)),
        ],
        cache: surroundings
            .cache_home
            .iter()
            .map(|cache| text(&resolve(cache)))
            .collect(),
        own: own.iter().map(|path| text(path)).collect(),
    };
    Ok(Ground {
        home,
        project,
        cwd,
        places,
        environment: environment(surroundings),
        own,
        cache: resolve(&folders.cache),
    })
}

fn environment(surroundings: &Surroundings) -> BTreeMap<String, String> {
    surroundings.environment.clone()
}
