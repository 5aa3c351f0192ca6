//! `creance policy explain`: why, clause by clause.

use clap::Args;
use creance::{AuditLog, Error, ErrorKind, Explanation, Filter, Workspace};

use crate::cli::dry_run::{Subject, arguments};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// What is explained.
#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    #[command(subcommand)]
    subject: Option<Subject>,
    /// A decision of the audit log, by its number (`seq`), under the policies now in force
    #[arg(long, value_name = "SEQ")]
    decision: Option<u64>,
    #[command(flatten)]
    form: Form,
}

pub(super) fn run(args: &ExplainArgs) -> Outcome {
    let workspace = out::workspace()?;
    let agent = workspace.cli_agent();
    if args.subject.is_some() && args.decision.is_some() {
        let what = "a recorded decision or a request is explained, not both at once";
        return Err(Error::message(ErrorKind::Usage, what));
    }
    let explanation: Explanation = match &args.subject {
        None => recorded(&workspace, args.decision)?,
        Some(Subject::Start { server }) => workspace.explain_start(server, &agent)?,
        Some(Subject::Connect { server, host }) => {
            workspace.explain_connect((server, host), &agent)?
        }
        Some(Subject::Call {
            server,
            tool,
            arguments: text,
        }) => workspace.explain_call((server, tool), &arguments(text)?, &agent)?,
    };
    if args.form.is_json() {
        out::json(&explanation);
    } else {
        out::line(&explanation.to_string());
    }
    Ok(Exit::Done)
}

/// A decision as it is on record.
fn recorded(workspace: &Workspace, decision: Option<u64>) -> Result<Explanation, Error> {
    let usage = |what: &str| Error::message(ErrorKind::Usage, what);
    let seq = decision
        .ok_or_else(|| usage("say what to explain: start, connect, call, or --decision SEQ"))?;
    let (records, _) = AuditLog::pick(workspace.audit_log(), &Filter::default())?;
    let record = records.iter().find(|record| record.seq == seq);
    let record = record.ok_or_else(|| {
        usage("the audit log has no such record (`creance audit show` lists them)")
    })?;
    let explained = workspace.policies().store.explain_record(record);
    let explained = explained.ok_or_else(|| usage("this record is no decision"))?;
    explained.map_err(|why| Error::message(ErrorKind::Policy, &format!("nobody can tell: {why}")))
}
