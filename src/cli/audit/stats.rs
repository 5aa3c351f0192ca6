//! `creance audit stats`.

use clap::Args;
use creance::{Stats, Tone};

use super::which::Which;
use crate::cli::exit::{Exit, Outcome};
use crate::cli::out::{self, Form};
use crate::cli::paint::{Paint, Table};

#[derive(Debug, Args)]
pub(crate) struct StatsArgs {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    form: Form,
    /// So many lines a table
    #[arg(long, value_name = "N", default_value_t = 20)]
    top: usize,
}

pub(crate) fn run(args: &StatsArgs) -> Outcome {
    let stats = Stats::of(args.which.records()?);
    if args.form.is_json() {
        out::json(&stats);
        return Ok(Exit::Done);
    }
    let all = stats.decisions;
    out::line(&format!(
        "{} records: {} decisions, {} allowed, {} denied, {} after a question",
        stats.records,
        all.allowed + all.denied,
        all.allowed,
        all.denied,
        all.asked
    ));
    let paint = Paint::for_stdout();
    asked(&stats, args.top, paint);
    denied(&stats, args.top, paint);
    counts("effect", &stats.results, paint);
    counts("answered by", &stats.answered, paint);
    Ok(Exit::Done)
}

fn asked(stats: &Stats, top: usize, paint: Paint) {
    let mut table = Table::new(["who", "action", "of what", "allowed", "denied", "asked"]);
    for usage in stats.asked.iter().take(top) {
        let tone = if usage.tally.denied > 0 {
            Tone::Warning
        } else {
            Tone::Plain
        };
        table.row([
            (Tone::Plain, &usage.principal),
            (Tone::Plain, &usage.action),
            (Tone::Plain, &usage.resource),
            (Tone::Plain, &usage.tally.allowed.to_string()),
            (tone, &usage.tally.denied.to_string()),
            (Tone::Plain, &usage.tally.asked.to_string()),
        ]);
    }
    print(&table, (stats.asked.len(), top), paint);
}

fn denied(stats: &Stats, top: usize, paint: Paint) {
    let mut table = Table::new(["denied by", "times", "why"]);
    for denied in stats.denied_by.iter().take(top) {
        table.row([
            (Tone::Plain, &denied.policy),
            (Tone::Plain, &denied.times.to_string()),
            (Tone::Plain, &denied.reason),
        ]);
    }
    print(&table, (stats.denied_by.len(), top), paint);
}

fn counts(name: &str, counts: &std::collections::BTreeMap<String, u64>, paint: Paint) {
    let mut table = Table::new([name, "times"]);
    for (what, times) in counts {
        table.row([(Tone::Plain, what), (Tone::Plain, &times.to_string())]);
    }
    print(&table, (counts.len(), counts.len()), paint);
}

fn print(table: &Table, (all, top): (usize, usize), paint: Paint) {
    if all == 0 {
        return;
    }
    out::painted("");
    // Cells are written out by the table.
    out::painted(paint.text(&table.lines(paint.width)).trim_end());
    if all > top {
        out::painted(&format!("and {} more (--top)", all - top));
    }
}
