//! `creance audit key` and `creance audit checkpoint`.

use clap::{Args, Subcommand};
use creance::{AuditLog, Error, ErrorKind, StartKey};

use super::which::{File, failed};
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    #[command(flatten)]
    file: File,
    #[command(flatten)]
    form: Form,
    #[command(subcommand)]
    act: Option<KeyAct>,
}

#[derive(Clone, Copy, Debug, Subcommand)]
enum KeyAct {
    /// Print the starting key and erase it here: keep it where this machine does not reach
    Take,
    /// End the keys in use and begin new ones, for example when a starting key was lost
    Renew,
}

pub(crate) fn run(args: &KeyArgs) -> Outcome {
    let path = match args.act {
        None if args.file.is_own() => args.file.path()?,
        _ => args.file.existing()?,
    };
    match args.act {
        Some(KeyAct::Take) => take(&path),
        Some(KeyAct::Renew) => {
            let id = AuditLog::renew_keys(&path).map_err(failed)?;
            out::line(&format!("new keys {id}"));
            out::note("take their starting key away with `creance audit key take`");
            Ok(Exit::Done)
        }
        None => show(&path, args.form),
    }
}

fn take(path: &std::path::Path) -> Outcome {
    let keys = AuditLog::start_keys(path).map_err(failed)?;
    if keys.is_empty() {
        let text = "there is no starting key here: it was taken before (`creance audit key renew` \
                    begins new keys)";
        return Err(Error::message(ErrorKind::Audit, text));
    }
    let text: Vec<String> = keys.iter().map(StartKey::reveal).collect();
    // Erased only once it went out whole.
    out::secret(&text.join("\n")).map_err(|error| {
        let text = format!("the key could not be printed, so it stays: {error}");
        Error::message(ErrorKind::Io, &text)
    })?;
    AuditLog::take_start_keys(path).map_err(failed)?;
    out::note("erased here: without it nobody can prove this log, so keep it well");
    Ok(Exit::Done)
}

fn show(path: &std::path::Path, form: Form) -> Outcome {
    let keys = AuditLog::keys(path).map_err(failed)?;
    if form.is_json() {
        out::json(&keys);
        return Ok(Exit::Done);
    }
    match (keys.id, keys.first) {
        (Some(id), Some(first)) => out::line(&format!("keys       {id}, from record {first} on")),
        _ => out::line("keys       none yet: they are made with the first record"),
    }
    if keys.beside.is_empty() {
        out::line("start      taken away, or none was made");
    } else {
        out::line(&format!(
            "start      still in {}: take it away with `creance audit key take`",
            keys.file.display()
        ));
    }
    match keys.signer {
        Some(signer) => out::line(&format!("signer     {signer}")),
        None => out::line("signer     none yet: made with the first checkpoint"),
    }
    if let Some(head) = keys.head {
        out::line(&format!("head       {head}"));
    }
    Ok(Exit::Done)
}

#[derive(Debug, Args)]
pub(crate) struct CheckpointArgs {
    #[command(flatten)]
    file: File,
}

pub(crate) fn checkpoint(args: &CheckpointArgs) -> Outcome {
    let checkpoint = AuditLog::checkpoint(args.file.existing()?).map_err(failed)?;
    out::line(&checkpoint.to_string());
    Ok(Exit::Done)
}
