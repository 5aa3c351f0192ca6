//! `creance audit show`.

use clap::Args;
use creance::{Record, Shape};

use super::which::Which;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out;
use crate::cli::paint::{Paint, audit_paint};

#[derive(Debug, Args)]
pub(crate) struct ShowArgs {
    #[command(flatten)]
    which: Which,
    /// Go on with records that are added, until you stop it
    #[arg(long)]
    follow: bool,
    /// Several lines a record, with all facts
    #[arg(long)]
    full: bool,
    /// Print the records as JSON Lines
    #[arg(long, conflicts_with = "full")]
    json: bool,
}

pub(crate) async fn run(args: &ShowArgs) -> Outcome {
    let paint = audit_paint(Paint::for_stdout());
    let shape = if args.full { Shape::Full } else { Shape::Line };
    let show = |record: &Record| {
        if args.json {
            out::json_line(record);
        } else {
            // The library writes out what strangers put into a record.
            out::painted(&record.view(shape, paint));
        }
    };
    args.which.each(args.follow.into(), show).await?;
    Ok(Exit::Done)
}
