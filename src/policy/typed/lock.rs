//! The lock file: the tools that policies name as actions, each with the digest of its definition and
//! the types of its arguments. It stands beside the policies and is read and committed with them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::digest::Digest;
use crate::policy::source::{Lines, PolicyProblem, PolicySource};
use crate::protocol::json;
use crate::request::Layer;

use super::input::{Input, left_out, record_text};
use super::read::input_of;

/// A lock file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ToolLock {
    version: u64,
    /// By source-qualified name: `user/fs/write_file`.
    pub(crate) tools: BTreeMap<String, LockedTool>,
}

/// One tool, as its server offered it when it was locked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockedTool {
    /// Digest of its definition. A call of a tool with another one is denied.
    pub(crate) digest: Digest,
    /// The types of its arguments.
    pub(crate) input: Input,
}

/// The form of the file that this program writes.
const VERSION: u64 = 1;

impl Default for ToolLock {
    fn default() -> Self {
        Self {
            version: VERSION,
            tools: BTreeMap::new(),
        }
    }
}

impl LockedTool {
    /// Reads a tool's own input schema.
    ///
    /// # Errors
    /// Why its arguments cannot be typed.
    pub(crate) fn new(digest: Digest, input_schema: &Json) -> Result<Self, String> {
        Ok(Self {
            digest,
            input: input_of(input_schema)?,
        })
    }

    /// Arguments that policies do not see in `context.input`, each with the reason.
    pub(crate) fn left_out(&self) -> Vec<(String, String)> {
        left_out(&self.input)
    }

    /// The type of its `context.input`, as Cedar writes it.
    pub(crate) fn input_type(&self) -> String {
        record_text(&self.input)
    }
}

impl ToolLock {
    /// Reads a lock file.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub(crate) fn read(file: &PolicySource) -> Result<Self, Box<PolicyProblem>> {
        let problem = |why: String| {
            let problem = PolicyProblem::of_file(file, format!("is no lock of tools: {why}"));
            Box::new(problem.hint(WAY_OUT))
        };
        let parsed = json::read(file.text.as_bytes()).map_err(|error| {
            let place = Lines::of(&file.text).place(error.offset);
            Box::new((*problem(error.to_string())).at(place))
        })?;
        let value = parsed.json.to_value().value;
        let lock: Self =
            serde_json::from_value(value.clone()).map_err(|error| problem(error.to_string()))?;
        if lock.version != VERSION {
            return Err(problem(format!(
                "`version` is {}, and this program knows {VERSION}",
                lock.version
            )));
        }
        // A word that means nothing may have been meant to.
        if serde_json::to_value(&lock).ok().as_ref() != Some(&value) {
            return Err(problem("it holds words that mean nothing in it".to_owned()));
        }
        Ok(lock)
    }

    /// The text of the file.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

const WAY_OUT: &str =
    "move it away and let `creance policy schema --server NAME --write` write it anew";

/// The lock files of a store.
#[derive(Clone, Debug, Default)]
pub(in crate::policy) struct Locks(BTreeMap<String, Locked>);

/// A locked tool, and the file that says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::policy) struct Locked {
    pub(in crate::policy) tool: LockedTool,
    pub(in crate::policy) file: String,
}

impl Locks {
    /// Reads lock files, the most trusted layer first: of a tool that two files lock, the first holds.
    /// Gives the warnings along.
    pub(in crate::policy) fn read(
        files: &[PolicySource],
    ) -> Result<(Self, Vec<PolicyProblem>), Vec<PolicyProblem>> {
        let mut sorted: Vec<&PolicySource> = files.iter().collect();
        sorted.sort_by_key(|file| file.layer != Layer::Org);
        let (mut locks, mut wrong, mut warnings) = (BTreeMap::new(), Vec::new(), Vec::new());
        for file in sorted {
            if file.layer == Layer::Project {
                let why = "a project's policies bring no lock of tools";
                wrong.push(PolicyProblem::of_file(file, why));
                continue;
            }
            match ToolLock::read(file) {
                Err(problem) => wrong.push(*problem),
                Ok(lock) => add(&mut locks, (file, lock), &mut warnings),
            }
        }
        if wrong.is_empty() {
            Ok((Self(locks), warnings))
        } else {
            Err(wrong)
        }
    }

    pub(in crate::policy) fn get(&self, tool: &str) -> Option<&Locked> {
        self.0.get(tool)
    }
}

fn add(
    locks: &mut BTreeMap<String, Locked>,
    (file, lock): (&PolicySource, ToolLock),
    warnings: &mut Vec<PolicyProblem>,
) {
    for (name, tool) in lock.tools {
        match locks.get(&name) {
            Some(first) if first.tool != tool => {
                let why = format!("its `{name}` is not used: `{}` locks another", first.file);
                warnings.push(PolicyProblem::of_file(file, why).warning());
            }
            Some(_) => {}
            None => {
                let file = file.file.clone();
                locks.insert(name, Locked { tool, file });
            }
        }
    }
}

#[cfg(test)]
#[path = "tests/lock.rs"]
mod tests;
