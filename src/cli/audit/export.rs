//! `creance audit export`.

use clap::Args;
use creance::{Format, Record};

use super::which::Which;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    which: Which,
    /// ocsf (1.4, API Activity), otel (OTLP/JSON logs), cloudevents (1.0) or csv
    #[arg(long, value_name = "FORMAT")]
    format: Format,
    /// Go on with records that are added, until you stop it
    #[arg(long)]
    follow: bool,
}

pub(crate) async fn run(args: &ExportArgs) -> Outcome {
    // Nothing is written about a log that cannot be read, not even a head.
    let mut head = args.format.head();
    // A line of an export holds no character that steers: it may go out as it is.
    let write = |record: &Record| {
        head.take().iter().for_each(|head| out::painted(head));
        out::painted(&args.format.line(record));
    };
    args.which.each(args.follow.into(), write).await?;
    head.iter().for_each(|head| out::painted(head));
    Ok(Exit::Done)
}
