//! `creance policy bundle|key|sign|verify`: an organisation's release, and what a machine makes of it.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use clap::Args;
use creance::{Bundle, BundleFiles, Draft, Error, ErrorKind, SigningKey};

use super::command::Place;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// What the manifest says.
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// The folder: `*.cedar`, `entities.json`, `tests/*.json`
    folder: Place,
    /// The bundle's name; the one it had otherwise
    #[arg(long)]
    name: Option<String>,
    /// Its revision; one more than it had otherwise
    #[arg(long)]
    revision: Option<u64>,
    /// From when on it holds (2026-11-30T00:00:00Z); from now on otherwise
    #[arg(long, value_name = "TIME")]
    not_before: Option<String>,
    /// For how many days it holds
    #[arg(long, default_value_t = 90)]
    days: u64,
    /// Decides nothing; where it would decide otherwise is put on record
    #[arg(long)]
    shadow: bool,
    /// Switches a guard rail off, by its id
    #[arg(long, value_name = "ID")]
    switch_off: Vec<String>,
}

/// A new key.
#[derive(Debug, Args)]
pub(crate) struct KeyArgs {
    /// The names of the two files, without `.key` and `.pub`
    name: PathBuf,
    #[command(flatten)]
    password: Password,
}

/// Where a password comes from.
#[derive(Debug, Args)]
struct Password {
    /// The secret key's password stands on standard input
    #[arg(long)]
    password_stdin: bool,
}

/// What is signed, and with what.
#[derive(Debug, Args)]
pub(crate) struct SignArgs {
    /// The bundle's folder
    folder: Place,
    /// The secret key
    #[arg(long, value_name = "FILE")]
    key: PathBuf,
    #[command(flatten)]
    password: Password,
    /// Pack the signed bundle into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is verified, and against what.
#[derive(Debug, Args)]
pub(crate) struct VerifyArgs {
    /// A folder, a file, or an https address
    bundle: String,
    /// A public key: a `.pub` file or the key itself
    #[arg(long, required = true, value_name = "KEY")]
    key: Vec<String>,
    /// Certificates (PEM) of the authority behind the address
    #[arg(long, value_name = "FILE")]
    authority: Option<PathBuf>,
    /// Pack the verified bundle into this file
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

pub(super) fn bundle(args: &BundleArgs) -> Outcome {
    let draft = Draft {
        name: args.name.clone(),
        revision: args.revision,
        not_before: args.not_before.clone(),
        days: args.days,
        shadow: args.shadow,
        switched_off: args.switch_off.clone(),
    };
    let (manifest, tests) = draft.write(&args.folder)?;
    out::line(&format!(
        "{} revision {}: {} files, {tests} tests pass, from {} until {}",
        manifest.name,
        manifest.revision,
        manifest.files.len(),
        manifest.not_before,
        manifest.expires
    ));
    out::line(
        "sign it: creance policy sign FOLDER --key KEY, or minisign -Sm FOLDER/manifest.json",
    );
    Ok(Exit::Done)
}

impl Password {
    /// The password; empty for a key that has none.
    fn read(&self) -> Result<String, Error> {
        let mut text = String::new();
        if self.password_stdin {
            let mut stdin = std::io::stdin().lock().take(4096);
            stdin.read_to_string(&mut text)?;
            text.truncate(text.trim_end_matches(['\r', '\n']).len());
            if text.is_empty() {
                let why = "there is no password on standard input";
                return Err(Error::message(ErrorKind::Usage, why));
            }
        }
        Ok(text)
    }
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

pub(super) fn key(args: &KeyArgs) -> Outcome {
    let (secret_file, public_file) = (
        with_ending(&args.name, ".key"),
        with_ending(&args.name, ".pub"),
    );
    if let Some(there) = [&secret_file, &public_file]
        .into_iter()
        .find(|file| file.exists())
    {
        let text = format!(
            "`{}` is there already; a key that was pinned is not replaced by mistake",
            there.display()
        );
        return Err(Error::message(ErrorKind::Usage, &text));
    }
    let password = args.password.read()?;
    let (secret, public) = SigningKey::generate(&password).map_err(failed)?;
    creance::replace_file(&secret_file, secret.as_bytes())?;
    creance::write_file(&public_file, public.as_bytes())?;
    out::line(&format!(
        "{}: keep it off developers' machines",
        secret_file.display()
    ));
    out::line(&format!(
        "{}: pin it in organisation.json:",
        public_file.display()
    ));
    out::line(&format!("  {}", public.lines().last().unwrap_or_default()));
    if password.is_empty() {
        out::note(
            "the secret key has no password: whoever reads the file can sign (--password-stdin sets one)",
        );
    }
    Ok(Exit::Done)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::message(ErrorKind::Policy, &error.to_string())
}

pub(super) fn sign(args: &SignArgs) -> Outcome {
    let mut files = creance::read_bundle(&args.folder.to_string_lossy(), None)?;
    let draft = Bundle::draft(&files).map_err(failed)?;
    let text = std::fs::read_to_string(&args.key)?;
    let key = SigningKey::read(&text, &args.password.read()?).map_err(failed)?;
    let comment = format!(
        "creance bundle {} revision {}",
        draft.manifest.name, draft.manifest.revision
    );
    files.signature = key.sign(&files.manifest, &comment).map_err(failed)?;
    let file = args.folder.join("manifest.json.minisig");
    creance::write_file(&file, files.signature.as_bytes())?;
    out::line(&format!("{}: signed", file.display()));
    pack(&files, args.out.as_deref())?;
    Ok(Exit::Done)
}

fn pack(files: &BundleFiles, out: Option<&Path>) -> Result<(), Error> {
    if let Some(out) = out {
        creance::write_file(out, files.pack().as_bytes())?;
        out::line(&format!("{}: packed", out.display()));
    }
    Ok(())
}

pub(super) fn verify(args: &VerifyArgs) -> Outcome {
    let files = creance::read_bundle(&args.bundle, args.authority.as_deref())?;
    let read = |key: &String| match std::fs::read_to_string(key) {
        Ok(text) => text,
        Err(_) => key.clone(),
    };
    let keys: Vec<String> = args.key.iter().map(read).collect();
    let bundle = creance::verify_bundle(&files, &keys)?;
    pack(&files, args.out.as_deref())?;
    if args.form.is_json() {
        out::json(&bundle.manifest);
        return Ok(Exit::Done);
    }
    let manifest = &bundle.manifest;
    out::line(&format!(
        "{} revision {}, until {}: {} files as they were signed",
        manifest.name,
        manifest.revision,
        manifest.expires,
        manifest.files.len()
    ));
    Ok(Exit::Done)
}
