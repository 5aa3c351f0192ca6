//! What an import would do with each server: names, clashes, secrets, and whether Creance itself
//! reads the entry. Pure: the same files and the same configuration make the same plan.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};

use crate::clean;
use crate::request::Source;

use super::super::parse::{SERVERS, parse};
use super::Remark;
use super::client::Scope;
use super::lists::ToolRule;
use super::read::Imported;
use super::secrets::{Moved, Vault, needed};

/// What is there before an import.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Known<'a> {
    /// The user's servers as they are written.
    pub(crate) servers: &'a Map<String, Value>,
    /// The user's file.
    pub(crate) file: &'a Path,
    /// The environment.
    pub(crate) environment: &'a BTreeMap<String, String>,
}

/// How an import is wanted.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Terms {
    /// Literal secrets stay in the entries.
    pub(crate) keep_secrets: bool,
    /// Servers of a project's files become the user's own.
    pub(crate) projects: bool,
}

/// What becomes of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It is added.
    Add,
    /// It is in the user's configuration already, or twice in this import.
    There,
    /// Another server has its name: that one stays.
    Taken,
    /// It stands in a project's file and was not asked for.
    OfProject,
    /// It cannot be a server of Creance.
    Refused(String),
}

/// One server of a plan.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// As it was read.
    pub(crate) server: Imported,
    /// Its name in Creance.
    pub(crate) name: String,
    /// What becomes of it.
    pub(crate) step: Step,
    /// What is written; may hold secrets that were to be kept.
    pub(crate) entry: Value,
    /// The same without any secret.
    pub(crate) shown: Value,
    /// The secrets that were found.
    pub(crate) moved: Vec<Moved>,
    /// The variables that are not set.
    pub(crate) missing: Vec<String>,
    /// What is to be said.
    pub(crate) remarks: Vec<Remark>,
    /// What its lists of tools say, under its name in Creance.
    pub(crate) rules: Vec<ToolRule>,
}

/// Plans an import.
pub(crate) fn plan(servers: Vec<Imported>, known: Known<'_>, terms: Terms) -> Vec<Planned> {
    let mut planning = Planning {
        vault: Vault::of(servers.iter().map(|server| &server.entry)),
        claimed: BTreeMap::new(),
        known,
        terms,
    };
    servers
        .into_iter()
        .map(|server| planning.server(server))
        .collect()
}

struct Planning<'a> {
    vault: Vault,
    /// Names given in this import, with the entry that each stands for.
    claimed: BTreeMap<String, (Value, &'static str)>,
    known: Known<'a>,
    terms: Terms,
}

impl Planning<'_> {
    fn server(&mut self, server: Imported) -> Planned {
        let mut shown = server.entry.clone();
        let moved = (self.vault).refer(&mut shown, &server.slug, self.known.environment);
        let kept = Value::Object(server.entry.clone());
        let shown = Value::Object(shown);
        let missing = self.missing(&shown);
        let mut planned = Planned {
            name: server.slug.clone(),
            step: Step::Add,
            entry: if self.terms.keep_secrets {
                kept
            } else {
                shown.clone()
            },
            shown,
            moved,
            missing,
            remarks: server.remarks.clone(),
            rules: Vec::new(),
            server,
        };
        planned.step = self.step(&mut planned);
        if planned.name != planned.server.name {
            let name = clean::line(&planned.server.name, 100);
            let what = format!("is called `{name}` there");
            planned.remarks.insert(0, Remark::new("", what));
        }
        if matches!(planned.step, Step::Add | Step::There) {
            let rules = planned.server.rules.iter().cloned();
            planned.rules = rules
                .map(|rule| ToolRule {
                    server: planned.name.clone(),
                    ..rule
                })
                .collect();
        }
        planned
    }

    /// Variables that the entry needs and nobody has set.
    fn missing(&self, entry: &Value) -> Vec<String> {
        let needed = needed(entry).into_iter();
        needed
            .filter(|name| !self.known.environment.contains_key(name))
            .collect()
    }

    fn step(&mut self, planned: &mut Planned) -> Step {
        if let Some(why) = &planned.server.refused {
            return Step::Refused(why.clone());
        }
        if planned.server.scope == Scope::Project && !self.terms.projects {
            return Step::OfProject;
        }
        if let Some(step) = self.named(planned) {
            return step;
        }
        let fault = self.fault(planned);
        if fault == Step::Add {
            let claim = (planned.shown.clone(), planned.server.client.title());
            self.claimed.insert(planned.name.clone(), claim);
        }
        fault
    }

    /// Gives the server a name; `Some` when there is nothing to add.
    fn named(&self, planned: &mut Planned) -> Option<Step> {
        let base = &planned.server.slug;
        let second = format!("{base}-{}", planned.server.client.word());
        let more = (2..20).map(|n| format!("{second}-{n}"));
        let names: Vec<String> = [base.clone(), second.clone()]
            .into_iter()
            .chain(more)
            .collect();
        let same = |entry: &Value| *entry == planned.entry || *entry == planned.shown;
        let there = names.iter().find(|name| {
            let known = self.known.servers.get(name.as_str());
            known.is_some_and(same)
        });
        if let Some(name) = there {
            planned.name.clone_from(name);
            return Some(Step::There);
        }
        for name in names {
            match (self.claimed.get(&name), self.known.servers.get(&name)) {
                (Some((entry, client)), _) if *entry == planned.shown => {
                    let what = format!("is the same as that of {client}");
                    planned.remarks.insert(0, Remark::new("", what));
                    planned.name = name;
                    return Some(Step::There);
                }
                // The next name: both are kept.
                (Some(_), _) => {}
                (None, Some(_)) => {
                    planned.name = name;
                    return Some(Step::Taken);
                }
                (None, None) => {
                    planned.name = name;
                    return None;
                }
            }
        }
        Some(Step::Taken)
    }

    /// What Creance itself says about the entry.
    fn fault(&self, planned: &mut Planned) -> Step {
        let text = json!({ SERVERS: { &*planned.name: &planned.entry } }).to_string();
        // Taken over, a project's server still leads to no private address.
        let source = match planned.server.scope {
            Scope::User => Source::User,
            Scope::Project => Source::Project,
        };
        let parsed = parse(&text, self.known.file, source, self.known.environment);
        match parsed.servers.into_iter().next() {
            Some(Ok(_)) => Step::Add,
            Some(Err(problem)) => match problem.missing {
                Some(_) => Step::Add,
                None => Step::Refused(format!("`{}` {}", problem.field, problem.reason)),
            },
            None => Step::Refused("it would not be read back".to_owned()),
        }
    }
}
