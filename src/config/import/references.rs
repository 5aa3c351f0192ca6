//! Variables in other clients' values, rewritten as Creance's own `${NAME}`. They stay references:
//! nothing is expanded. What a client takes as plain text stays plain text.

use std::collections::BTreeMap;

use super::super::variables::is_name;
use super::client::Client;

/// What the references of one file mean.
#[derive(Clone, Debug, Default)]
pub(super) struct References {
    /// `inputs` of VS Code by id: the variable that takes its place, with its default.
    pub(super) inputs: BTreeMap<String, String>,
    /// The folder that `${workspaceFolder}` is, where that is known.
    pub(super) workspace: Option<String>,
}

/// A text in Creance's form.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rewritten {
    pub(super) text: String,
    /// `${workspaceFolder}` became the folder in which servers start.
    pub(super) here: bool,
    /// A reference that this client takes as text.
    pub(super) literal: Option<String>,
}

impl Rewritten {
    /// Takes a `$` that begins no reference as text; gives what follows.
    fn plain<'a>(&mut self, after: &'a str) -> &'a str {
        let Some(inner) = after.strip_prefix('{') else {
            self.text.push('$');
            return after;
        };
        // Creance would take it for a reference of its own.
        self.text.push_str("$${");
        let name = inner.split_once('}').map(|(name, _)| name);
        self.literal = name.filter(|name| is_name(name)).map(str::to_owned);
        inner
    }
}

/// What a reference becomes.
enum Part {
    /// `NAME` or `NAME:-default`.
    Variable(String),
    /// The folder in which servers start.
    Here,
    Text(String),
}

impl References {
    /// Rewrites one value of a client.
    ///
    /// # Errors
    /// Why it cannot be said in Creance's form.
    pub(super) fn rewrite(&self, client: Client, raw: &str) -> Result<Rewritten, String> {
        let mut out = Rewritten::default();
        let mut rest = raw;
        while let Some((before, after)) = rest.split_once('$') {
            out.text.push_str(before);
            match self.reference(client, after)? {
                Some((part, next)) => {
                    self.push(&mut out, part, next)?;
                    rest = next;
                }
                None => rest = out.plain(after),
            }
        }
        out.text.push_str(rest);
        Ok(out)
    }

    fn push(&self, out: &mut Rewritten, part: Part, next: &str) -> Result<(), String> {
        match part {
            Part::Text(text) => out.text.push_str(&text.replace("${", "$${")),
            Part::Variable(_) if out.text.ends_with('$') => {
                return Err(
                    "has a `$` directly before a variable, which cannot be written here".into(),
                );
            }
            Part::Variable(name) => {
                out.text.push_str("${");
                out.text.push_str(&name);
                out.text.push('}');
            }
            Part::Here => {
                let start = out.text.is_empty() || out.text.ends_with(['=', ':', ',']);
                let end = next.is_empty() || next.starts_with(['/', '\\', ',']);
                match &self.workspace {
                    _ if start && end => {
                        out.text.push('.');
                        out.here = true;
                    }
                    Some(folder) => out.text.push_str(&folder.replace("${", "$${")),
                    None => return Err("holds `${workspaceFolder}` inside a text, which is another folder in each project".into()),
                }
            }
        }
        Ok(())
    }

    /// The reference behind a `$`, if this client sees one, and what follows it.
    fn reference<'a>(
        &self,
        client: Client,
        after: &'a str,
    ) -> Result<Option<(Part, &'a str)>, String> {
        let braced = after
            .strip_prefix('{')
            .and_then(|text| text.split_once('}'));
        match client {
            Client::ClaudeDesktop | Client::Zed | Client::Codex => Ok(None),
            Client::ClaudeCode => {
                Ok(braced
                    .and_then(|(inner, next)| Some((Part::Variable(with_default(inner)?), next))))
            }
            Client::Gemini => {
                let bare = after
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .map_or((after, ""), |end| after.split_at(end));
                let found = braced.and_then(|(inner, next)| Some((with_default(inner)?, next)));
                let bare = || is_name(bare.0).then(|| (bare.0.to_owned(), bare.1));
                Ok(found
                    .or_else(bare)
                    .map(|(name, next)| (Part::Variable(name), next)))
            }
            Client::Cursor | Client::VsCode | Client::Windsurf => match braced {
                Some((inner, next)) => Ok(self.editor(client, inner)?.map(|part| (part, next))),
                None => Ok(None),
            },
        }
    }

    /// What editors write between the braces.
    fn editor(&self, client: Client, inner: &str) -> Result<Option<Part>, String> {
        if let Some(name) = inner.strip_prefix("env:") {
            return Ok(is_name(name).then(|| Part::Variable(name.to_owned())));
        }
        let windsurf = client == Client::Windsurf;
        if windsurf && inner.starts_with("file:") {
            return Err("takes the content of a file, which cannot be carried over".into());
        }
        if windsurf {
            return Ok(None);
        }
        Ok(match inner {
            "workspaceFolder" => Some(Part::Here),
            "userHome" => Some(Part::Variable("HOME".into())),
            "pathSeparator" | "/" => Some(Part::Text(std::path::MAIN_SEPARATOR.to_string())),
            "workspaceFolderBasename" => {
                match self.workspace.as_deref().and_then(last) {
                    Some(name) => Some(Part::Text(name.to_owned())),
                    None => {
                        return Err("holds `${workspaceFolderBasename}`, which is another name in each project".into());
                    }
                }
            }
            _ => match inner.strip_prefix("input:") {
                Some(id) if client == Client::VsCode => match self.inputs.get(id) {
                    Some(name) => Some(Part::Variable(name.clone())),
                    None => return Err("asks for an input that the file does not describe".into()),
                },
                _ if inner.starts_with("command:") || inner.starts_with("config:") => {
                    return Err("takes a value of the editor, which cannot be carried over".into());
                }
                _ => None,
            },
        })
    }
}

fn last(folder: &str) -> Option<&str> {
    folder.rsplit(['/', '\\']).find(|part| !part.is_empty())
}

/// `NAME` or `NAME:-default`.
fn with_default(inner: &str) -> Option<String> {
    let name = inner.split_once(":-").map_or(inner, |(name, _)| name);
    is_name(name).then(|| inner.to_owned())
}
