//! `creance policy diff`: what another store says otherwise.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
#[cfg(feature = "prove")]
use creance::Proof;
use creance::{Error, PolicyFiles, PolicyInfo, PolicySet, TestResult};
use serde_json::{Value, json};

use super::command::Place;
#[cfg(feature = "prove")]
use super::proofs::{self, NoProof, SolverArgs};
use super::recorded::Recorded;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// What is compared.
#[derive(Debug, Args)]
pub(crate) struct DiffArgs {
    /// A folder, file or bundle of policies, or `active` for those in force here
    from: Place,
    /// The other
    to: Place,
    /// Also decide what is on record here again, under both
    #[arg(long, value_name = "LOG")]
    audit: Option<PathBuf>,
    /// Also prove for all requests that there can be that the second allows no more than the first,
    /// and no less, with the solver cvc5
    #[cfg(feature = "prove")]
    #[arg(long)]
    prove: bool,
    #[cfg(feature = "prove")]
    #[command(flatten)]
    solver: SolverArgs,
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

pub(super) async fn run(args: &DiffArgs) -> Outcome {
    let (from, to) = (Side::read(&args.from)?, Side::read(&args.to)?);
    let policies = policies(&from.store, &to.store);
    let changes = changes(&from, &to)?;
    let recorded = args.audit.as_ref();
    let recorded = recorded.map(|log| Recorded::read(log, &from.store, &to.store));
    let recorded = recorded.transpose()?;
    let mut report = json!({ "policies": policies, "tests": tests(&changes) });
    if !args.form.is_json() {
        print(&policies, &changes);
    }
    if let (Some(recorded), Some(report)) = (&recorded, report.as_object_mut()) {
        report.insert("recorded".to_owned(), recorded.json());
        if !args.form.is_json() {
            recorded.print();
        }
    }
    let exit = proved(args, (&from.store, &to.store), &mut report).await?;
    if args.form.is_json() {
        out::json(&report);
    }
    let differs = !changes.is_empty() || recorded.is_some_and(|recorded| recorded.differs());
    Ok(match exit {
        // A signal, or a proof that nobody could make, is not covered up by a difference.
        Exit::Done if differs => Exit::Failed,
        exit => exit,
    })
}

/// What is proved of the two, where that is asked for.
#[cfg(feature = "prove")]
async fn proved(args: &DiffArgs, stores: (&PolicySet, &PolicySet), report: &mut Value) -> Outcome {
    if !args.prove {
        args.solver.unused()?;
        return Ok(Exit::Done);
    }
    let proofs = match prove(args, stores).await {
        Ok(proofs) => proofs,
        Err(why) => return why.outcome(),
    };
    if let Some(report) = report.as_object_mut() {
        report.insert("claims".to_owned(), json!(proofs));
    }
    if !args.form.is_json() {
        proofs::print(&proofs);
    }
    args.solver.keep(&proofs)?;
    Ok(proofs::exit(&proofs))
}

#[cfg(feature = "prove")]
async fn prove(args: &DiffArgs, stores: (&PolicySet, &PolicySet)) -> Result<Vec<Proof>, NoProof> {
    let solver = args.solver.find()?;
    proofs::wait(solver.compare(stores, proofs::step)).await
}

#[cfg(not(feature = "prove"))]
async fn proved(_: &DiffArgs, _: (&PolicySet, &PolicySet), _: &mut Value) -> Outcome {
    Ok(Exit::Done)
}

fn tests(changes: &[Change]) -> Vec<Value> {
    let each = changes.iter().map(
        |change| json!({ "name": change.before.name, "from": change.before, "to": change.after }),
    );
    each.collect()
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
