//! Paths: in every parent folder, in one place, and inside the project also in the forms that start
//! with `./`, so that one policy works in every clone.

use std::collections::HashSet;

use cedar_policy_core::ast::EntityUID;

use crate::policy::vocabulary::{TYPES, uid};
use crate::request::{Act, ArgPath, PathFacts, Wish};

use super::build::{Entities, Value, literal, number, reference, text};

/// The paths that are entities of the request themselves.
pub(super) fn named<'a>(act: &Act<'a>) -> HashSet<&'a str> {
    match *act {
        Act::Wish(Wish::Read(path) | Wish::Write(path) | Wish::Socket(path)) => {
            HashSet::from([path.text.as_str()])
        }
        Act::CallTool(call) => {
            let paths = call
                .paths
                .iter()
                .filter_map(|argument| argument.path.as_ref());
            paths.map(|path| path.text.as_str()).collect()
        }
        _ => HashSet::new(),
    }
}

/// Puts a path in.
pub(super) fn add(entities: &mut Entities<'_>, facts: &PathFacts) -> EntityUID {
    let path = uid(&TYPES.path, &facts.text);
    if entities.has(&path) {
        return path;
    }
    let name = facts.text.rsplit('/').next().unwrap_or_default();
    let extension = match name.rsplit_once('.') {
        Some((stem, extension)) if !stem.is_empty() => extension.to_lowercase(),
        _ => String::new(),
    };
    let attributes = [
        ("text", text(facts.text.as_str())),
        ("name", text(name)),
        ("ext", text(extension)),
        ("hidden", literal(name.starts_with('.'))),
        ("in_project", literal(facts.in_project.is_some())),
    ];
    let above = above(entities, facts);
    entities.add(&path, attributes, above);
    path
}

/// Everything that a path is in, without itself, as far as it may be looked at.
fn above(entities: &Entities<'_>, facts: &PathFacts) -> HashSet<EntityUID> {
    let mut above = HashSet::from([uid(&TYPES.place, facts.place.name())]);
    let mut add = |folder: &str| {
        if entities.counts(folder) {
            above.insert(uid(&TYPES.path, folder));
        }
    };
    folders(&facts.text).for_each(&mut add);
    if let Some(inside) = &facts.in_project {
        add(".");
        let relative = format!("./{inside}");
        if !inside.is_empty() {
            add(&relative);
        }
        folders(&relative)
            .filter(|folder| *folder != ".")
            .for_each(add);
    }
    above
}

/// The folders above a path, from the nearest: `/a/b` and `/a` and `/` for `/a/b/c`.
pub(super) fn folders(path: &str) -> impl Iterator<Item = &str> {
    let mut rest = if path == "/" { "" } else { path };
    std::iter::from_fn(move || {
        let (above, _) = rest.rsplit_once('/')?;
        rest = above;
        match above {
            "" if path.starts_with('/') => Some("/"),
            "" => None,
            folder => Some(folder),
        }
    })
}

/// The path arguments of one call.
pub(super) struct PathArguments {
    pub(super) every: Value,
    pub(super) some: Value,
    pub(super) by_name: Value,
    pub(super) resolved: Value,
    pub(super) outside: Value,
}

/// Puts the path arguments in. `every` is in what all of them are in, `some` in what any is in;
/// one that cannot be resolved is in nothing, and so `every` is in nothing.
pub(super) fn add_arguments(entities: &mut Entities<'_>, arguments: &[ArgPath]) -> PathArguments {
    let mut every: Option<HashSet<EntityUID>> = None;
    let mut some: HashSet<EntityUID> = HashSet::new();
    let mut tags: Vec<(String, Value)> = Vec::new();
    for argument in arguments {
        let mut within = HashSet::new();
        if let Some(facts) = &argument.path {
            let path = add(entities, facts);
            within = above(entities, facts);
            within.insert(path.clone());
            if !tags.iter().any(|(name, _)| *name == argument.arg) {
                tags.push((argument.arg.clone(), reference(path)));
            }
        }
        some.extend(within.iter().cloned());
        every = Some(match every {
            None => within,
            Some(common) => common.intersection(&within).cloned().collect(),
        });
    }
    let every = every.unwrap_or_default();
    let count = arguments.len() as u64;
    let mut add_group = |id: &str, within: HashSet<EntityUID>| {
        let group = uid(&TYPES.paths, id);
        entities.add(&group, [("count", number(count))], within);
        reference(group)
    };
    // Mostly there is one path: then one entity does for both.
    let (every, some) = if every == some {
        let both = add_group("all", every);
        (both.clone(), both)
    } else {
        (add_group("every", every), add_group("some", some))
    };
    let resolved = arguments.iter().all(|argument| argument.path.is_some());
    let inside = |argument: &ArgPath| {
        argument
            .path
            .as_ref()
            .is_some_and(|path| path.in_project.is_some())
    };
    PathArguments {
        every,
        some,
        by_name: entities.add_tagged(&TYPES.arg_paths, tags),
        resolved: literal(resolved),
        outside: literal(!arguments.iter().all(inside)),
    }
}

#[cfg(test)]
mod tests {
    use super::folders;

    #[test]
    fn folders_are_walked_up() {
        let check = |path: &str, want: &[&str]| {
            assert_eq!(folders(path).collect::<Vec<_>>(), want, "{path}");
        };
        check("/a/b/c", &["/a/b", "/a", "/"]);
        check("/a", &["/"]);
        check("/", &[]);
        check("./docs/a.md", &["./docs", "."]);
        check("./a", &["."]);
        check("x", &[]);
    }
}
