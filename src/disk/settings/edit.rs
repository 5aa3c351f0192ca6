//! Adds and removes servers in the user's file. Comments and layout stay; the new text is read
//! back before it replaces the old one in one step, or nothing is saved and that is said.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use jsonc_parser::cst::{CstObject, CstRootNode};
use serde_json::{Map, Value};

use crate::clean;
use crate::config::{ConfigProblem, SERVERS, SYNTAX, input, parse};
use crate::request::Source;

use super::super::log_file::lock_file;
use super::super::os;
use super::super::program::os as program_os;
use super::super::write::write_atomic_as;
use super::read::text_of;

/// The file was not changed.
#[derive(Debug)]
pub(crate) struct SettingsError {
    /// The file.
    pub(crate) file: PathBuf,
    /// Why.
    pub(crate) why: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = clean::line(&self.file.to_string_lossy(), 4_096);
        write!(f, "nothing was saved: {file}: {}", self.why)
    }
}

impl std::error::Error for SettingsError {}

/// Adds a server. The entry must be one that is read without a fault; a variable that is not set
/// now is no fault of the entry, and comes back to be said.
///
/// # Errors
/// When the name is taken, the entry or the file is faulty, or the file cannot be written.
pub(crate) fn add(
    file: &Path,
    name: &str,
    entry: &Value,
    environment: &BTreeMap<String, String>,
) -> Result<Option<ConfigProblem>, SettingsError> {
    let edit = Edit::open(file)?;
    let servers = edit.servers()?;
    if named(&servers, name).next().is_some() {
        return edit.fail(format!(
            "a server `{}` is there already; remove it first",
            clean::line(name, 300)
        ));
    }
    servers.append(name, input(entry));
    let text = edit.root.to_string();
    let mut want = edit.before.clone();
    put(&mut want, name, entry);
    edit.check(&text, &want)?;
    let parsed = parse(&text, &edit.target, Source::User, environment);
    let added = parsed.servers.iter().find(|server| match server {
        Ok(server) => server.id.name == name,
        Err(problem) => problem.server.as_ref().is_some_and(|id| id.name == name),
    });
    let said = match added {
        Some(Ok(_)) => None,
        Some(Err(problem)) if problem.missing.is_some() => Some(problem.clone()),
        Some(Err(problem)) => return edit.fail(with_help(problem)),
        None => return edit.fail("the entry would not be read back".to_owned()),
    };
    edit.save(&text)?;
    Ok(said)
}

/// Removes a server, also one whose entry is faulty.
///
/// # Errors
/// When there is none of that name, or the file is faulty or cannot be written.
pub(crate) fn remove(file: &Path, name: &str) -> Result<(), SettingsError> {
    let edit = Edit::open(file)?;
    let servers = edit.servers()?;
    let found: Vec<_> = named(&servers, name).collect();
    if found.is_empty() {
        return edit.fail(format!("there is no server `{}`", clean::line(name, 300)));
    }
    for property in found {
        property.remove();
    }
    let text = edit.root.to_string();
    let mut want = edit.before.clone();
    if let Some(Value::Object(servers)) = want.get_mut(SERVERS) {
        servers.shift_remove(name);
    }
    edit.check(&text, &want)?;
    edit.save(&text)
}

/// The user's servers as they are written; none when the file is not there.
///
/// # Errors
/// When the file is faulty or cannot be read.
pub(crate) fn written(file: &Path) -> Result<Map<String, Value>, SettingsError> {
    let edit = Edit::open(file)?;
    edit.servers()?;
    match edit.before.get(SERVERS) {
        Some(Value::Object(servers)) => Ok(servers.clone()),
        _ => Ok(Map::new()),
    }
}

fn with_help(problem: &ConfigProblem) -> String {
    if problem.help.is_empty() {
        return problem.what();
    }
    format!("{}; {}", problem.what(), problem.help)
}

fn named<'a>(
    servers: &CstObject,
    name: &'a str,
) -> impl Iterator<Item = jsonc_parser::cst::CstObjectProp> + use<'a> {
    let properties = servers.properties().into_iter();
    properties.filter(move |property| property.decoded_name().as_deref() == Some(name))
}

fn put(root: &mut Value, name: &str, entry: &Value) {
    if let Value::Object(root) = root {
        let servers = root
            .entry(SERVERS)
            .or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Value::Object(servers) = servers {
            servers.insert(name.to_owned(), entry.clone());
        }
    }
}

