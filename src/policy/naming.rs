//! Policies that name tools as actions: the schema that they are written in, and what is wrong with
//! naming a tool that no lock file knows, or with policies that would miss the calls of such tools.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;

use cedar_policy::{PolicyId, PolicySet};

use crate::request::{Layer, TOOL_LOCK};

use super::load::{Loaded, find, text_of, without_mark};
use super::source::{Lines, PolicyProblem, PolicySource, one_line};
use super::typed::{Locks, misses_typed, tools_named};
use super::vocabulary::{TypedTool, Vocabulary};

/// The tools that the policies of a text name as actions.
///
/// # Errors
/// When the text cannot be read.
pub(crate) fn tools_in(file: &PolicySource) -> Result<BTreeSet<String>, String> {
    let parsed: PolicySet = without_mark(&file.text).parse().map_err(|error| {
        let why = one_line(&format!("{error}"));
        format!("{}: cannot be read: {why}", one_line(&file.file))
    })?;
    let conditions = parsed.policies().map(|policy| policy.as_ref().condition());
    Ok(conditions.flat_map(|it| tools_named(&it)).collect())
}

/// What naming tools comes to.
pub(super) struct Named {
    /// The schema with the actions of the tools.
    pub(super) vocabulary: Arc<Vocabulary>,
    /// Policies that name tools which no lock file knows: nothing more can be said of them.
    pub(super) unknown: HashSet<PolicyId>,
    pub(super) problems: Vec<PolicyProblem>,
}

impl Named {
    /// The tools that any of these policies name. With such an action in the store, no policy may miss
    /// its calls because it names the general one by `==`.
    pub(super) fn by(all: &[&Loaded], sources: &[PolicySource], locks: &Locks) -> Self {
        let mut tools: BTreeMap<String, TypedTool> = BTreeMap::new();
        let (mut unknown, mut problems) = (HashSet::new(), Vec::new());
        for loaded in all {
            let names = tools_named(&loaded.policy.as_ref().condition());
            let (known, other): (Vec<_>, Vec<_>) = names
                .into_iter()
                .partition(|name| locks.get(name).is_some());
            if !other.is_empty() {
                unknown.insert(loaded.policy.id().clone());
            }
            problems.extend(other.iter().map(|name| unlocked(sources, loaded, name)));
            for (name, locked) in known
                .iter()
                .filter_map(|name| Some((name, locks.get(name)?)))
            {
                tools.entry(name.clone()).or_insert_with(|| TypedTool {
                    tool: locked.tool.clone(),
                    lock: locked.file.clone(),
                    named: named(loaded),
                });
            }
        }
        if !tools.is_empty() {
            let missing = all.iter();
            let missing = missing.filter(|it| misses_typed(&it.policy.as_ref().condition()));
            problems.extend(missing.map(|it| misses(it, &tools)));
        }
        let vocabulary = Vocabulary::with(tools).unwrap_or_else(|error| {
            let what = format!("the schema of the tools that policies name: {error}");
            let problem = |file| PolicyProblem::of_file(file, one_line(&what));
            problems.extend(sources.first().map(problem));
            Vocabulary::base()
        });
        Self {
            vocabulary,
            unknown,
            problems,
        }
    }
}

/// What the inputs are that a policy may look at, when it names tools.
pub(super) fn hint(loaded: &Loaded, vocabulary: &Vocabulary) -> Option<String> {
    let named = tools_named(&loaded.policy.as_ref().condition());
    let typed = named
        .iter()
        .filter_map(|name| Some((name, vocabulary.typed().get(name)?)));
    let said = typed.map(|(name, typed)| {
        let left_out = typed.tool.left_out().into_iter();
        let left_out = left_out.map(|(at, why)| format!("; `{at}` is left out: {why}"));
        format!(
            "`context.input` of {name} is {}{}",
            typed.tool.input_type(),
            left_out.collect::<String>()
        )
    });
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(". "))
}

/// Where a tool is named. What a repository calls its files is its own text, which no model gets.
fn named(loaded: &Loaded) -> String {
    match loaded.layer {
        Layer::Project => "a policy of the project".to_owned(),
        _ => format!("{}:{}", loaded.file, loaded.line),
    }
}

/// A policy names a tool that no lock file knows.
fn unlocked(sources: &[PolicySource], loaded: &Loaded, tool: &str) -> PolicyProblem {
    let server = tool.splitn(3, '/').take(2).collect::<Vec<_>>().join("/");
    let text = text_of(sources, loaded);
    let lines = Lines::of(text);
    let start = find(text, &loaded.text, 0);
    let literal = format!("Action::\"{}\"", tool.escape_debug());
    let place = lines.place(find(text, &literal, start));
    PolicyProblem {
        fatal: true,
        layer: loaded.layer,
        file: loaded.file.clone(),
        line: place.line.max(loaded.line),
        column: place.column,
        policy: loaded.policy.id().to_string(),
        message: format!(
            "names the tool `{tool}` as an action, and no {TOOL_LOCK} beside the policies knows it"
        ),
        hint: format!(
            "`creance policy schema --server {server} --write` locks it, when its server was agreed to before this policy was there (`creance server trust {server}`)"
        ),
    }
}

/// A policy about every call would not see those of a tool with an action of its own.
fn misses(loaded: &Loaded, tools: &BTreeMap<String, TypedTool>) -> PolicyProblem {
    let first = tools.iter().next();
    let who = first.map(|(name, typed)| format!("{} names `{name}`", typed.named));
    PolicyProblem {
        fatal: true,
        layer: loaded.layer,
        file: loaded.file.clone(),
        line: loaded.line,
        column: 1,
        policy: loaded.policy.id().to_string(),
        message: format!(
            "Action::\"tool.call\" stands here otherwise than behind `action in`, so it would miss the calls of tools that policies name as actions ({})",
            who.unwrap_or_default()
        ),
        hint: "write `action in Action::\"tool.call\"`".to_owned(),
    }
}
