//! `creance doctor`: what this machine can enforce, tested by doing it.

use std::collections::BTreeMap;

use clap::Args;
use creance::{
    DoctorReport, Error, ErrorKind, EscapeResult, EscapeVerdict, Reach, SelfTest, Workspace,
};

use super::exit::{Exit, Outcome};
use super::out;

/// Tries each sandbox backend for real and says which guarantees hold, which files are read and what
/// is wrong with them, and what each configured server would have in its sandbox.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 when a required guarantee (writes, secrets, network) is not enforced, or an \
                  attempt of the self-test got through.\n\
                  Examples: creance doctor --json\n          creance doctor --self-test"
)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also try every known way out of the sandbox in each backend, in folders made for it
    #[arg(long)]
    self_test: bool,
    /// With --self-test: show each attempt, also those that went as they must
    #[arg(long, requires = "self_test")]
    all: bool,
}

pub(crate) fn run(args: DoctorArgs) -> Outcome {
    let report = creance::examine();
    let workspace = out::workspace()?;
    let reach = workspace.reach()?;
    let test = if args.self_test {
        if !args.json {
            out::folded(&report.to_string());
        }
        Some(self_test(args.shown())?)
    } else {
        None
    };
    if args.json {
        json(&report, &workspace, (&reach, test.as_ref()));
    } else {
        if test.is_none() {
            out::folded(&report.to_string());
        }
        files(&workspace);
        reach.iter().for_each(in_reach);
    }
    let sound = report.ok() && test.as_ref().is_none_or(SelfTest::ok);
    let good = sound && workspace.policies().whole;
    Ok(if good { Exit::Done } else { Exit::Failed })
}

fn json(
    report: &DoctorReport,
    workspace: &Workspace,
    (reach, test): (&[Reach], Option<&SelfTest>),
) {
    out::json(&serde_json::json!({
        "sandbox": report,
        "policies": workspace.policies().files,
        "policies_whole": workspace.policies().whole,
        "servers": workspace.server_ids(),
        "reach": reach,
        "self_test": test,
        "problems": workspace.problems(),
        "project": workspace.project(),
        "audit_log": workspace.audit_log(),
    }));
}

fn files(workspace: &Workspace) {
    out::folded("policy files");
    for file in &workspace.policies().files {
        out::folded(&format!("  {file}"));
    }
    if workspace.policies().files.is_empty() {
        out::folded("  none but the built-in ones");
    }
    let project = workspace
        .project()
        .map_or_else(|| "none".to_owned(), |p| p.display().to_string());
    out::folded(&format!("project: {project}"));
    out::folded(&format!("audit log: {}", workspace.audit_log().display()));
}

/// Which attempts of the self-test are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    None,
    Odd,
    All,
}

impl DoctorArgs {
    fn shown(&self) -> Shown {
        match (self.json, self.all) {
            (true, _) => Shown::None,
            (false, true) => Shown::All,
            (false, false) => Shown::Odd,
        }
    }
}

/// Tells each row as it comes: what did not simply go as it must in full, the rest as a count.
fn self_test(shown: Shown) -> Result<SelfTest, Error> {
    let mut counts: BTreeMap<EscapeVerdict, usize> = BTreeMap::new();
    let mut backend = String::new();
    let mut tell = |result: &EscapeResult| {
        if shown == Shown::None {
            return;
        }
        if backend != result.backend {
            summary(&backend, &std::mem::take(&mut counts));
            backend.clone_from(&result.backend);
            out::folded(&format!("self-test  {backend}"));
        }
        *counts.entry(result.verdict).or_default() += 1;
        if shown == Shown::All || result.verdict != EscapeVerdict::Held {
            out::folded(&format!("  {result}"));
        }
    };
    let test = creance::self_test(&mut tell);
    let test = test.map_err(|why| Error::message(ErrorKind::Sandbox, &why))?;
    if shown == Shown::None {
        return Ok(test);
    }
    summary(&backend, &counts);
    for (backend, why) in &test.untried {
        out::folded(&format!("self-test  {backend} was not tried: {why}"));
    }
    let failed = test.count(EscapeVerdict::Failed);
    out::folded(&match failed {
        0 => "self-test  nothing got out\n".to_owned(),
        one_or_more => {
            format!("self-test  {one_or_more} FAILED: please report them (SECURITY.md)\n")
        }
    });
    Ok(test)
}

fn summary(backend: &str, counts: &BTreeMap<EscapeVerdict, usize>) {
    if backend.is_empty() {
        return;
    }
    let count = |verdict| counts.get(&verdict).copied().unwrap_or(0);
    out::folded(&format!(
        "self-test  {backend}: {} held, {} weak and said to be, {} skipped, {} failed",
        count(EscapeVerdict::Held),
        count(EscapeVerdict::Weak),
        count(EscapeVerdict::Skipped),
        count(EscapeVerdict::Failed),
    ));
}

/// What one server would have.
fn in_reach(reach: &Reach) {
    out::folded(&format!("\n{}", reach.id));
    let say = |name: &str, text: &str| out::folded(&format!("  {name:<10} {text}"));
    if let Some(confinement) = &reach.confinement {
        say("sandbox", &confinement.to_string());
    }
    for (name, list) in [
        ("reads", &reach.read),
        ("writes", &reach.write),
        ("variables", &reach.variables),
        ("secret", &reach.secret_variables),
    ] {
        if !list.is_empty() {
            say(name, &list.join(", "));
        }
    }
    if let Some(why) = &reach.problem {
        say("problem", why);
        return;
    }
    let hosts = match reach.network.as_slice() {
        [] => "none".to_owned(),
        [all] if all == "*" => "the whole network".to_owned(),
        hosts => hosts.join(", "),
    };
    say("network", &hosts);
    say("secrets", &found(&reach.secrets, reach.secrets_tried));
    say("sockets", &found(&reach.sockets, reach.sockets_tried));
    for notice in &reach.notices {
        say("notice", notice);
    }
}

fn found(open: &[String], tried: usize) -> String {
    if open.is_empty() {
        return format!("none of {tried} in reach");
    }
    format!("{} of {tried} IN REACH: {}", open.len(), open.join(", "))
}
