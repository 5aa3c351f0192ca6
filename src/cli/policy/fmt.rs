//! `creance policy fmt`: policies in their one form.

use std::path::PathBuf;

use clap::Args;
use creance::{Error, ErrorKind, PolicyFiles, PolicySet};

use super::command::Place;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out;

/// What is formatted.
#[derive(Debug, Args)]
pub(crate) struct FmtArgs {
    /// Files and folders of policies
    #[arg(required = true)]
    paths: Vec<Place>,
    /// Change nothing; exit code 1 when a file is not in that form
    #[arg(long)]
    check: bool,
    /// Also mend `action == Action::"GROUP"`, which no request meets, to `action in [Action::"GROUP"]`
    #[arg(long)]
    fix: bool,
}

pub(super) fn run(args: &FmtArgs) -> Outcome {
    let mut changed = false;
    for path in &args.paths {
        for file in PolicyFiles::of(path)?.parts.sources {
            let text = if args.fix {
                PolicySet::mended(&file.text)
            } else {
                PolicySet::formatted(&file.text)
            };
            let text = text.map_err(|why| {
                Error::message(ErrorKind::Policy, &format!("{}: {why}", file.file))
            })?;
            if text == file.text {
                continue;
            }
            changed = true;
            if args.check {
                out::line(&format!("{}: is not in its one form", file.file));
            } else {
                creance::replace_file(PathBuf::from(&file.file), text.as_bytes())?;
                out::line(&format!("{}: written", file.file));
            }
        }
    }
    Ok(if changed && args.check {
        Exit::Failed
    } else {
        Exit::Done
    })
}
