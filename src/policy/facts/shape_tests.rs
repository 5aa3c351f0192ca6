//! What has one shape fits or does not fit alike, whatever is done to it.

use std::collections::{BTreeMap, HashMap, HashSet};

use cedar_policy_core::ast::{Context, Entity, EntityUID, PartialValue, Request, Value};
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;
use crate::policy::facts::{Mentioned, Steady, judged};
use crate::policy::members::Members;
use crate::policy::tests::base::{
    Asking, call, env, exec, path, prompt, resource, start, tools, wish,
};
use crate::policy::vocabulary::{TYPES, Vocabulary, uid};
use crate::request::{Answer, NetworkWish, Wish};

fn requests() -> Vec<Asking> {
    let host = "example.com".parse().unwrap();
    vec![
        call(),
        env("X"),
        exec(),
        prompt(),
        resource(),
        start(),
        tools(),
        wish(Wish::Read(path("a"))),
        wish(Wish::Network(NetworkWish::Host { host, port: 1 })),
        wish(Wish::Network(NetworkWish::Whole)),
    ]
}

/// Values of every kind, right and wrong members of closed vocabularies among them.
fn values() -> Vec<Value> {
    let names = [
        uid(&TYPES.pin, "matched"),
        uid(&TYPES.pin, "chnaged"),
        uid(&TYPES.place, "project"),
        uid(&TYPES.level, "absent"),
        uid(&TYPES.level, "matched"),
        uid(&TYPES.path, "/a"),
        uid(&TYPES.server, "user/x"),
        uid(&TYPES.action, "tool.call"),
        uid(&TYPES.action, "tool.cal"),
    ];
    let mut values: Vec<Value> = names.into_iter().map(Value::from).collect();
    values.extend([
        Value::from(true),
        Value::from(7),
        Value::from("x"),
        Value::from("y"),
    ]);
    values.extend([Value::empty_set(None), Value::empty_record(None)]);
    let sets = values
        .clone()
        .into_iter()
        .map(|one| Value::set([one], None));
    let records = values
        .clone()
        .into_iter()
        .map(|one| Value::record([("a", one)], None));
    let more: Vec<Value> = sets.chain(records).collect();
    values.extend(more);
    values.push(Value::set([Value::from("x"), Value::from(7)], None));
    values
}

/// One thing done to a list of named values.
fn change(fields: &mut BTreeMap<String, Value>, (what, at, with): (u8, Index, Index)) {
    let values = values();
    let value = with.get(&values).clone();
    let keys: Vec<String> = fields.keys().cloned().collect();
    match what % 4 {
        0 => drop(fields.insert("odd".to_owned(), value)),
        1 if !keys.is_empty() => drop(fields.remove(at.get(&keys))),
        2 if !keys.is_empty() => drop(fields.insert(at.get(&keys).clone(), value)),
        // Another one of the same type, which a closed vocabulary may not have.
        3 => fields.values_mut().for_each(|value| {
            if let ValueKind::Lit(Literal::EntityUID(name)) = &value.value {
                *value = Value::from(uid(name.entity_type(), "other"));
            }
        }),
        _ => {}
    }
}

fn known<'a, K: ToString + 'a>(
    pairs: impl Iterator<Item = (&'a K, &'a PartialValue)>,
) -> BTreeMap<String, Value> {
    let value = |value: &PartialValue| Value::try_from(value.clone()).unwrap();
    pairs
        .map(|(key, it)| (key.to_string(), value(it)))
        .collect()
}

fn partial(fields: BTreeMap<String, Value>) -> impl Iterator<Item = (String, PartialValue)> {
    fields
        .into_iter()
        .map(|(key, value)| (key, PartialValue::Value(value)))
}

fn changed(entity: &Entity, changes: &[(u8, Index, Index)]) -> Entity {
    let mut attributes = known(entity.attrs());
    let mut tags = known(entity.tags());
    let mut above: HashSet<EntityUID> = entity.ancestors().cloned().collect();
    let mut name = entity.uid().clone();
    for (what, at, with) in changes {
        match what / 4 % 4 {
            0 => change(&mut tags, (*what, *at, *with)),
            1 => {
                let values = values();
                if let ValueKind::Lit(Literal::EntityUID(other)) = &with.get(&values).value {
                    above.insert(other.as_ref().clone());
                }
            }
            2 if what % 4 == 0 => name = uid(name.entity_type(), "other"),
            _ => change(&mut attributes, (*what, *at, *with)),
        }
    }
    Entity::new_with_attr_partial_value(
        name,
        partial(attributes).map(|(key, value)| (key.into(), value)),
        HashSet::new(),
        above,
        partial(tags).map(|(key, value)| (key.into(), value)),
    )
}

