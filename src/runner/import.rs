//! Servers of other clients' configurations: a plan that can be shown, and what carries it out.

use std::path::PathBuf;

use serde::Serialize;
use serde_json::Value;

use crate::clean;
use crate::config::import::{
    self, Client, ClientText, Known, Moved, Planned, Remark, Scope, Step, Terms,
};
use crate::disk::clients::{self, ClientFile, Homes, ReadFile};
use crate::disk::{self, settings};
use crate::policy;

use super::answers;
use super::error::{Error, ErrorKind};
use super::workspace::Workspace;

/// Which servers are looked for, and how they are taken over.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    from: Option<Client>,
    file: Option<PathBuf>,
    terms: Terms,
}

impl ImportOptions {
    /// Of one client only.
    #[must_use]
    pub fn of_client(mut self, client: Client) -> Self {
        self.from = Some(client);
        self
    }

    /// Of one file only.
    #[must_use]
    pub fn of_file(mut self, file: impl Into<PathBuf>) -> Self {
        self.file = Some(file.into());
        self
    }

    /// Literal secrets stay in the entries.
    #[must_use]
    pub fn keeping_secrets(mut self) -> Self {
        self.terms.keep_secrets = true;
        self
    }

    /// Servers of the project's files become the user's own.
    #[must_use]
    pub fn with_projects(mut self) -> Self {
        self.terms.projects = true;
        self
    }
}

/// What an import would do. Nothing of it holds a secret that was found, `Debug` neither.
#[derive(Clone, Serialize)]
pub struct ImportPlan {
    /// The servers that were found.
    pub servers: Vec<ServerImport>,
    /// The policies that say what the clients' lists of tools say, and are not there yet.
    pub policies: Vec<PolicyImport>,
    /// The files that were read.
    pub files: Vec<String>,
    /// What is to be said beside the servers.
    pub notes: Vec<String>,
    #[serde(skip)]
    entries: Vec<(String, Value)>,
}

impl std::fmt::Debug for ImportPlan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ImportPlan")
            .field("servers", &self.servers)
            .field("policies", &self.policies)
            .finish_non_exhaustive()
    }
}

/// One server of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct ServerImport {
    /// Its name in Creance.
    pub name: String,
    /// Its name in the client.
    pub was: String,
    /// The client.
    pub client: &'static str,
    /// Where it stands, `mcpServers.NAME`.
    pub field: String,
    /// The file.
    pub file: String,
    /// Whether the file is the project's.
    pub of_project: bool,
    /// `add`, `there`, `taken`, `project` or `refused`.
    pub step: &'static str,
    /// Why it is refused.
    pub why: Option<String>,
    /// The entry in Creance's form, without secrets.
    pub entry: Value,
    /// The secrets that were found, and the variables that stand for them.
    pub secrets: Vec<Moved>,
    /// Variables that it needs and that are not set.
    pub missing: Vec<String>,
    /// What is not carried over, or otherwise.
    pub remarks: Vec<Remark>,
}

/// A policy of a plan.
#[derive(Clone, Debug, Serialize)]
pub struct PolicyImport {
    /// Its id.
    pub id: String,
    /// Whether it permits anything: then it is written only where a person says so.
    pub permits: bool,
    /// Cedar's text.
    pub text: String,
}

/// What an import did.
#[derive(Clone, Debug, Serialize)]
pub struct ImportReport {
    /// The user's file.
    pub file: String,
    /// The servers that were added.
    pub added: Vec<String>,
    /// Those that could not be, and why.
    pub failed: Vec<(String, String)>,
}

/// The file of the user's policies that lists of tools are written into.
const FILE: &str = "imported.cedar";

/// A note on a file, as people read it.
fn noted(path: &str, note: &Remark) -> String {
    let what = format!("{} {}", note.field, note.what);
    format!("{path}: {}", what.trim_start())
}

impl Workspace {
    /// Finds the servers of other clients, and says what would become of each.
    ///
    /// # Errors
    /// When a file that was named cannot be read, or the user's own.
    pub fn plan_import(&self, options: &ImportOptions) -> Result<ImportPlan, Error> {
        let mut plan = ImportPlan {
            servers: Vec::new(),
            policies: Vec::new(),
            files: Vec::new(),
            notes: Vec::new(),
            entries: Vec::new(),
        };
        let project = self.ground.project.as_deref().map(disk::path_text);
        let mut found = Vec::new();
        for file in self.client_texts(options, &mut plan)? {
            let path = clean::line(&file.file.path.to_string_lossy(), 1_000);
            let source = ClientText {
                client: file.file.client,
                scope: file.file.scope,
                file: &file.file.path,
                text: &file.text,
                project: project.as_deref(),
            };
            match import::read(&source) {
                Ok(read) => {
                    let notes = read.remarks.iter();
                    plan.notes.extend(notes.map(|note| noted(&path, note)));
                    found.extend(read.servers);
                }
                Err(why) if options.file.is_some() => {
                    return Err(Error::new(ErrorKind::Config, format!("{path}: {why}")));
                }
                Err(why) => plan
                    .notes
                    .push(format!("{path}: {why}: nothing of it is used")),
            }
            plan.files.push(path);
        }
        let known = self.written_servers()?;
        let user_file = self.user_file();
        let known = Known {
            servers: &known,
            file: &user_file,
            environment: &self.ground.environment,
        };
        let planned = import::plan(found, known, options.terms);
        self.add_policies(&planned, &mut plan)?;
        for server in planned {
            if server.step == Step::Add {
                plan.entries
                    .push((server.name.clone(), server.entry.clone()));
            }
            plan.servers.push(report(server));
        }
        Ok(plan)
    }

