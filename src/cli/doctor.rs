//! `creance doctor`: what this machine can enforce, tested by doing it.

use clap::Args;

use super::exit::{Exit, Outcome};
use super::out;

/// Tries each sandbox backend for real and says which guarantees hold, which files are read, and
/// what is wrong with them.
#[derive(Debug, Args)]
#[command(
    after_help = "Exit code 1 when a required guarantee (writes, secrets, network) is not enforced.\n\
                        Example: creance doctor --json"
)]
pub(crate) struct DoctorArgs {
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: DoctorArgs) -> Outcome {
    let report = creance::examine();
    let workspace = out::workspace()?;
    if args.json {
        out::json(&serde_json::json!({
            "sandbox": report,
            "policies": workspace.policies().files,
            "policies_whole": workspace.policies().whole,
            "servers": workspace.server_ids(),
            "problems": workspace.problems(),
            "project": workspace.project(),
            "audit_log": workspace.audit_log(),
        }));
    } else {
        out::line(&report.to_string());
        out::line("policy files");
        for file in &workspace.policies().files {
            out::line(&format!("  {file}"));
        }
        if workspace.policies().files.is_empty() {
            out::line("  none but the built-in ones");
        }
        let project = workspace
            .project()
            .map_or_else(|| "none".to_owned(), |p| p.display().to_string());
        out::line(&format!("project: {project}"));
        out::line(&format!("audit log: {}", workspace.audit_log().display()));
    }
    let good = report.ok() && workspace.policies().whole;
    Ok(if good { Exit::Done } else { Exit::Failed })
}
