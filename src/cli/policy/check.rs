//! `creance policy check`: what is wrong with policies, with place, source line and way out.

use clap::{Args, ValueEnum};
use creance::{Policies, PolicyFiles, PolicyNotice, Workspace};

use super::command::Place;
use super::sarif;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

/// What is checked, and for whom.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A folder, file or bundle of policies; otherwise what is in force here
    folder: Option<Place>,
    /// For people, for programs, or for code scanning
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
    #[command(flatten)]
    form: Form,
}

/// For whom it is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
    Sarif,
}

pub(super) fn run(args: &CheckArgs) -> Outcome {
    let policies = match &args.folder {
        Some(folder) => PolicyFiles::of(folder)?.store(),
        None => Workspace::open()?.policies().clone(),
    };
    match args.format {
        Format::Sarif => out::json(&sarif::report(&policies.notices)),
        Format::Json => json(&policies),
        Format::Text if args.form.is_json() => json(&policies),
        Format::Text => print(&policies),
    }
    Ok(if policies.whole {
        Exit::Done
    } else {
        Exit::Failed
    })
}

fn json(policies: &Policies) {
    out::json(&serde_json::json!({
        "usable": policies.whole,
        "digest": policies.store.digest(),
        "files": policies.files,
        "bundle": policies.bundle,
        "notices": policies.notices,
    }));
}

fn print(policies: &Policies) {
    for notice in &policies.notices {
        print_notice(notice);
    }
    if let Some(bundle) = &policies.bundle {
        out::line(&bundle.to_string());
    }
    out::line(&format!(
        "{} files, {} policies in force, digest {}",
        policies.files.len(),
        policies.store.list().len(),
        policies.store.digest().short()
    ));
    if !policies.whole {
        out::line("they cannot be used: everything is denied until that is mended");
    }
}

fn print_notice(notice: &PolicyNotice) {
    let kind = if notice.fatal { "error" } else { "note" };
    out::line(&format!("{kind}: {notice}"));
    let Some(place) = notice
        .place
        .as_ref()
        .filter(|place| !place.source.is_empty())
    else {
        return;
    };
    let number = place.line.to_string();
    let blank = " ".repeat(number.len());
    out::line(&format!(" {number} | {}", place.source));
    let before = place.source.chars().take(place.column.saturating_sub(1));
    let before: String = before.map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    out::line(&format!(" {blank} | {before}^"));
}
