//! The commands about the audit log.

use clap::Subcommand;

use super::export::{self, ExportArgs};
use super::key::{self, CheckpointArgs, KeyArgs};
use super::replay::{self, ReplayArgs};
use super::show::{self, ShowArgs};
use super::stats::{self, StatsArgs};
use super::verify::{self, VerifyArgs};
use crate::cli::exit::Outcome;

/// The audit log.
#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show records
    #[command(
        after_help = "Examples:\n  creance audit show --last 20\n  creance audit show --outcome \
                      deny --since 2h --follow\n  creance audit show --server user/files --json"
    )]
    Show(ShowArgs),
    /// Check that nothing was edited, removed, inserted, moved or cut off
    #[command(
        after_help = "Each record has a code by a key that was erased when it was written. Take the \
                      starting key away (`creance audit key take`) and give it with --key: then \
                      nobody who reads this disk later can have made a record that fits. What was \
                      noted elsewhere (--head, --checkpoints) shows that the end was not cut off.\n\
                      Exit code 1 when the log does not hold, or records are known to be missing.\n\
                      Examples:\n  creance audit verify\n  creance audit verify --key - < start.key\n  \
                      creance audit verify --checkpoints /mnt/other/checkpoints.jsonl\n  \
                      creance audit verify --head 41:9f86…"
    )]
    Verify(VerifyArgs),
    /// Show which keys are in use; take the starting key away, or begin new keys
    #[command(
        after_help = "Examples:\n  creance audit key\n  creance audit key take > /media/stick/start.key\n  \
                      creance audit key renew"
    )]
    Key(KeyArgs),
    /// Print the signed head of the log, to be kept on another machine
    #[command(
        after_help = "Example: creance audit checkpoint | ssh other 'cat >> checkpoints.jsonl'\nThe \
                      setting audit.checkpoints adds them to a file while Creance runs."
    )]
    Checkpoint(CheckpointArgs),
    /// Decide recorded requests again: what would other policies have decided?
    #[command(
        after_help = "Examples:\n  creance audit replay --policies new-policies/ --fail-on-change\n  \
                      creance audit replay --since 7d\nExit code 1 with --fail-on-change when a \
                      decision would differ, or cannot be told."
    )]
    Replay(ReplayArgs),
    /// Write records for other systems, one line each
    #[command(
        after_help = "Examples:\n  creance audit export --format ocsf --since 1d > day.jsonl\n  \
                      creance audit export --format otel --follow\n  creance audit export --format \
                      csv > audit.csv"
    )]
    Export(ExportArgs),
    /// Count who asked what, how often, and what was denied by what
    #[command(after_help = "Example: creance audit stats --since 30d")]
    Stats(StatsArgs),
}

pub(crate) async fn run(command: AuditCommand) -> Outcome {
    match command {
        AuditCommand::Show(args) => show::run(&args).await,
        AuditCommand::Verify(args) => verify::run(&args),
        AuditCommand::Key(args) => key::run(&args),
        AuditCommand::Checkpoint(args) => key::checkpoint(&args),
        AuditCommand::Replay(args) => replay::run(&args),
        AuditCommand::Export(args) => export::run(&args).await,
        AuditCommand::Stats(args) => stats::run(&args),
    }
}