    /// Adds the servers of a plan to the user's configuration file, each on its own.
    ///
    /// # Errors
    /// Never as a whole: a server that cannot be added is reported.
    pub fn import_servers(&self, plan: &ImportPlan) -> ImportReport {
        let file = self.user_file();
        let mut report = ImportReport {
            file: file.display().to_string(),
            added: Vec::new(),
            failed: Vec::new(),
        };
        for (name, entry) in &plan.entries {
            match settings::add(&file, name, entry, &self.ground.environment) {
                Ok(_) => report.added.push(name.clone()),
                Err(error) => report.failed.push((name.clone(), error.to_string())),
            }
        }
        report
    }

    /// Writes policies of a plan into the user's layer; returns the file.
    ///
    /// # Errors
    /// When the file cannot be written or would not load. Nothing is then changed.
    pub fn import_policies(&self, policies: &[&PolicyImport]) -> Result<PathBuf, Error> {
        let file = self.folders.policies().join(FILE);
        let head = "// What other clients' lists of tools said: `creance server import`.\n";
        let mut text = answers::read(&file)?;
        if text.is_empty() {
            head.clone_into(&mut text);
        }
        for policy in policies {
            text = format!("{}\n\n{}", text.trim_end(), policy.text);
        }
        self.checked(&file, &text)?;
        answers::write(&file, &text)?;
        Ok(file)
    }

    pub(super) fn homes(&self) -> Homes<'_> {
        Homes {
            home: self.ground.home.as_deref(),
            project: self.ground.project.as_deref(),
            environment: &self.ground.environment,
        }
    }

    pub(super) fn written_servers(&self) -> Result<serde_json::Map<String, Value>, Error> {
        settings::written(&self.user_file())
            .map_err(|e| Error::caused(ErrorKind::Config, e.to_string(), e))
    }

    fn client_texts(
        &self,
        options: &ImportOptions,
        plan: &mut ImportPlan,
    ) -> Result<Vec<ReadFile>, Error> {
        let homes = self.homes();
        if let Some(path) = &options.file {
            let read = clients::named_file(path, options.from, homes).map_err(|why| {
                let path = clean::line(&path.to_string_lossy(), 1_000);
                Error::new(ErrorKind::Usage, format!("`{path}` {why}"))
            })?;
            return Ok(vec![read]);
        }
        let wanted = |file: &ClientFile| options.from.is_none_or(|client| client == file.client);
        let mut read = Vec::new();
        for file in clients::client_files(homes).into_iter().filter(wanted) {
            let path = clean::line(&file.path.to_string_lossy(), 1_000);
            match clients::read_file(file, homes) {
                Ok(Some(file)) => {
                    let target = file.target.as_ref();
                    let target = target.map(|t| clean::line(&t.to_string_lossy(), 1_000));
                    let note = target.map(|target| format!("{path} is a link to {target}"));
                    plan.notes.extend(note);
                    read.push(file);
                }
                Ok(None) => {}
                Err(why) => plan
                    .notes
                    .push(format!("{path} {why}: nothing of it is used")),
            }
        }
        Ok(read)
    }

    fn add_policies(&self, planned: &[Planned], plan: &mut ImportPlan) -> Result<(), Error> {
        let before = answers::read(&self.folders.policies().join(FILE))?;
        for rule in planned.iter().flat_map(|server| &server.rules) {
            match policy::imported(rule) {
                Ok(made) => {
                    let there = before.contains(&format!("@id(\"{}\")", made.id))
                        || plan.policies.iter().any(|other| other.id == made.id);
                    plan.policies.extend((!there).then_some(PolicyImport {
                        id: made.id,
                        permits: made.permits,
                        text: made.text,
                    }));
                }
                Err(why) => plan.notes.push(format!(
                    "no policy is made of `{}` of {}: {why}",
                    rule.field,
                    clean::line(&rule.server, 100)
                )),
            }
        }
        Ok(())
    }
}

fn report(planned: Planned) -> ServerImport {
    let (step, why) = match planned.step {
        Step::Add => ("add", None),
        Step::There => ("there", None),
        Step::Taken => ("taken", None),
        Step::OfProject => ("project", None),
        Step::Refused(why) => ("refused", Some(why)),
    };
    ServerImport {
        name: planned.name,
        was: clean::line(&planned.server.name, 200),
        client: planned.server.client.word(),
        field: planned.server.field,
        file: planned.server.file,
        of_project: planned.server.scope == Scope::Project,
        step,
        why,
        entry: masked(planned.shown),
        secrets: planned.moved,
        missing: planned.missing,
        remarks: planned.remarks,
    }
}

/// References stay readable; what is a secret by its shape and still stands in a text does not.
fn masked(value: Value) -> Value {
    match value {
        Value::String(text) => clean::mask(&text).into_owned().into(),
        Value::Array(items) => items.into_iter().map(masked).collect(),
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| (name, masked(value)))
                .collect(),
        ),
        other => other,
    }
}
