//! Tools that policies name as actions: the types of their arguments, and the lock file that keeps them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

use crate::clean;
use crate::digest::Digest;
use crate::disk;
use crate::enforce::agreed;
use crate::policy::{LockedTool, PolicySet, PolicySource, ToolLock, tools_in};
use crate::request::{Layer, PinKind, TOOL_LOCK};

use super::error::{Error, ErrorKind};
use super::policy_files::PolicyFiles;
use super::workspace::Workspace;

/// A tool of a server as policies can name it.
#[derive(Clone, Debug, Serialize)]
pub struct TypedTool {
    /// Its source-qualified name, which is its action: `user/fs/write_file`.
    pub action: String,
    /// Digest of its definition.
    pub digest: Digest,
    /// The types of its arguments, as the lock file keeps them.
    pub input: Value,
    /// Arguments that `context.input` does not hold, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Its declaration in Cedar's schema.
    #[serde(skip)]
    pub declaration: String,
}

/// What became of a lock file.
#[derive(Clone, Debug, Serialize)]
pub struct Relocked {
    /// The file.
    pub file: PathBuf,
    /// Tools that it did not know before.
    pub added: Vec<String>,
    /// Tools that are others now.
    pub changed: Vec<String>,
    /// Tools that no policy names any more.
    pub removed: Vec<String>,
    /// All tools of the server that it knows now.
    pub tools: Vec<TypedTool>,
}

/// A tool that cannot be typed, and why not.
pub type Untyped = (String, String);

/// A server's tools by their qualified names, each typed or with the reason why it is not.
type Typed = BTreeMap<String, Result<LockedTool, String>>;

impl Workspace {
    /// The tools of a server that were agreed to, with the types of their arguments; those that cannot
    /// be typed come with the reason.
    ///
    /// # Errors
    /// When there is no such server, or none of its tools was agreed to for good.
    pub fn typed_tools(&self, server: &str) -> Result<(Vec<TypedTool>, Vec<Untyped>), Error> {
        let (mut tools, mut untyped) = (Vec::new(), Vec::new());
        for (name, tool) in self.typed(server)?.1 {
            match tool {
                Ok(tool) => tools.push(typed_tool(&name, &tool)),
                Err(why) => untyped.push((name, why)),
            }
        }
        Ok((tools, untyped))
    }

    /// Locks those tools of a server that policies name as actions, as they were agreed to: of your own
    /// and the project's policies in your policy folder, or of those in another folder there.
    ///
    /// # Errors
    /// As [`Workspace::typed_tools`]; when a policy names a tool that was not agreed to or cannot be
    /// typed; when a file cannot be read or written. Nothing is then changed.
    pub fn lock_tools(&self, server: &str, folder: Option<&Path>) -> Result<Relocked, Error> {
        let (id, tools) = self.typed(server)?;
        let (sources, folder) = match folder {
            Some(folder) => (PolicyFiles::of(folder)?.parts.sources, folder.to_owned()),
            None => (self.own_policies()?, self.folders.policies()),
        };
        let mut wanted = BTreeSet::new();
        for source in &sources {
            wanted.extend(tools_in(source).map_err(wrong)?);
        }
        let below = format!("{id}/");
        wanted.retain(|name| name.starts_with(&below));
        let file = folder.join(TOOL_LOCK);
        let before = read(&file)?;
        let after = relock(&before, &below, (&wanted, &tools))?;
        let report = report(&file, &below, (&before, &after));
        if after != before {
            disk::replace_file(&file, after.text().as_bytes()).map_err(|cause| {
                let text = format!("`{}` cannot be written: {cause}", file.display());
                Error::caused(ErrorKind::Io, text, cause)
            })?;
        }
        Ok(report)
    }

    /// The policies of the user and the project as they lie there, usable or not.
    fn own_policies(&self) -> Result<Vec<PolicySource>, Error> {
        let found = disk::read_policies(&self.followed.folders)
            .files
            .into_iter();
        let own = found.filter(|file| matches!(file.layer, Layer::User | Layer::Project));
        let read = own.map(|found| {
            let (layer, file) = (found.layer, found.file);
            let text = found.text.map_err(|why| wrong(format!("{file}: {why}")))?;
            Ok(PolicySource { layer, file, text })
        });
        read.collect()
    }

