//! `creance policy schema`: the vocabulary, as people and editors read it; and the lock of the tools
//! that policies name as actions.

use std::path::PathBuf;

use clap::Args;
use creance::{PolicyFiles, PolicySet, Relocked, TypedTool, Workspace};
use serde_json::json;

use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// Of what the vocabulary is shown or locked.
#[derive(Debug, Args)]
pub(crate) struct SchemaArgs {
    /// The actions of this server's own tools, as they were agreed to
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Lock those of them that policies name, in tools.lock.json beside the policies
    #[arg(long, requires = "server")]
    write: bool,
    /// Lock for the policies of this folder, an organisation's bundle; your own otherwise
    #[arg(long, requires = "write", value_name = "FOLDER")]
    policies: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

pub(super) fn run(args: &SchemaArgs) -> Outcome {
    let Some(server) = &args.server else {
        let text = if args.form.is_json() {
            PolicySet::schema_json()
        } else {
            PolicySet::schema()
        };
        out::line(text.trim_end());
        return Ok(Exit::Done);
    };
    // Policies may be unusable because the lock is missing: that is said after it is written.
    let workspace = Workspace::open()?;
    if args.write {
        return write(args, &workspace, server);
    }
    let (tools, untyped) = workspace.typed_tools(server)?;
    if args.form.is_json() {
        out::json(&json!({ "tools": tools, "untyped": untyped }));
        return Ok(Exit::Done);
    }
    for tool in &tools {
        for (at, why) in &tool.left_out {
            out::line(&format!("// not in context.input: {at}: {why}"));
        }
        out::line(&tool.declaration);
    }
    for (name, why) in &untyped {
        out::line(&format!("// {name}: {why}"));
    }
    Ok(Exit::Done)
}

fn write(args: &SchemaArgs, workspace: &Workspace, server: &str) -> Outcome {
    let report = workspace.lock_tools(server, args.policies.as_deref())?;
    let policies = match &args.policies {
        Some(folder) => PolicyFiles::of(folder)?.store(),
        None => Workspace::open()?.policies().clone(),
    };
    if args.form.is_json() {
        out::json(
            &json!({ "lock": report, "usable": policies.whole, "notices": policies.notices }),
        );
    } else {
        print(&report);
        for notice in &policies.notices {
            out::note(&notice.to_string());
        }
    }
    Ok(if policies.whole {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn print(report: &Relocked) {
    let said = [
        ("added", &report.added),
        ("changed", &report.changed),
        ("removed", &report.removed),
    ];
    for (what, names) in said {
        for name in names {
            out::line(&format!("{what:8} {name}"));
        }
    }
    for tool in &report.tools {
        left_out(tool);
    }
    let count = report.tools.len();
    let tools = if count == 1 { "tool" } else { "tools" };
    out::line(&format!(
        "{count} {tools} locked in {}",
        report.file.display()
    ));
    if count == 0 {
        out::line("no policy names a tool of this server as an action");
    }
}

fn left_out(tool: &TypedTool) {
    for (at, why) in &tool.left_out {
        out::line(&format!(
            "note: context.input of {} has no {at}: {why}",
            tool.action
        ));
    }
}
