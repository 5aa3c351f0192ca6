//! The gateway in the place of a client's own servers, and the way back.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::clean;
use crate::config::import::{self, Client, ClientText, Imported, Known, Scope, Step, Terms};
use crate::config::{self, GATEWAY};
use crate::disk;
use crate::disk::clients::{self, Back, ClientFile, Exchange};

use super::error::{Error, ErrorKind};
use super::workspace::Workspace;

/// Which servers leave a client's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leaving {
    /// Those that Creance has: nothing is lost.
    Imported,
    /// All.
    All,
}

/// Whether a file that was changed since is put back too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changed {
    /// It is left alone.
    Refuse,
    /// It is put back; what stood there is copied first.
    Overwrite,
}

/// What an export did.
#[derive(Clone, Debug, Serialize)]
pub struct ExportReport {
    /// The client's file.
    pub file: String,
    /// The file itself, when a link leads to it.
    pub target: Option<String>,
    /// The copy of what stood there; `None` where nothing was changed or nothing was there.
    pub backup: Option<String>,
    /// The servers that were taken out.
    pub removed: Vec<String>,
    /// Those that stay, and why.
    pub kept: Vec<(String, &'static str)>,
    /// Whether the gateway stood there already, with nothing left to do.
    pub unchanged: bool,
}

/// What a way back did.
#[derive(Clone, Debug, Serialize)]
pub struct RollbackReport {
    /// The client's file.
    pub file: String,
    /// `restored`, `removed` or `already`.
    pub done: &'static str,
    /// The copy of what stood there instead.
    pub kept: Option<String>,
}

impl Workspace {
    /// Puts the gateway into a client's file, in the place of its servers.
    ///
    /// # Errors
    /// When the file cannot be read, edited or written; nothing is then changed.
    pub fn export_gateway(
        &self,
        client: Client,
        file: Option<&Path>,
        leaving: Leaving,
    ) -> Result<ExportReport, Error> {
        let path = self.client_path(client, file)?;
        let wrong = |why: String| unusable(&path, &why);
        let read = self.client_text(client, &path).map_err(wrong)?;
        let text = read.as_ref().map(|(text, _)| text.as_str());
        let servers = match text {
            Some(text) => self.exported_servers(client, &path, text).map_err(wrong)?,
            None => Vec::new(),
        };
        let (out, kept): (Vec<_>, Vec<_>) = servers
            .into_iter()
            .filter(|(name, _)| name != GATEWAY)
            .partition(|(_, why)| leaving == Leaving::All || why.is_none());
        let out: Vec<String> = out.into_iter().map(|(name, _)| name).collect();
        let program = std::env::current_exe()?;
        let command = disk::path_text(&program);
        let before = text.unwrap_or_default();
        let exported = config::exported(client, before, &command, &out).map_err(wrong)?;
        let unchanged = text == Some(exported.text.as_str());
        let backup = if unchanged {
            None
        } else {
            clients::exchange(self.exchange(&path), text, &exported.text).map_err(wrong)?
        };
        let shown = |path: PathBuf| clean::line(&path.to_string_lossy(), 1_000);
        Ok(ExportReport {
            file: shown(path.clone()),
            target: read.and_then(|(_, target)| target).map(shown),
            backup: backup.map(shown),
            removed: exported
                .removed
                .iter()
                .map(|n| clean::line(n, 100))
                .collect(),
            kept: kept
                .into_iter()
                .filter_map(|(name, why)| Some((clean::line(&name, 100), why?)))
                .collect(),
            unchanged,
        })
    }

