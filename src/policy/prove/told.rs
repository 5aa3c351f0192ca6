//! From a solver's example to a told request. The example has entities without meaning (`Path::""`
//! in `Place::"secrets"`); its words are guessed, tried on the stores, and dropped where they do not
//! matter. What is left is the shortest request of its kind that shows the same.

use std::collections::BTreeSet;

use cedar_policy::{Entities, EntityUid, EvalResult};
use cedar_policy_symcc::Env;
use serde_json::{Value as Json, json};

use crate::policy::facts::{self, Mentioned};
use crate::policy::members::is_set;
use crate::policy::polarity::FLAGS;
use crate::policy::set::PolicySet;
use crate::request::{Action, Answer, CallTool};

use super::shrink::{Words, shortest};
use super::spots;

/// The shortest told request like this example of which `shows` holds.
pub(super) fn words(
    store: &PolicySet,
    found: &Env,
    shows: &dyn Fn(&Words) -> bool,
) -> Option<Words> {
    let example = Example::new(store, found)?;
    let base = example.base();
    let spots = example.spots();
    let spots = spots.into_iter().map(|spot| {
        let mut words = base.clone();
        words.extend(spot);
        words
    });
    // Words that no real request has are left out one by one; with the rest it has to show.
    let mut all = spots.map(|words| example.sayable(words));
    let words = all.find(|words| shows(words))?;
    Some(shortest(words, shows))
}

/// A solver's example, and what it is of.
pub(super) struct Example<'a> {
    store: &'a PolicySet,
    entities: &'a Entities,
    principal: &'a EntityUid,
    pub(super) action: &'a str,
    pub(super) resource: &'a EntityUid,
    context: Vec<(String, EvalResult)>,
}

impl<'a> Example<'a> {
    fn new(store: &'a PolicySet, found: &'a Env) -> Option<Self> {
        let request = &found.request;
        let context = request.context()?.clone().into_iter();
        let context = context.filter_map(|(name, _)| {
            let value = request.context()?.get(&name)?;
            Some((name, value))
        });
        Some(Self {
            store,
            entities: &found.entities,
            principal: request.principal()?,
            action: request.action()?.id().unescaped(),
            resource: request.resource()?,
            context: context.collect(),
        })
    }

    /// Everything but where it is.
    fn base(&self) -> Words {
        let mut words = Words::new();
        let mut put = |name: &str, value: Json| {
            words.insert(name.to_owned(), value);
        };
        put("action", json!(self.action));
        let by = self.principal.type_name().basename().to_lowercase();
        put("by", json!(by));
        for (name, value) in &self.context {
            match name.as_str() {
                "run" => {}
                name if FLAGS.contains(&name) => {}
                _ => put(name, plain(value)),
            }
        }
        if let Some(word) = self.held() {
            put("held", json!(word));
        }
        words.extend(self.run());
        words.extend(self.who());
        words
    }

