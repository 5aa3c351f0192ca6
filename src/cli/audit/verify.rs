//! `creance audit verify`.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use creance::{
    AuditLog, Check, Checkpoint, Error, ErrorKind, Head, PublicKey, Report, Scope, StartKey,
};

use super::which::{File, failed};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out;

#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    file: File,
    /// The starting key that was taken away, in a file; `-` for standard input
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Checkpoints that were kept elsewhere
    #[arg(long, value_name = "FILE")]
    checkpoints: Vec<PathBuf>,
    /// Whose checkpoints are believed; by default the log's own signing key
    #[arg(long, value_name = "PUBLIC_KEY")]
    signer: Option<PublicKey>,
    /// A head that was noted before (`SEQ:DIGEST`): finds a log whose end was cut off
    #[arg(long)]
    head: Vec<Head>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &VerifyArgs) -> Outcome {
    let path = args.file.existing()?;
    let keys = match &args.key {
        Some(file) => read_keys(file)?,
        None => Vec::new(),
    };
    let mut checkpoints = Vec::new();
    for file in &args.checkpoints {
        checkpoints.extend(read_checkpoints(file)?);
    }
    let beside = AuditLog::keys(&path).map_err(failed)?;
    let at_home = args.file.is_own() || beside.id.is_some();
    let has_keys = !keys.is_empty() || !beside.beside.is_empty();
    let check = Check {
        scope: if at_home { Scope::Home } else { Scope::File },
        keys,
        noted: args.head.clone(),
        checkpoints,
        signer: args.signer,
    };
    let report = AuditLog::check(&path, &check).map_err(failed)?;
    if args.json {
        out::json(&report);
    } else {
        out::line(&report.to_string());
        if report.ok && report.proven < report.records {
            out::note(&unproven(&report, has_keys.into()));
        }
        if !beside.beside.is_empty() {
            out::note(&format!(
                "the starting key still lies in `{}`: whoever can read it can make records that \
                 fit; take it away with `creance audit key take`",
                beside.file.display()
            ));
        }
    }
    let holds = report.ok && report.complete;
    Ok(if holds { Exit::Done } else { Exit::Failed })
}

/// Whether a starting key was at hand.
enum AtHand {
    Nothing,
    Keys,
}

impl From<bool> for AtHand {
    fn from(keys: bool) -> Self {
        if keys { Self::Keys } else { Self::Nothing }
    }
}

fn unproven(report: &Report, keys: AtHand) -> String {
    let count = report.records - report.proven;
    match keys {
        AtHand::Nothing => {
            "only the chain was checked: whoever can write the files can have made it anew; give the \
             starting key with --key"
                .to_owned()
        }
        AtHand::Keys => format!(
            "{count} records were written before these keys were in use, or under others: of those \
             only the chain was checked"
        ),
    }
}

fn read_keys(file: &Path) -> Result<Vec<StartKey>, Error> {
    let text = read(file)?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let keys: Result<Vec<StartKey>, _> = lines.map(str::parse).collect();
    match keys {
        Ok(keys) if keys.is_empty() => Err(usage(file, "it is empty")),
        Ok(keys) => Ok(keys),
        Err(error) => Err(usage(file, &error.to_string())),
    }
}

fn read_checkpoints(file: &Path) -> Result<Vec<Checkpoint>, Error> {
    let text = read(file)?;
    let mut checkpoints = Vec::new();
    for (at, line) in text.lines().enumerate() {
        if line.trim().is_empty() {
            continue;
        }
        let checkpoint = Checkpoint::parse(line);
        let read = checkpoint.map_err(|error| usage(file, &format!("line {}: {error}", at + 1)))?;
        checkpoints.push(read);
    }
    if checkpoints.is_empty() {
        return Err(usage(file, "it holds no checkpoint"));
    }
    Ok(checkpoints)
}

fn read(file: &Path) -> Result<String, Error> {
    let read = if file == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        std::fs::read_to_string(file)
    };
    read.map_err(|error| usage(file, &error.to_string()))
}

fn usage(file: &Path, what: &str) -> Error {
    Error::message(ErrorKind::Usage, &format!("`{}`: {what}", file.display()))
}
