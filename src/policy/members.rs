//! Who is in which set: data of the organisation alone, in Cedar's JSON form of entities. It says
//! memberships and nothing else: no attributes, and no other parents than sets and groups.

use std::collections::{BTreeSet, HashMap, HashSet};

use cedar_policy::EntityTypeName;
#[cfg(feature = "prove")]
use cedar_policy_core::ast::EntityType;
use cedar_policy_core::ast::EntityUID;
use serde::Deserialize;

use crate::request::Layer;

use super::lint;
use super::source::{PolicyProblem, PolicySource, one_line};
use super::vocabulary::{SCHEMA, TYPES, uid};

/// Entities with everything that they are in, at any depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Members(HashMap<EntityUID, HashSet<EntityUID>>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    uid: Name,
    #[serde(default)]
    attrs: serde_json::Map<String, serde_json::Value>,
    #[serde(default)]
    parents: Vec<Name>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Name {
    #[serde(rename = "type")]
    kind: String,
    id: String,
}

impl Members {
    /// Reads files of memberships.
    pub(super) fn read(files: &[PolicySource]) -> Result<Self, Vec<PolicyProblem>> {
        let mut direct = Direct::new();
        let mut problems = Vec::new();
        for file in files {
            let read = if file.layer == Layer::Org {
                pairs(file)
            } else {
                let why = "only the organisation says who is in which set";
                Err(PolicyProblem::of_file(file, why))
            };
            match read {
                Ok(pairs) => pairs
                    .into_iter()
                    .for_each(|(member, sets)| direct.entry(member).or_default().extend(sets)),
                Err(problem) => problems.push(problem),
            }
        }
        if problems.is_empty() {
            Ok(Self::closed(&direct))
        } else {
            Err(problems)
        }
    }

    fn closed(direct: &Direct) -> Self {
        let all = direct.keys();
        Self(all.map(|one| (one.clone(), above(direct, one))).collect())
    }

    /// What an entity is in.
    pub(super) fn above(&self, entity: &EntityUID) -> impl Iterator<Item = &EntityUID> {
        self.0.get(entity).into_iter().flatten()
    }

    /// The names of what is in a set and of a type, sorted.
    #[cfg(feature = "prove")]
    pub(super) fn in_set(&self, set: &EntityUID, kind: &EntityType) -> Vec<String> {
        let pairs = self.0.iter();
        let inside = pairs.filter(|(one, above)| one.entity_type() == kind && above.contains(set));
        let names: BTreeSet<String> = inside
            .map(|(one, _)| {
                let name: &str = one.eid().as_ref();
                name.to_owned()
            })
            .collect();
        names.into_iter().collect()
    }

    /// The folders and files that are in sets.
    pub(super) fn folders(&self) -> impl Iterator<Item = String> {
        let paths = self
            .0
            .keys()
            .filter(|name| *name.entity_type() == TYPES.path);
        paths.map(|name| {
            let text: &str = name.eid().as_ref();
            text.to_owned()
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether something is in this set.
    pub(super) fn has_set(&self, set: &EntityUID) -> bool {
        self.0.values().any(|above| above.contains(set))
    }

    /// All of it as text, the same for the same memberships.
    pub(super) fn lines(&self) -> BTreeSet<String> {
        let pairs = self
            .0
            .iter()
            .flat_map(|(member, above)| above.iter().map(move |set| format!("{member} in {set}")));
        pairs.collect()
    }
}

/// Entities with what they are in, said of them.
type Direct = HashMap<EntityUID, HashSet<EntityUID>>;

/// What an entity is in, at any depth.
fn above(direct: &Direct, start: &EntityUID) -> HashSet<EntityUID> {
    let mut found = HashSet::new();
    let mut waiting = vec![start];
    while let Some(next) = waiting.pop() {
        let sets = direct.get(next).into_iter().flatten();
        waiting.extend(sets.filter(|set| found.insert((*set).clone())));
    }
    found
}

/// Whether a type's entities are sets.
pub(super) fn is_set(kind: &EntityTypeName) -> bool {
    let name = kind.to_string();
    name == "Group" || (name.ends_with("Set") && name != "Set")
}

type Pair = (EntityUID, Vec<EntityUID>);

fn pairs(file: &PolicySource) -> Result<Vec<Pair>, PolicyProblem> {
    let lines: Vec<Line> = serde_json::from_str(&file.text).map_err(|error| {
        let mut problem = PolicyProblem::of_file(file, one_line(&error.to_string()))
            .hint("a list of `{\"uid\": {\"type\": …, \"id\": …}, \"parents\": [{\"type\": …, \"id\": …}]}`");
        (problem.line, problem.column) = (error.line(), error.column());
        problem
    })?;
    let pair = |line: &Line| {
        if !line.attrs.is_empty() {
            return Err(problem(
                file,
                &line.uid,
                "facts come from the request, not from here",
            )
            .hint("leave `attrs` out"));
        }
        let (kind, member) = known(file, &line.uid)?;
        let parents: Result<Vec<EntityUID>, _> = line
            .parents
            .iter()
            .map(|parent| set_of(file, (&line.uid, &kind), parent))
            .collect();
        Ok((member, parents?))
    };
    lines.iter().map(pair).collect()
}

fn problem(file: &PolicySource, name: &Name, what: &str) -> PolicyProblem {
    let line = file.text.lines().position(|line| {
        serde_json::to_string(&name.id).is_ok_and(|quoted| line.contains(&quoted))
    });
    let mut problem =
        PolicyProblem::of_file(file, format!("`{}::\"{}\"`: {what}", name.kind, name.id));
    if let Some(line) = line {
        (problem.line, problem.column) = (line + 1, 1);
    }
    problem
}

/// An entity with its type.
type Known = (EntityTypeName, EntityUID);

/// A name of a type of the schema, in the form in which requests have it.
fn known(file: &PolicySource, name: &Name) -> Result<Known, PolicyProblem> {
    let kind: Option<EntityTypeName> = name.kind.parse().ok();
    let kind = kind.filter(|kind| SCHEMA.entity_types().any(|one| one == kind));
    let Some(kind) = kind else {
        return Err(problem(file, name, "the schema has no such type")
            .hint("types are those of `creance policy schema`"));
    };
    if let Some(finding) = lint::name(&name.kind, &name.id) {
        return Err(problem(file, name, &finding.message).hint(finding.hint));
    }
    let entity = uid(kind.as_ref(), &name.id);
    Ok((kind, entity))
}

/// A set that a member may be in.
fn set_of(
    file: &PolicySource,
    (name, member): (&Name, &EntityTypeName),
    parent: &Name,
) -> Result<EntityUID, PolicyProblem> {
    let (kind, set) = known(file, parent)?;
    if !is_set(&kind) {
        let what = format!("cannot be put into `{}::\"{}\"`", parent.kind, parent.id);
        return Err(problem(file, name, &what)
            .hint("memberships are in sets and groups only, such as `ServerSet` and `ToolSet`"));
    }
    let mut above = SCHEMA.ancestors(member).into_iter().flatten();
    let fits = above.any(|above| *above == kind);
    if fits {
        return Ok(set);
    }
    let what = format!("a {} cannot be in a {}", name.kind, parent.kind);
    Err(problem(file, name, &what).hint("see `creance policy schema`"))
}
