//! What proofs come to, for people and programs, and the tests that are kept of what they found.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use creance::{Counterexample, Error, ErrorKind, Proof, ProofStep, Proved, Solver};
use serde_json::Value;

use crate::cli::exit::{Exit, Outcome};
use crate::cli::out;
use crate::cli::signals;

/// Which solver, and how.
#[derive(Debug, Args)]
pub(super) struct SolverArgs {
    /// The solver, when `cvc5` on PATH is not the one
    #[arg(long, value_name = "PATH")]
    solver: Option<PathBuf>,
    /// How many seconds one question may take
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
    /// Write the requests that were found as tests, into a new file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
}

/// Why there are no proofs.
pub(super) enum NoProof {
    /// There is no solver.
    NoSolver(Error),
    /// A signal came.
    Ended(u8),
    Failed(Error),
}

impl NoProof {
    /// What the command comes to.
    pub(super) fn outcome(self) -> Outcome {
        match self {
            Self::NoSolver(error) => {
                out::error_line(&error.to_string());
                Ok(Exit::Unknown)
            }
            Self::Ended(signal) => Ok(Exit::Code(signals::code(signal))),
            Self::Failed(error) => Err(error),
        }
    }
}

impl From<Error> for NoProof {
    fn from(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Unsupported => Self::NoSolver(error),
            _ => Self::Failed(error),
        }
    }
}

impl SolverArgs {
    /// Refuses what says how to prove, where no proof is asked for.
    pub(super) fn unused(&self) -> Result<(), Error> {
        if self.solver.is_none() && self.save.is_none() {
            return Ok(());
        }
        let text = "--solver and --save are about proofs: add --prove";
        Err(Error::message(ErrorKind::Usage, text))
    }

    pub(super) fn find(&self) -> Result<Solver, NoProof> {
        if let Some(file) = self.save.as_ref().filter(|file| file.exists()) {
            let text = format!("`{}` is there already: name a new file", file.display());
            return Err(Error::message(ErrorKind::Usage, &text).into());
        }
        let limit = Duration::from_secs(self.timeout);
        Ok(Solver::find(self.solver.as_deref(), limit)?)
    }

    /// Writes what was found.
    pub(super) fn keep(&self, proofs: &[Proof]) -> Result<(), Error> {
        let Some(file) = &self.save else {
            return Ok(());
        };
        let tests: Vec<&Value> = examples(proofs)
            .filter_map(|one| one.test.as_ref())
            .collect();
        if tests.is_empty() {
            return Ok(());
        }
        let text = serde_json::to_string_pretty(&tests).unwrap_or_default();
        let written = std::fs::File::create_new(file);
        written.and_then(|mut file| writeln!(file, "{text}"))?;
        let many = tests.len();
        out::note(&format!("{many} tests written into {}", file.display()));
        Ok(())
    }
}

fn examples(proofs: &[Proof]) -> impl Iterator<Item = &Counterexample> {
    proofs.iter().flat_map(|proof| &proof.examples)
}

/// Waits for proofs, or for a signal that ends them and the solver.
pub(super) async fn wait(
    proofs: impl Future<Output = Result<Vec<Proof>, Error>>,
) -> Result<Vec<Proof>, NoProof> {
    // The signals first: from the moment on at which a solver is there, they end it.
    let done = tokio::select! {
        biased;
        signal = signals::ending() => Err(NoProof::Ended(signal)),
        done = proofs => done.map_err(NoProof::from),
    };
    out::progress("");
    done
}

pub(super) fn step((claim, at, all): ProofStep<'_>) {
    out::progress(&format!("{claim}: {at} of {all}"));
}

pub(super) fn print(proofs: &[Proof]) {
    for proof in proofs {
        let result = match proof.result {
            Proved::Proved => "proved ",
            Proved::Refuted => "REFUTED",
            Proved::Unknown => "unknown",
        };
        out::line(&format!("{result}  {}: {}", proof.name, proof.says));
        for example in &proof.examples {
            print_example(example);
        }
        for why in &proof.unknown {
            out::line(&format!("    nobody can tell: {why}"));
        }
    }
    let count = |result| proofs.iter().filter(|proof| proof.result == result).count();
    let questions: usize = proofs.iter().map(|proof| proof.questions).sum();
    let took: u64 = proofs.iter().map(|proof| proof.milliseconds).sum();
    out::line(&format!(
        "{} proved, {} refuted, {} unknown ({questions} questions, {}.{} s)",
        count(Proved::Proved),
        count(Proved::Refuted),
        count(Proved::Unknown),
        took / 1000,
        took % 1000 / 100,
    ));
}

fn print_example(example: &Counterexample) {
    let by = if example.by.is_empty() {
        "no policy".to_owned()
    } else {
        example.by.join(", ")
    };
    match &example.test {
        Some(test) => {
            out::line(&format!("    {}", example.request));
            out::line(&format!("      by {by}; instead: {}", example.instead));
            for id in &example.because {
                out::line(&format!("      because of {id}"));
            }
            out::line(&format!("      {test}"));
        }
        None => {
            out::line(&format!(
                "    {} by {by}; no words tell it:",
                example.environment
            ));
            for line in example.request.lines() {
                out::line(&format!("      | {line}"));
            }
        }
    }
}

/// What a command comes to.
pub(super) fn exit(proofs: &[Proof]) -> Exit {
    let any = |result| proofs.iter().any(|proof| proof.result == result);
    if any(Proved::Refuted) {
        Exit::Failed
    } else if any(Proved::Unknown) {
        Exit::Unknown
    } else {
        Exit::Done
    }
}
