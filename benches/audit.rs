//! What a record costs: written with grouped syncs, and synced each time; against the bare write.

use std::fs::OpenOptions;
use std::hint::black_box;
use std::io::Write as _;

use creance::{AuditLog, AuditSink as _, Durability, Event};
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::json;

fn event() -> Result<Event, serde_json::Error> {
    serde_json::from_value(json!({
        "at_ms": 1_700_000_000_000_i64, "run": "0123456789abcdef", "event": "decision",
        "action": "tool.call", "principal": "agent/claude-code",
        "resource": "user/files/read_text_file",
        "facts": { "args": { "path": "string(24)" }, "paths": ["/home/me/project/docs/a.md"] },
        "outcome": "allow",
        "because": [{ "policy": "user/10-files/docs", "layer": "user", "role": "permits", "reason": "docs are public" }],
        "answer": "none", "channel": null, "asked": false, "store": "0".repeat(64), "judged_us": 40
    }))
}

fn append(c: &mut Criterion) -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let event = event()?;
    let line = serde_json::to_vec(&event)?;
    let mut group = c.benchmark_group("audit");
    let mut bare = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder.path().join("bare"))?;
    group.bench_function("bare-write", |b| b.iter(|| bare.write(black_box(&line))));
    let grouped = AuditLog::file(folder.path().join("grouped"))?;
    group.bench_function("grouped", |b| b.iter(|| grouped.append(black_box(&event))));
    let always = AuditLog::file(folder.path().join("always"))?.with_durability(Durability::Always);
    group.sample_size(20);
    group.bench_function("always", |b| b.iter(|| always.append(black_box(&event))));
    group.finish();
    Ok(())
}

#[expect(clippy::panic, reason = "a bench that cannot run says why and fails")]
fn run(c: &mut Criterion) {
    if let Err(error) = append(c) {
        panic!("the bench did not run: {error}");
    }
}

criterion_group!(benches, run);
criterion_main!(benches);
