//! `creance policy prove`: what holds of all requests that there can be.

use std::path::PathBuf;

use clap::Args;
use creance::{Error, ErrorKind, Invariants, PolicyFiles, PolicyProblem, PolicySet};
use serde_json::json;

use super::command::Place;
use super::proofs::{self, NoProof, SolverArgs};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// Of what, and what.
#[derive(Debug, Args)]
pub(crate) struct ProveArgs {
    /// A folder, file or bundle of policies; otherwise what is in force here
    folder: Option<Place>,
    /// A file of Cedar in place of the invariants that come with Creance
    #[arg(long, value_name = "FILE")]
    invariants: Option<PathBuf>,
    /// Print the invariants that come with Creance, to begin your own with, and prove nothing
    #[arg(long, conflicts_with_all = ["folder", "invariants"])]
    print: bool,
    #[command(flatten)]
    solver: SolverArgs,
    #[command(flatten)]
    form: Form,
}

pub(super) async fn run(args: &ProveArgs) -> Outcome {
    if args.print {
        out::line(Invariants::shipped_text().trim_end());
        return Ok(Exit::Done);
    }
    match prove(args).await {
        Ok(exit) => Ok(exit),
        Err(why) => why.outcome(),
    }
}

async fn prove(args: &ProveArgs) -> Result<Exit, NoProof> {
    let store = store(args)?;
    let invariants = invariants(args)?;
    let solver = args.solver.find()?;
    let proofs = proofs::wait(solver.prove(&store, &invariants, proofs::step)).await?;
    if args.form.is_json() {
        out::json(&json!({ "digest": store.digest(), "claims": proofs }));
    } else {
        proofs::print(&proofs);
    }
    args.solver.keep(&proofs)?;
    Ok(proofs::exit(&proofs))
}

fn store(args: &ProveArgs) -> Result<PolicySet, Error> {
    match &args.folder {
        Some(folder) => PolicyFiles::of(folder)?.store().into_store(),
        None => out::workspace()?.policies().clone().into_store(),
    }
}

fn invariants(args: &ProveArgs) -> Result<Invariants, Error> {
    let wrong = |problems: Vec<PolicyProblem>| {
        let fatal = problems.iter().filter(|problem| problem.fatal);
        let said: Vec<String> = fatal.map(ToString::to_string).collect();
        Error::message(ErrorKind::Policy, &said.join("\n"))
    };
    let Some(file) = &args.invariants else {
        return Invariants::shipped().map_err(wrong);
    };
    let text = std::fs::read_to_string(file).map_err(|why| {
        let text = format!("`{}`: {why}", file.display());
        Error::message(ErrorKind::Usage, &text)
    })?;
    Invariants::read(&file.to_string_lossy(), &text).map_err(wrong)
}
