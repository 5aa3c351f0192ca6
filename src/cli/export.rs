//! `creance server export`: the gateway in the place of a client's servers, and the way back.

use std::path::PathBuf;

use clap::Args;
use creance::{Changed, Client, Leaving, Workspace};

use super::exit::{Exit, Outcome};
use super::out::{self, Form};

/// Into which client.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    creance server export --to claude-desktop\n  \
    creance server export --to cursor --file .cursor/mcp.json\n  \
    creance server export --to claude-desktop --rollback\n\
    Close the client first: some write their file when they end.")]
pub(crate) struct ExportArgs {
    /// The client: claude-desktop, claude-code, cursor, vscode, windsurf, zed, codex, gemini
    #[arg(long, value_name = "CLIENT", value_parser = client)]
    to: Client,
    /// Its file; the one in your home otherwise
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// Take out all its servers, also those that Creance does not have
    #[arg(long)]
    all: bool,
    /// Put back what stood there before, byte for byte
    #[arg(long, conflicts_with = "all")]
    rollback: bool,
    /// Put it back although the file was changed since; what is there now is copied first
    #[arg(long, requires = "rollback")]
    force: bool,
    #[command(flatten)]
    form: Form,
}

/// A client by its word.
pub(crate) fn client(word: &str) -> Result<Client, String> {
    let known = Client::ALL.into_iter().find(|client| client.word() == word);
    known.ok_or_else(|| {
        let words = Client::ALL.map(Client::word);
        format!("one of {}", words.join(", "))
    })
}

pub(super) fn run(workspace: &Workspace, args: &ExportArgs) -> Outcome {
    if args.rollback {
        return roll_back(workspace, args);
    }
    let leaving = if args.all {
        Leaving::All
    } else {
        Leaving::Imported
    };
    let report = workspace.export_gateway(args.to, args.file.as_deref(), leaving)?;
    if args.form.is_json() {
        out::json(&report);
        return Ok(Exit::Done);
    }
    if let Some(target) = &report.target {
        out::folded(&format!("{} is a link to {target}", report.file));
    }
    if report.unchanged {
        out::folded(&format!(
            "{}: the gateway stands there already",
            report.file
        ));
    } else {
        let client = args.to.title();
        out::folded(&format!("{client} starts the gateway now: {}", report.file));
    }
    if !report.removed.is_empty() {
        out::folded(&format!("  taken out  {}", report.removed.join(", ")));
    }
    for (name, why) in &report.kept {
        out::folded(&format!("  stays      {name}: {why}"));
    }
    if let Some(backup) = &report.backup {
        out::folded(&format!("  copy       {backup}"));
        let word = args.to.word();
        let file = match &args.file {
            Some(file) => format!(" --file {}", file.display()),
            None => String::new(),
        };
        out::folded(&format!(
            "  way back   creance server export --to {word}{file} --rollback"
        ));
    }
    if !report.kept.is_empty() {
        out::note("what the client starts by itself is not on the line; `--all` takes it out too");
    }
    Ok(Exit::Done)
}

fn roll_back(workspace: &Workspace, args: &ExportArgs) -> Outcome {
    let changed = if args.force {
        Changed::Overwrite
    } else {
        Changed::Refuse
    };
    let report = workspace.roll_back_export(args.to, args.file.as_deref(), changed)?;
    if args.form.is_json() {
        out::json(&report);
        return Ok(Exit::Done);
    }
    let file = &report.file;
    out::folded(&match report.done {
        "restored" => format!("{file} is what it was before the export"),
        "removed" => format!("{file} was made by the export, and is gone"),
        _ => format!("{file} is what it was before the export already"),
    });
    if let Some(kept) = &report.kept {
        out::folded(&format!("what stood there instead: {kept}"));
    }
    Ok(Exit::Done)
}
