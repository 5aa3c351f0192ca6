//! Reads the organisation's, the user's and the project's files. Whose word a file is, its owner
//! and its place decide before a byte of it is read.

use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};

use crate::clean;
use crate::config::{ConfigProblem, FILE_MAX, Parsed, SERVERS, ServerDefinition, Settings, parse};
use crate::request::Source;

use super::super::os;
use super::super::program::os as program_os;
use super::super::read::{self, ReadErrorKind};

/// Where the files of a run lie.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    org: PathBuf,
    user: PathBuf,
    project: Option<PathBuf>,
}

impl Files {
    /// The organisation's fixed file, `config.json` in the user's folder, and the project's. No
    /// variable and no flag moves the organisation's.
    pub(crate) fn new(user_folder: &Path, project: Option<&Path>) -> Self {
        let org = if cfg!(windows) {
            r"C:\ProgramData\creance\config.json"
        } else {
            "/etc/creance/config.json"
        };
        Self {
            org: PathBuf::from(org),
            user: user_folder.join("config.json"),
            project: project.map(Path::to_owned),
        }
    }

    #[cfg(test)]
    pub(super) fn with_org(mut self, org: PathBuf) -> Self {
        self.org = org;
        self
    }

    /// The user's own file.
    pub(crate) fn user(&self) -> &Path {
        &self.user
    }
}

/// What all files say together.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configuration {
    /// The servers: the organisation's, the user's, the project's, each in the order of its file.
    /// Their identities differ, also where names are the same.
    pub(crate) servers: Vec<ServerDefinition>,
    /// The settings; the organisation's win over the user's.
    pub(crate) settings: Settings,
    /// Everything that is wrong or ignored.
    pub(crate) problems: Vec<ConfigProblem>,
    /// Names that more than one source uses, one line each.
    pub(crate) notices: Vec<String>,
}

/// Files of a project, from the one that counts more.
const PROJECT_FILES: [&[&str]; 2] = [&[".creance", "config.json"], &[".mcp.json"]];

/// Reads every file that is there.
pub(crate) fn read_all(files: &Files, environment: &BTreeMap<String, String>) -> Configuration {
    let mut all = Configuration::default();
    let org = parsed(
        &files.org,
        Source::Org,
        || own_file(&files.org, Owner::Root),
        environment,
    );
    let user = parsed(
        &files.user,
        Source::User,
        || own_file(&files.user, Owner::User),
        environment,
    );
    all.settings = org.settings.clone().or(&user.settings);
    all.take(org);
    all.take(user);
    for parts in PROJECT_FILES {
        let Some(root) = &files.project else { continue };
        let path = parts
            .iter()
            .fold(root.clone(), |path, part| path.join(part));
        let parsed = parsed(
            &path,
            Source::Project,
            || project_file(root, parts),
            environment,
        );
        all.take(parsed);
    }
    all.name_collisions();
    all
}

impl Configuration {
    /// An identity that is there already is not replaced.
    fn take(&mut self, parsed: Parsed) {
        self.problems.extend(parsed.problems);
        for server in parsed.servers {
            let server = match server {
                Ok(server) => server,
                Err(problem) => {
                    self.problems.push(problem);
                    continue;
                }
            };
            let Some(first) = self.servers.iter().find(|other| other.id == server.id) else {
                self.servers.push(server);
                continue;
            };
            if first.digest() != server.digest() {
                let reason = format!("is defined otherwise by {}: ignored", first.origin);
                self.problems.push(ConfigProblem {
                    origin: server.origin,
                    field: format!("{SERVERS}.{}", clean(&server.id.name)),
                    server: Some(Box::new(server.id)),
                    ..ConfigProblem::of_file(Path::new(""), reason)
                });
            }
        }
    }

    /// Same names of two sources are two servers; people should know it.
    fn name_collisions(&mut self) {
        for (at, server) in self.servers.iter().enumerate() {
            let mut before = self.servers.iter().take(at);
            let same = before.find(|o| o.id.name.to_lowercase() == server.id.name.to_lowercase());
            if let Some(first) = same {
                self.notices.push(format!(
                    "{} ({}) has the name of {} ({}): they are two servers, and neither stands for the other",
                    clean(&server.id.to_string()), server.origin, clean(&first.id.to_string()), first.origin
                ));
            }
        }
    }
}

fn clean(text: &str) -> String {
    clean::line(text, 300)
}

fn parsed(
    path: &Path,
    source: Source,
    open: impl FnOnce() -> Result<Option<File>, String>,
    environment: &BTreeMap<String, String>,
) -> Parsed {
    let text = open().and_then(|file| file.map(text_of).transpose());
    match text {
        Ok(Some(text)) => parse(&text, path, source, environment),
        Ok(None) => Parsed::default(),
        Err(why) => Parsed {
            problems: vec![
                ConfigProblem::of_file(path, why).with_help("nothing of this file is used"),
            ],
            ..Parsed::default()
        },
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    User,
    Root,
}

/// A file that speaks for the user or the organisation: nobody else may have written it. The user
/// may keep it elsewhere and link to it.
fn own_file(path: &Path, owner: Owner) -> Result<Option<File>, String> {
    let Some((file, metadata)) = there(read::regular(program_os::open(path)))? else {
        return Ok(None);
    };
    let right = |metadata: &Metadata| match owner {
        Owner::User => os::is_own(metadata) || os::is_roots(metadata),
        Owner::Root => os::is_roots(metadata),
    };
    let whose = match owner {
        Owner::User => "you",
        Owner::Root => "root",
    };
    if !right(&metadata) {
        return Err(format!("does not belong to {whose}; try `chown`"));
    }
    if os::anybody_writes(&metadata) {
        return Err("can be changed by every user of this machine; try `chmod o-w`".to_owned());
    }
    if owner == Owner::Root && os::others_write(&metadata) {
        return Err("can be changed by a group of users; try `chmod g-w`".to_owned());
    }
    let real =
        std::fs::canonicalize(path).map_err(|error| format!("cannot be resolved: {error}"))?;
    for folder in [path.parent(), real.parent()].into_iter().flatten() {
        let metadata = std::fs::metadata(folder)
            .map_err(|error| format!("lies in a folder that cannot be read: {error}"))?;
        let open = os::anybody_writes(&metadata) && !os::is_sticky(&metadata);
        if !right(&metadata) || open {
            return Err(format!(
                "lies in a folder that others than {whose} may change"
            ));
        }
    }
    Ok(Some(file))
}

/// A project's file: a link could show any file of the user, a foreign owner could be anybody.
fn project_file(root: &Path, parts: &[&str]) -> Result<Option<File>, String> {
    let relative: PathBuf = parts.iter().collect();
    let Some((file, metadata)) = there(read::open_below(root, &relative))? else {
        return Ok(None);
    };
    if !os::is_own(&metadata) && !os::is_roots(&metadata) {
        return Err("belongs to another user".to_owned());
    }
    Ok(Some(file))
}

fn there<T>(opened: Result<T, ReadErrorKind>) -> Result<Option<T>, String> {
    match opened {
        Ok(opened) => Ok(Some(opened)),
        Err(ReadErrorKind::Missing) => Ok(None),
        Err(kind) => Err(kind.to_string()),
    }
}

/// The text of a file of at most the limit, whatever size it claims.
pub(super) fn text_of(file: File) -> Result<String, String> {
    let limit = u64::try_from(FILE_MAX).unwrap_or(u64::MAX);
    let bytes = read::read_regular(file, limit).map_err(|kind| kind.to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        format!(
            "is not UTF-8 text (byte {})",
            error.utf8_error().valid_up_to()
        )
    })
}
