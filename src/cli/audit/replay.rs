//! `creance audit replay`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::Args;
use creance::{Because, Decided, PolicySet, Record, Replay, Verdict, Workspace, visible};
use serde_json::{Value, json};

use super::which::Which;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    #[command(flatten)]
    which: Which,
    /// A folder of `.cedar` files in place of yours; without it, the policies now in force
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Exit code 1 when a decision would differ, or when that cannot be told
    #[arg(long)]
    fail_on_change: bool,
    #[command(flatten)]
    form: Form,
}

pub(crate) fn run(args: &ReplayArgs) -> Outcome {
    let workspace = Workspace::open()?;
    let policies = match &args.policies {
        Some(folder) => workspace.policies_with(folder)?,
        None => workspace.policies().clone(),
    };
    for notice in &policies.notices {
        out::note(&notice.to_string());
    }
    let store = policies.into_store()?;
    let mut findings = Findings::default();
    for record in args.which.records()? {
        findings.add(record, &store);
    }
    if args.form.is_json() {
        out::json(&findings.json());
    } else {
        findings.print();
    }
    let differs = !findings.changed.is_empty() || !findings.unknown.is_empty();
    let failed = args.fail_on_change && differs;
    Ok(if failed { Exit::Failed } else { Exit::Done })
}

#[derive(Default)]
struct Findings {
    same: u64,
    changed: Vec<(Record, Decided, Decided, Verdict)>,
    unknown: Vec<(Record, String)>,
}

impl Findings {
    fn add(&mut self, record: Record, store: &PolicySet) {
        let Some(replay) = store.replay(&record) else {
            return;
        };
        let now = replay.now();
        let Replay { then, now: verdict } = replay;
        match (now, verdict) {
            (Some(now), _) if now == then => self.same += 1,
            (Some(now), Ok(verdict)) => self.changed.push((record, then, now, verdict)),
            (_, Err(why)) => self.unknown.push((record, why)),
            (None, Ok(_)) => {}
        }
    }

    fn json(&self) -> Value {
        let changed = self.changed.iter().map(|(record, then, now, verdict)| {
            json!({ "record": record, "then": then, "now": now, "because": verdict.because })
        });
        let unknown = self.unknown.iter();
        let unknown = unknown.map(|(record, why)| json!({ "record": record, "why": why }));
        json!({
            "same": self.same,
            "changed": changed.collect::<Vec<_>>(),
            "unknown": unknown.collect::<Vec<_>>(),
        })
    }

    fn print(&self) {
        for (record, then, now, verdict) in &self.changed {
            out::line(&format!(
                "{} -> {}: {}{}",
                word(*then),
                word(*now),
                record.view(creance::Shape::Line, creance::Paint::Plain),
                verdict.because.first().map(reason).unwrap_or_default()
            ));
        }
        let mut whys: BTreeMap<&str, u64> = BTreeMap::new();
        for (_, why) in &self.unknown {
            *whys.entry(why).or_default() += 1;
        }
        for (why, times) in whys {
            out::line(&format!("cannot be told ({times}): {}", visible(why)));
        }
        out::line(&format!(
            "{} decisions: {} as they were, {} would differ, {} cannot be told",
            self.same + self.changed.len() as u64 + self.unknown.len() as u64,
            self.same,
            self.changed.len(),
            self.unknown.len()
        ));
    }
}

fn reason(because: &Because) -> String {
    let reason = if because.reason.is_empty() {
        String::new()
    } else {
        format!(" ({})", visible(&because.reason))
    };
    format!("\n    now by {}{reason}", visible(&because.policy))
}

fn word(decided: Decided) -> &'static str {
    match decided {
        Decided::Allow => "allow",
        Decided::Ask => "ask",
        Decided::Deny => "deny",
    }
}