fn fits_entity(entity: &Entity) -> bool {
    Entities::from_entities([Public::from(entity.clone())], Some(&SCHEMA)).is_ok()
}

fn fits_request(request: &Request) -> bool {
    let part = |entry: &EntityUIDEntry| (entry.uid().unwrap().clone(), None);
    let (principal, action) = (part(request.principal()), part(request.action()));
    let (resource, context) = (part(request.resource()), request.context().unwrap().clone());
    let (schema, all) = (Some(SCHEMA.as_ref()), Extensions::all_available());
    Request::new(principal, action, resource, context, schema, all).is_ok()
}

type Changes = Vec<(u8, Index, Index)>;

fn changes() -> impl Strategy<Value = Vec<Changes>> {
    let one = (any::<u8>(), any::<Index>(), any::<Index>());
    proptest::collection::vec(proptest::collection::vec(one, 0..3), 12)
}

/// Verdicts by shape: a second one of a shape must be as the first.
#[derive(Default)]
struct Verdicts {
    by_shape: HashMap<Shape, bool>,
    fitting: usize,
}

impl Verdicts {
    fn add(&mut self, (shape, fits): (Option<Shape>, bool), what: &dyn std::fmt::Debug) {
        self.fitting += usize::from(fits);
        let shape = shape.expect("every value is known");
        let first = *self.by_shape.entry(shape).or_insert(fits);
        assert_eq!(first, fits, "{what:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn entities_of_one_shape_fit_alike(all in changes()) {
        let mut verdicts = Verdicts::default();
        for asking in requests() {
            let store = judged(&asking.query(), Mentioned::Any, (&Members::default(), &Vocabulary::base(), &Steady::default())).unwrap().entities;
            for entity in store.iter().filter(|it| !it.uid().is_action()) {
                for changes in all.iter().chain([&Vec::new()]) {
                    let entity = changed(entity, changes);
                    let verdict = (Shape::of_entity(&entity), fits_entity(&entity));
                    verdicts.add(verdict, &entity);
                }
            }
        }
        prop_assert!(verdicts.fitting > 9);
    }

    #[test]
    fn requests_of_one_shape_fit_alike(all in changes()) {
        let mut verdicts = Verdicts::default();
        for asking in requests() {
            let request = judged(&asking.query(), Mentioned::Any, (&Members::default(), &Vocabulary::base(), &Steady::default())).unwrap();
            let request = request.request(Answer::None).unwrap();
            let Some(Context::Value(context)) = request.context() else {
                panic!("a context is known");
            };
            for changes in all.iter().chain([&Vec::new()]) {
                let fields = context.iter();
                let fields = fields.map(|(key, value)| (key.to_string(), value.clone()));
                let mut fields: BTreeMap<String, Value> = fields.collect();
                changes.iter().for_each(|it| change(&mut fields, *it));
                let fields = fields.into_iter().map(|(key, value)| (key.into(), value));
                let request = Request::new_unchecked(
                    request.principal().clone(),
                    request.action().clone(),
                    request.resource().clone(),
                    Some(Context::Value(std::sync::Arc::new(fields.collect()))),
                );
                let verdict = (Shape::of_request(&request), fits_request(&request));
                verdicts.add(verdict, &request);
            }
        }
        prop_assert!(verdicts.fitting > 9);
    }
}

/// What does not fit is refused also when something else of its type was found to fit.
#[test]
fn misfits_are_refused_each_time() {
    let server = |pin: &str| {
        let asking = call();
        let store = judged(
            &asking.query(),
            Mentioned::Any,
            (&Members::default(), &Vocabulary::base(), &Steady::default()),
        )
        .unwrap()
        .entities;
        let mut all = store.iter();
        let server = all
            .find(|it| *it.uid().entity_type() == TYPES.server)
            .unwrap();
        let mut attributes = known(server.attrs());
        attributes.insert("pin".to_owned(), Value::from(uid(&TYPES.pin, pin)));
        Entity::new_with_attr_partial_value(
            server.uid().clone(),
            partial(attributes).map(|(key, value)| (key.into(), value)),
            HashSet::new(),
            server.ancestors().cloned().collect(),
            [],
        )
    };
    for _ in 0..2 {
        assert!(check_entity(&server("matched")).is_ok());
        assert!(check_entity(&server("unpinned")).is_ok());
        assert!(check_entity(&server("chnaged")).is_err());
    }
}