    fn typed(&self, server: &str) -> Result<(String, Typed), Error> {
        let definition = self.definition(server)?;
        let id = definition.id.to_string();
        let pin = self
            .ledger()?
            .pin(PinKind::Tools, &self.ground.subject(&definition.id))
            .map_err(|e| Error::caused(ErrorKind::Io, e.to_string(), e))?
            .filter(|pin| pin.lasting);
        let Some(pin) = pin else {
            return Err(Error::new(
                ErrorKind::Usage,
                format!(
                    "no tools of {id} were agreed to for good: take the policies out that name them, run `creance server trust {id}`, and put them back"
                ),
            ));
        };
        let tools = agreed::tools(&pin).into_iter().map(|(name, tool)| {
            let kept = tool.as_ref().and_then(|tool| {
                let schema = tool.input_schema()?.to_value().value;
                Some(LockedTool::new(tool.digest, &schema))
            });
            let gone = || {
                Err(format!(
                    "its definition is not on file: `creance server forget {id}` and agree again"
                ))
            };
            (format!("{id}/{name}"), kept.unwrap_or_else(gone))
        });
        Ok((id.clone(), tools.collect()))
    }
}

fn wrong(why: String) -> Error {
    Error::new(ErrorKind::Policy, why)
}

/// The lock file, or an empty one where there is none.
fn read(file: &Path) -> Result<ToolLock, Error> {
    if !file.exists() {
        return Ok(ToolLock::default());
    }
    let text = disk::text_of(file).map_err(wrong)?;
    let source = PolicySource {
        layer: Layer::User,
        file: text.path,
        text: text.text,
    };
    ToolLock::read(&source).map_err(|problem| wrong(problem.to_string()))
}

/// The lock with the wanted tools of one server in place of those that it knew.
fn relock(
    before: &ToolLock,
    below: &str,
    (wanted, tools): (&BTreeSet<String>, &Typed),
) -> Result<ToolLock, Error> {
    let mut after = before.clone();
    after.tools.retain(|name, _| !name.starts_with(below));
    for name in wanted {
        let shown = clean::line(name, 200);
        match tools.get(name) {
            Some(Ok(tool)) => {
                after.tools.insert(name.clone(), tool.clone());
            }
            Some(Err(why)) => {
                return Err(wrong(format!(
                    "a policy names Action::\"{shown}\", and {}",
                    clean::line(why, 500)
                )));
            }
            None => {
                let own = tools
                    .keys()
                    .map(|name| name.strip_prefix(below).unwrap_or(name));
                let own: Vec<String> = own.map(|name| clean::line(name, 80)).collect();
                return Err(wrong(format!(
                    "a policy names Action::\"{shown}\", and no such tool was agreed to; there are: {}",
                    own.join(", ")
                )));
            }
        }
    }
    Ok(after)
}

fn report(file: &Path, below: &str, (before, after): (&ToolLock, &ToolLock)) -> Relocked {
    let of = |lock: &ToolLock| -> BTreeMap<String, LockedTool> {
        let tools = lock.tools.iter();
        let own = tools.filter(|(name, _)| name.starts_with(below));
        own.map(|(name, tool)| (name.clone(), tool.clone()))
            .collect()
    };
    let (before, after) = (of(before), of(after));
    let added = after.keys().filter(|name| !before.contains_key(*name));
    let removed = before.keys().filter(|name| !after.contains_key(*name));
    let other = |(name, tool): &(&String, &LockedTool)| {
        before.get(*name).is_some_and(|known| known != *tool)
    };
    let changed = after.iter().filter(other).map(|(name, _)| name);
    Relocked {
        file: file.to_owned(),
        added: added.cloned().collect(),
        changed: changed.cloned().collect(),
        removed: removed.cloned().collect(),
        tools: after
            .iter()
            .map(|(name, tool)| typed_tool(name, tool))
            .collect(),
    }
}

fn typed_tool(name: &str, tool: &LockedTool) -> TypedTool {
    TypedTool {
        action: name.to_owned(),
        digest: tool.digest,
        input: serde_json::to_value(&tool.input).unwrap_or_default(),
        left_out: tool.left_out(),
        declaration: PolicySet::typed_action(name, tool),
    }
}
