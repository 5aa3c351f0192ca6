//! `creance policy init`: policies to begin with, and their tests.

use std::path::PathBuf;

use clap::Args;
use creance::{Posture, Workspace};

use crate::cli::exit::{Exit, Outcome};
use crate::cli::out;

/// With what, and where.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// careful: answers last for a session at most, the network is asked for each time. everyday:
    /// what stays within the project and the sandbox goes on without questions. locked-down: each
    /// call is answered by a person who is there. organisation: a bundle of fourteen topics
    #[arg(value_parser = parse)]
    posture: Posture,
    /// Where to; your own policy folder otherwise
    folder: Option<PathBuf>,
}

fn parse(word: &str) -> Result<Posture, String> {
    let known = Posture::ALL
        .into_iter()
        .find(|posture| posture.name() == word);
    known.ok_or_else(|| {
        let words: Vec<&str> = Posture::ALL.into_iter().map(Posture::name).collect();
        format!("one of {}", words.join(", "))
    })
}

pub(super) fn run(args: &InitArgs) -> Outcome {
    let written = match &args.folder {
        Some(folder) => args.posture.write_to(folder)?,
        None => Workspace::open()?.init_policies(args.posture)?,
    };
    for file in written {
        out::line(&file.display().to_string());
    }
    Ok(Exit::Done)
}