/// An edit that is under way; the file is locked against other processes of Creance.
struct Edit {
    /// The file as it was named.
    file: PathBuf,
    /// The file itself, links followed: a link to a file elsewhere stays a link.
    target: PathBuf,
    root: CstRootNode,
    before: Value,
    mark: &'static str,
    rights: Option<fs::Permissions>,
    _lock: File,
}

/// What editors of one system put at the start of a text.
const MARK: &str = "\u{feff}";

impl Edit {
    fn open(file: &Path) -> Result<Self, SettingsError> {
        let error = |why: String| SettingsError {
            file: file.to_owned(),
            why,
        };
        let io_error = |cause: io::Error| error(cause.to_string());
        let target = match fs::canonicalize(file) {
            Ok(target) => target,
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => file.to_owned(),
            Err(cause) => return Err(io_error(cause)),
        };
        let folder = target
            .parent()
            .ok_or_else(|| error("lies in no folder".to_owned()))?;
        os::create_private_folder(folder).map_err(io_error)?;
        let lock = lock(&target).map_err(io_error)?;
        let (text, rights) = match program_os::open(&target) {
            Ok(opened) => {
                let metadata = opened.metadata().map_err(io_error)?;
                if !metadata.is_file() {
                    return Err(error("is no regular file".to_owned()));
                }
                // A rename would replace a file that its owner made read-only.
                if metadata.permissions().readonly() {
                    return Err(error("is read-only; try `chmod u+w`".to_owned()));
                }
                let text = text_of(opened).map_err(&error)?;
                (text, Some(metadata.permissions()))
            }
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => (String::new(), None),
            Err(cause) => return Err(io_error(cause)),
        };
        let (mark, text) = match text.strip_prefix(MARK) {
            Some(text) => (MARK, text),
            None => ("", text.as_str()),
        };
        let text = if text.trim().is_empty() {
            "{\n}\n"
        } else {
            text
        };
        let syntax = |cause: jsonc_parser::errors::ParseError| {
            let (line, column) = (cause.line_display(), cause.column_display());
            error(format!(
                "line {line}, column {column}: not JSON: {}",
                cause.kind()
            ))
        };
        let root = CstRootNode::parse(text, &SYNTAX).map_err(syntax)?;
        let before = root.to_serde_value().unwrap_or_default();
        Ok(Self {
            file: file.to_owned(),
            target,
            root,
            before,
            mark,
            rights,
            _lock: lock,
        })
    }

    fn fail<T>(&self, why: String) -> Result<T, SettingsError> {
        Err(SettingsError {
            file: self.file.clone(),
            why,
        })
    }

    fn servers(&self) -> Result<CstObject, SettingsError> {
        let root = self.root.object_value_or_create();
        match root.and_then(|root| root.object_value_or_create(SERVERS)) {
            Some(servers) => Ok(servers),
            None => self.fail(format!(
                "must be an object with `{SERVERS}`, an object, in it"
            )),
        }
    }

    /// The new text says exactly what was meant, and nothing else changed.
    fn check(&self, text: &str, want: &Value) -> Result<(), SettingsError> {
        let read = CstRootNode::parse(text, &SYNTAX);
        let read = read.ok().and_then(|root| root.to_serde_value());
        if read.as_ref() == Some(want) {
            return Ok(());
        }
        self.fail(
            "the file cannot be edited without changing other parts of it; edit it by hand"
                .to_owned(),
        )
    }

    fn save(&self, text: &str) -> Result<(), SettingsError> {
        self.replace(text)
            .or_else(|cause| self.fail(cause.to_string()))
    }

    fn replace(&self, text: &str) -> io::Result<()> {
        let text = format!("{}{text}", self.mark);
        write_atomic_as(&self.target, text.as_bytes(), self.rights.as_ref())
    }
}

/// Held until the edit is over; a process that dies lets go of it.
fn lock(target: &Path) -> io::Result<File> {
    let mut name = target.as_os_str().to_owned();
    name.push(".lock");
    let mut options = File::options();
    let options = options.read(true).write(true).create(true).truncate(false);
    let file = os::guarded(options).open(name)?;
    lock_file(&file)?;
    Ok(file)
}