    /// The answer on file.
    fn held(&self) -> Option<&'static str> {
        let set = |flag: &str| {
            let mut context = self.context.iter();
            context.any(|(name, value)| name == flag && *value == EvalResult::Bool(true))
        };
        let highest = FLAGS.iter().rposition(|flag| set(flag))?;
        Answer::LADDER.get(highest).map(|answer| answer.word())
    }

    fn field(&self, name: &str) -> Option<&EvalResult> {
        let mut context = self.context.iter();
        context
            .find(|(known, _)| known == name)
            .map(|(_, value)| value)
    }

    fn run(&self) -> Words {
        let mut words = Words::new();
        let Some(EvalResult::Record(run)) = self.field("run") else {
            return words;
        };
        for name in ["trigger", "attended", "dry_run"] {
            if let Some(value) = run.get(name) {
                words.insert(name.to_owned(), plain(value));
            }
        }
        if let Some(EvalResult::EntityUid(project)) = run.get("project") {
            words.insert("project".to_owned(), json!(project.id().unescaped()));
            let trusted = self.attribute(project, "trusted");
            words.extend(trusted.map(|trusted| ("project_trusted".to_owned(), trusted)));
        }
        words
    }

    /// The agent with its user and groups, or the server or plugin that asks.
    fn who(&self) -> Words {
        let mut words = Words::new();
        match self.principal.type_name().basename() {
            "Agent" => {
                let known = ["name", "client", "client_verified", "depth"];
                words.insert("agent".to_owned(), self.described(self.principal, &known));
                let above = self.above(self.principal);
                let of = |kind: &str| -> Vec<String> {
                    let of = above.iter().filter(|(known, _)| known == kind);
                    of.map(|(_, id)| id.clone()).collect()
                };
                words.extend(
                    of("User")
                        .pop()
                        .map(|user| ("user".to_owned(), json!(user))),
                );
                words.insert("groups".to_owned(), json!(of("Group")));
            }
            "Server" => {
                words.insert("server".to_owned(), self.server(self.principal));
            }
            _ => {
                words.insert("plugin".to_owned(), self.other(self.principal));
            }
        }
        words
    }

    /// What a request of this kind may be about: all guesses, the likeliest first.
    fn spots(&self) -> Vec<Words> {
        let spots = match self.resource.type_name().basename() {
            "Tool" => self.calls(),
            kind => spots::of(self, kind),
        };
        if spots.is_empty() {
            vec![Words::new()]
        } else {
            spots
        }
    }

    /// A call, with each place that an argument may lead to.
    fn calls(&self) -> Vec<Words> {
        let mut words = Words::new();
        let tool = self.resource;
        // A tool with an action of its own.
        let own = self.action != CallTool::NAME;
        let claims = [
            "claims_read_only",
            "claims_destructive",
            "claims_idempotent",
            "claims_open_world",
        ];
        let mut described = self.described(tool, &claims);
        if let Some(members) = described.as_object_mut() {
            let name = tool.id().unescaped().splitn(3, '/').nth(2);
            let name = name.filter(|name| !name.is_empty()).unwrap_or("a_tool");
            let name = if own { self.action } else { name };
            members.insert("name".to_owned(), json!(name));
        }
        words.insert("tool".to_owned(), described);
        let mut server = self.server_of(tool);
        if own {
            // Its server is in its name, and its arguments are its input.
            if let Some(members) = server.as_object_mut() {
                members.shift_remove("name");
                members.shift_remove("source");
            }
        } else {
            words.insert("arguments".to_owned(), self.arguments());
        }
        words.insert("server".to_owned(), server);
        let paths = match self.field("some_path") {
            Some(EvalResult::EntityUid(paths)) => spots::paths(&self.above(paths)),
            _ => Vec::new(),
        };
        let led = |path: String| {
            let mut words = words.clone();
            words.insert("paths".to_owned(), json!({ "path": path }));
            words
        };
        std::iter::once(words.clone())
            .chain(paths.into_iter().map(led))
            .collect()
    }

    /// Arguments from the tags of `args` and `numbers`.
    fn arguments(&self) -> Json {
        let mut arguments = Words::new();
        for field in ["args", "numbers"] {
            let Some(EvalResult::EntityUid(holder)) = self.field(field) else {
                continue;
            };
            let Some(entity) = self.entities.get(holder) else {
                continue;
            };
            let tags = entity.tags();
            let tags = tags.filter_map(|(name, value)| Some((name, plain(&value.ok()?))));
            tags.for_each(|(name, value)| insert(&mut arguments, name, value));
        }
        Json::Object(arguments)
    }

    /// The server of a tool, a prompt or a resource: by name the one that it is in, where there is one.
    pub(super) fn server_of(&self, thing: &EntityUid) -> Json {
        let Some(EvalResult::EntityUid(server)) = self.value(thing, "server") else {
            return json!({});
        };
        let mut words = self.server(&server);
        let mut above = self.above(thing).into_iter();
        let named = above.find(|(kind, id)| kind == "Server" && is_qualified(id));
        if let (Some(members), Some((_, id))) = (words.as_object_mut(), named) {
            members.insert("name".to_owned(), json!(id));
        }
        words
    }

    pub(super) fn server(&self, server: &EntityUid) -> Json {
        let known = ["source", "transport", "pin", "tools_pin", "sandboxed"];
        let mut words = self.described(server, &known);
        let id = server.id().unescaped();
        let name = if is_qualified(id) {
            id.to_owned()
        } else {
            let member = self.members_like(server).into_iter().next();
            member.unwrap_or_else(|| "a-server".to_owned())
        };
        if let Some(members) = words.as_object_mut() {
            members.insert("name".to_owned(), json!(name));
        }
        words
    }

    /// An entity of a feature to come: its name and its attributes.
    pub(super) fn other(&self, entity: &EntityUid) -> Json {
        let mut words = Words::new();
        let id = entity.id().unescaped();
        if !id.is_empty() {
            words.insert("name".to_owned(), json!(id));
        }
        if let Some(entity) = self.entities.get(entity) {
            let others = entity.attrs().filter(|(name, _)| *name != "name");
            words.extend(
                others.filter_map(|(name, value)| Some((name.to_owned(), plain(&value.ok()?)))),
            );
        }
        Json::Object(words)
    }

    /// Some attributes of an entity.
    pub(super) fn described(&self, entity: &EntityUid, names: &[&str]) -> Json {
        let each = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), self.attribute(entity, name)?)));
        Json::Object(each.collect())
    }

    fn attribute(&self, entity: &EntityUid, name: &str) -> Option<Json> {
        Some(plain(&self.value(entity, name)?))
    }

    fn value(&self, entity: &EntityUid, name: &str) -> Option<EvalResult> {
        self.entities.get(entity)?.attr(name)?.ok()
    }

    /// What an entity is in: types and ids, sorted.
    pub(super) fn above(&self, entity: &EntityUid) -> Vec<(String, String)> {
        let above = self.entities.ancestors(entity).into_iter().flatten();
        let above: BTreeSet<(String, String)> = above
            .map(|above| {
                let id = above.id().unescaped().to_owned();
                (above.type_name().basename().to_owned(), id)
            })
            .collect();
        above.into_iter().collect()
    }

    /// Those of this type that the organisation has put into a set that this one is in.
    pub(super) fn members_like(&self, entity: &EntityUid) -> Vec<String> {
        let above = self.entities.ancestors(entity).into_iter().flatten();
        let sets = above.filter(|above| is_set(above.type_name()));
        let kind = entity.type_name().as_ref();
        sets.flat_map(|set| self.store.0.members.in_set(set.as_ref(), kind))
            .collect()
    }

    /// Without the words that a request of this kind cannot have, or not with such a value.
    fn sayable(&self, mut words: Words) -> Words {
        let known = |words: &Words| {
            let looks = Mentioned::Only(self.store.0.index.looks());
            facts::scene(words, looks, self.store.0.terms()).is_ok()
        };
        if known(&words) {
            return words;
        }
        let names: Vec<String> = words.keys().cloned().collect();
        let needed = ["action", "by", "path"];
        let mut kept: Words = words.clone();
        kept.retain(|name, _| needed.contains(&name.as_str()));
        for name in names.iter().filter(|name| !needed.contains(&name.as_str())) {
            let Some(value) = words.shift_remove(name) else {
                continue;
            };
            let with = |value: Json| {
                let mut with = kept.clone();
                with.insert(name.clone(), value);
                with
            };
            let whole = with(value.clone());
            if known(&whole) {
                kept = whole;
            } else if let Json::Object(members) = value {
                let fits =
                    |(member, value): &(String, Json)| known(&with(json!({ member: value })));
                let members: Words = members.into_iter().filter(|member| fits(member)).collect();
                kept = with(Json::Object(members));
            }
        }
        kept
    }
}