    /// Puts back what stood in a client's file before the last export, byte for byte.
    ///
    /// # Errors
    /// When there was none, the file was changed since, or it cannot be written.
    pub fn roll_back_export(
        &self,
        client: Client,
        file: Option<&Path>,
        changed: Changed,
    ) -> Result<RollbackReport, Error> {
        let path = self.client_path(client, file)?;
        let done = clients::roll_back(Exchange {
            force: changed == Changed::Overwrite,
            ..self.exchange(&path)
        });
        let (back, kept) = done.map_err(|why| unusable(&path, &why))?;
        Ok(RollbackReport {
            file: clean::line(&path.to_string_lossy(), 1_000),
            done: match back {
                Back::Restored => "restored",
                Back::Removed => "removed",
                Back::Already => "already",
            },
            kept: kept.map(|path| path.display().to_string()),
        })
    }

    fn exchange<'a>(&'a self, path: &'a Path) -> Exchange<'a> {
        Exchange {
            path,
            home: self.ground.home.as_deref(),
            state: &self.folders.state,
            now_ms: disk::clock(),
            force: false,
        }
    }

    /// The client's file: its folder resolved, its last part as it is named.
    fn client_path(&self, client: Client, file: Option<&Path>) -> Result<PathBuf, Error> {
        let path = match file {
            Some(file) => {
                let real =
                    disk::named_here(file).map_err(|why| unusable(file, &why.to_string()))?;
                self.ground.cwd.join(real)
            }
            None => clients::home_file(client, self.homes()).ok_or_else(|| {
                Error::new(
                    ErrorKind::Usage,
                    "there is no home folder: name the file with `--file`",
                )
            })?,
        };
        let real = path.parent().and_then(|folder| folder.canonicalize().ok());
        match real.zip(path.file_name()) {
            Some((folder, name)) => Ok(folder.join(name)),
            None => Err(unusable(
                &path,
                "cannot be made: there is no such folder; start the client once, or name the file",
            )),
        }
    }

    /// The text, and the file behind a link.
    fn client_text(
        &self,
        client: Client,
        path: &Path,
    ) -> Result<Option<(String, Option<PathBuf>)>, String> {
        let project = self.ground.project.as_deref();
        let below = project.is_some_and(|root| path.starts_with(root));
        let file = ClientFile {
            client,
            scope: if below { Scope::Project } else { Scope::User },
            path: path.to_owned(),
        };
        let read = clients::read_file(file, self.homes())?;
        Ok(read.map(|read| (read.text, read.target)))
    }

    /// The servers of the file, and why each would be lost.
    fn exported_servers(
        &self,
        client: Client,
        path: &Path,
        text: &str,
    ) -> Result<Vec<(String, Option<&'static str>)>, String> {
        let source = ClientText {
            client,
            scope: Scope::User,
            file: path,
            text,
            project: None,
        };
        // The file's own list alone: what is said of single projects stays.
        let top = format!("{}.", client.servers_key());
        let servers: Vec<Imported> = (import::read(&source)?.servers.into_iter())
            .filter(|server| server.field.starts_with(&top))
            .collect();
        let known = self.written_servers().map_err(|error| error.to_string())?;
        let user_file = self.user_file();
        let known = Known {
            servers: &known,
            file: &user_file,
            environment: &self.ground.environment,
        };
        let planned = import::plan(servers, known, Terms::default());
        let lost = planned.into_iter().map(|planned| {
            let there = known.servers.get(&planned.name);
            let same = |key: &str| {
                let known = there.and_then(|entry| entry.get(key));
                known.is_some() && known == planned.shown.get(key)
            };
            let why = match planned.step {
                Step::There => None,
                // It was changed after it was imported.
                Step::Taken if same("command") || same("url") => None,
                Step::Taken => Some("Creance has another server of that name"),
                Step::Add | Step::OfProject => Some("Creance does not have it: import it first"),
                Step::Refused(_) => Some("Creance cannot run it"),
            };
            (planned.server.name, why)
        });
        Ok(lost.collect())
    }
}

fn unusable(path: &Path, why: &str) -> Error {
    let path = clean::line(&path.to_string_lossy(), 1_000);
    Error::new(ErrorKind::Config, format!("`{path}` {why}"))
}
