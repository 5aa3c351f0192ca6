//! Facts in Cedar's form: whatever is named is in the store, and every value of every closed
//! vocabulary fits the schema.

use std::collections::HashSet;

use serde_json::Value;

use super::base::{
    Asking, arg_path, call, env, exec, lost_path, path, prompt, resource, start, tools, wish,
};
use crate::grant::Place;
use crate::policy::facts::{Mentioned, Steady, judged};
use crate::policy::members::Members;
use crate::policy::vocabulary::{JSON, Vocabulary};
use crate::request::{
    Answer, NetworkWish, Pin, Risk, RunnerKind, Source, Transport, Trigger, Wish,
};

fn entities_in(value: &Value, found: &mut HashSet<(String, String)>) {
    if let Some(literal) = value.get("__entity") {
        let part = |name: &str| literal[name].as_str().unwrap().to_owned();
        found.insert((part("type"), part("id")));
    }
    match value {
        Value::Object(members) => members.values().for_each(|m| entities_in(m, found)),
        Value::Array(members) => members.iter().for_each(|m| entities_in(m, found)),
        _ => {}
    }
}

/// Rule: an entity that is not in the store is in nothing, without any error. So everything that a
/// request names is there; members of closed vocabularies are in nothing anyway.
#[test]
fn whatever_is_named_is_in_the_store() {
    let schema: Value = serde_json::from_str(JSON).unwrap();
    let closed = |kind: &str| schema[""]["entityTypes"][kind].get("enum").is_some();
    let mut many = call();
    many.call().paths = vec![arg_path("a", "a"), arg_path("b", "/tmp/b"), lost_path("c")];
    let mut bare = call();
    bare.call().paths.clear();
    let host = "example.com".parse().unwrap();
    let asked = [
        call(),
        many,
        bare,
        env("X"),
        exec(),
        prompt(),
        resource(),
        start(),
        tools(),
        wish(Wish::Read(path("a"))),
        wish(Wish::Network(NetworkWish::Host { host, port: 1 })),
        wish(Wish::Network(NetworkWish::Whole)),
    ];
    for asking in asked {
        let judged = judged(
            &asking.query(),
            Mentioned::Any,
            (&Members::default(), &Vocabulary::base(), &Steady::default()),
        )
        .unwrap();
        let request = cedar_policy::Request::from(judged.request(Answer::None).unwrap());
        let entities = cedar_policy::Entities::from(judged.entities.clone());
        let mut named = HashSet::new();
        entities_in(
            &request.context().unwrap().to_json_value().unwrap(),
            &mut named,
        );
        for entity in entities.iter() {
            let json = entity.to_json_value().unwrap();
            entities_in(&json["attrs"], &mut named);
            entities_in(&json["tags"], &mut named);
        }
        for uid in [request.principal(), request.resource()]
            .into_iter()
            .flatten()
        {
            named.insert((uid.type_name().to_string(), uid.id().unescaped().to_owned()));
        }
        let there: HashSet<(String, String)> = entities
            .iter()
            .map(|e| {
                (
                    e.uid().type_name().to_string(),
                    e.uid().id().unescaped().to_owned(),
                )
            })
            .collect();
        for (kind, id) in named {
            let known = closed(&kind) || there.contains(&(kind.clone(), id.clone()));
            assert!(known, "{kind}::{id:?} of {asking:?}");
        }
    }
}

#[track_caller]
fn with(mut asking: Asking, change: impl FnOnce(&mut Asking)) {
    change(&mut asking);
    fits(&asking);
}

#[track_caller]
fn fits(asking: &Asking) {
    let judged = judged(
        &asking.query(),
        Mentioned::Any,
        (&Members::default(), &Vocabulary::base(), &Steady::default()),
    )
    .unwrap();
    judged.request(Answer::None).unwrap();
}

#[test]
fn closed_vocabularies_are_those_of_the_schema() {
    for source in [Source::Builtin, Source::Org, Source::User, Source::Project] {
        with(call(), |a| a.server().id.source = source);
    }
    for pin in [Pin::Matched, Pin::Unpinned, Pin::Changed] {
        with(call(), |a| a.server().pin = pin);
    }
    for transport in [Transport::Stdio, Transport::Http, Transport::InProcess] {
        with(call(), |a| a.server().transport = transport);
    }
    for trigger in [
        Trigger::Person,
        Trigger::Agent,
        Trigger::Server,
        Trigger::Schedule,
    ] {
        with(call(), |a| a.run.trigger = trigger);
    }
}

#[test]
fn words_of_starts_and_places_are_those_of_the_schema() {
    for runner in [
        RunnerKind::Binary,
        RunnerKind::Npx,
        RunnerKind::Uvx,
        RunnerKind::Pipx,
        RunnerKind::Docker,
        RunnerKind::Cargo,
        RunnerKind::Script,
        RunnerKind::Remote,
    ] {
        with(start(), |a| a.start().runner = runner);
    }
    for address in [
        "8.8.8.8",
        "10.0.0.1",
        "127.0.0.1",
        "169.254.0.1",
        "169.254.169.254",
        "224.0.0.1",
        "0.0.0.0",
        "example.com",
    ] {
        let host = address.parse().unwrap();
        fits(&wish(Wish::Network(NetworkWish::Host { host, port: 1 })));
    }
    let risks = vec![
        Risk::InlineCode,
        Risk::DownloadAndRun,
        Risk::ShellMetacharacters,
        Risk::Privilege,
        Risk::DeleteRecursive,
        Risk::OutsideProject,
        Risk::TouchesSecrets,
        Risk::Network,
        Risk::PackageInstall,
        Risk::ContainerEscape,
    ];
    with(exec(), |a| a.exec().risks.clone_from(&risks));
    for place in [
        Place::Project,
        Place::ProjectVcs,
        Place::ProjectConfig,
        Place::Home,
        Place::Temp,
        Place::Cache,
        Place::Config,
        Place::Secrets,
        Place::System,
        Place::Devices,
        Place::Other,
    ] {
        let mut facts = path("a");
        facts.place = place;
        fits(&wish(Wish::Read(facts)));
    }
}

/// Times and counts at their ends become facts, not errors.
#[test]
fn extreme_values_fit() {
    for now_ms in [i64::MIN, -1, 0, i64::MAX] {
        let mut asking = call();
        asking.run.now_ms = now_ms;
        asking.call().arguments_bytes = u64::MAX;
        asking.call().calls_this_session = u64::MAX;
        asking.call().tool.name = "\"\\ \u{0}\u{1b}[31m".to_owned();
        asking.call().arguments =
            serde_json::json!({ "": { "": u64::MAX }, "n": i64::MIN, "f": 1e300 });
        fits(&asking);
    }
}