/// Whether a server can have this name.
fn is_qualified(id: &str) -> bool {
    let sources = ["builtin", "org", "user", "project"];
    id.split_once('/').is_some_and(|(source, name)| {
        sources.contains(&source) && !name.is_empty() && !name.contains('/')
    })
}

/// `files.0.path` is `path` in `files`; what stands in a list is told as an object, whose leaves have
/// the same names.
fn insert(arguments: &mut Words, name: &str, value: Json) {
    match name.split_once('.') {
        Some((first, rest)) if !first.is_empty() && !rest.is_empty() => {
            let below = arguments
                .entry(first.to_owned())
                .or_insert_with(|| json!({}));
            if let Some(below) = below.as_object_mut() {
                insert(below, rest, value);
            }
        }
        _ => {
            arguments.insert(name.to_owned(), value);
        }
    }
}

/// A value as tests write it.
fn plain(value: &EvalResult) -> Json {
    match value {
        EvalResult::Bool(value) => json!(value),
        EvalResult::Long(value) => json!(value),
        EvalResult::String(value) => json!(value),
        EvalResult::EntityUid(name) => json!(name.id().unescaped()),
        EvalResult::Set(set) => set.iter().map(plain).collect(),
        EvalResult::Record(record) => {
            let members = record
                .iter()
                .map(|(name, value)| (name.clone(), plain(value)));
            Json::Object(members.collect())
        }
        EvalResult::ExtensionValue(text) => {
            // `ip("10.0.0.1/32")`
            let text = text.split('"').nth(1).unwrap_or(text);
            json!(text.split('/').next().unwrap_or(text))
        }
    }
}
