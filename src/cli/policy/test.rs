//! `creance policy test`: runs tests of policies, with coverage and mutation.

use std::path::PathBuf;

use clap::Args;
use creance::{Error, ErrorKind, PolicyFiles, PolicySet, TestReport};

use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// What is tested, and what is shown.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// A folder of policies with its tests in `tests/`; otherwise the policies in force here
    #[arg(conflicts_with = "builtin")]
    folder: Option<PathBuf>,
    /// The built-in policies with the tests that come with them
    #[arg(long)]
    builtin: bool,
    /// Each policy has to decide a test and leave another alone
    #[arg(long)]
    coverage: bool,
    /// Each policy is taken out in turn, and a test has to notice
    #[arg(long)]
    mutation: bool,
    /// Write the results for a build server
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// List the tests that pass, too
    #[arg(long)]
    verbose: bool,
    #[command(flatten)]
    form: Form,
}

pub(crate) fn run(args: &TestArgs) -> Outcome {
    let (store, files) = read(args)?;
    let tests = files.read()?;
    if tests.is_empty() {
        return Err(Error::message(
            ErrorKind::Usage,
            "there are no tests: they stand in `tests/*.json` below the policies (`creance policy init` writes some)",
        ));
    }
    let report = store.test(&tests, &files.layers());
    if let Some(path) = &args.junit {
        creance::write_file(path, report.junit().as_bytes())?;
    }
    if args.form.is_json() {
        out::json(&report);
    } else {
        print(args, &report);
    }
    let failed = report.failed().next().is_some()
        || (args.coverage && report.uncovered().next().is_some())
        || (args.mutation && report.unheld().next().is_some());
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

fn read(args: &TestArgs) -> Result<(PolicySet, PolicyFiles), Error> {
    let files = match &args.folder {
        Some(folder) => PolicyFiles::of(folder)?,
        None if args.builtin => PolicyFiles::builtin(),
        None => return out::workspace()?.policy_tests(),
    };
    let policies = files.store();
    for notice in &policies.notices {
        out::note(&notice.to_string());
    }
    Ok((policies.into_store()?, files))
}

fn print(args: &TestArgs, report: &TestReport) {
    for result in &report.results {
        if args.verbose || result.problem.is_some() {
            out::line(&result.to_string());
        }
    }
    let failed = report.failed().count();
    let passed = report.results.len() - failed;
    out::line(&format!("{passed} passed, {failed} failed"));
    let all = report.policies.len();
    if args.coverage {
        for policy in report.uncovered() {
            let what = match (policy.decides, policy.spares) {
                (0, _) => "decides no test",
                _ => "leaves no test alone that it could decide",
            };
            out::line(&format!(
                "{}:{}: {} {what}",
                policy.file, policy.line, policy.id
            ));
        }
        let covered = all - report.uncovered().count();
        out::line(&format!(
            "{covered} of {all} policies covered ({} %)",
            percent(covered, all)
        ));
    }
    if args.mutation {
        for policy in report.unheld() {
            let (file, line, id) = (&policy.file, policy.line, &policy.id);
            out::line(&format!(
                "{file}:{line}: nobody would notice the loss of {id}"
            ));
        }
        let held = all - report.unheld().count();
        out::line(&format!(
            "{held} of {all} policies held by mutation ({} %)",
            percent(held, all)
        ));
    }
}

fn percent(part: usize, all: usize) -> usize {
    (part * 100).checked_div(all).unwrap_or(100)
}
