//! `creance policy diff`: what another store says otherwise.

use std::collections::BTreeMap;

use clap::Args;
use creance::{Error, PolicyFiles, PolicyInfo, PolicySet, TestResult};
use serde_json::json;

use super::command::Place;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// What is compared.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A folder, file or bundle of policies, or `active` for those in force here
    from: Place,
    /// The other
    to: Place,
    #[command(flatten)]
    form: Form,
}

/// One store and its tests.
struct Side {
    store: PolicySet,
    files: PolicyFiles,
}

impl Side {
    fn read(place: &Place) -> Result<Self, Error> {
        if place.as_os_str() == "active" {
            let (store, files) = out::workspace()?.policy_tests()?;
            return Ok(Self { store, files });
        }
        let files = PolicyFiles::of(place)?;
        let store = files.store().into_store()?;
        Ok(Self { store, files })
    }
}

/// A test that is decided otherwise.
struct Change {
    before: TestResult,
    after: TestResult,
}

pub(super) fn run(args: &DiffArgs) -> Outcome {
    let (from, to) = (Side::read(&args.from)?, Side::read(&args.to)?);
    let policies = policies(&from.store, &to.store);
    let changes = changes(&from, &to)?;
    if args.form.is_json() {
        let tests: Vec<_> = changes
            .iter()
            .map(|change| json!({ "name": change.before.name, "from": change.before, "to": change.after }))
            .collect();
        out::json(&json!({ "policies": policies, "tests": tests }));
    } else {
        print(&policies, &changes);
    }
    Ok(if changes.is_empty() {
        Exit::Done
    } else {
        Exit::Failed
    })
}

/// Policies that one store has and the other has not, or has with another text.
fn policies(from: &PolicySet, to: &PolicySet) -> Vec<(&'static str, String)> {
    let by_id = |store: &PolicySet| -> BTreeMap<String, PolicyInfo> {
        store
            .list()
            .into_iter()
            .map(|policy| (policy.id.clone(), policy))
            .collect()
    };
    let (from, to) = (by_id(from), by_id(to));
    let mut found = Vec::new();
    for (id, policy) in &from {
        match to.get(id) {
            None => found.push(("removed", id.clone())),
            Some(other) if other.text != policy.text => found.push(("changed", id.clone())),
            Some(_) => {}
        }
    }
    found.extend(
        to.keys()
            .filter(|id| !from.contains_key(*id))
            .map(|id| ("added", id.clone())),
    );
    found
}

/// The tests of both sides, each under both stores.
fn changes(from: &Side, to: &Side) -> Result<Vec<Change>, Error> {
    let mut tests = from.files.read()?;
    for test in to.files.read()? {
        if !tests.iter().any(|known| known.is_same(&test)) {
            tests.push(test);
        }
    }
    let before = from.store.test(&tests, &[]).results;
    let after = to.store.test(&tests, &[]).results;
    let pairs = before.into_iter().zip(after);
    let changed = pairs.filter(|(before, after)| before.got != after.got);
    Ok(changed
        .map(|(before, after)| Change { before, after })
        .collect())
}

fn print(policies: &[(&'static str, String)], changes: &[Change]) {
    for (what, id) in policies {
        out::line(&format!("{what:8} {id}"));
    }
    for Change { before, after } in changes {
        out::line(&format!(
            "{}: {} -> {}  ({})",
            before.name,
            said(before),
            said(after),
            after.what
        ));
        for because in &after.because {
            out::line(&format!(
                "    because of {}: {}",
                because.policy, because.reason
            ));
        }
    }
    out::line(&format!(
        "{} policies differ, {} tests are decided otherwise",
        policies.len(),
        changes.len()
    ));
}

fn said(result: &TestResult) -> &str {
    if result.got.is_empty() {
        "not judged"
    } else {
        &result.got
    }
}
