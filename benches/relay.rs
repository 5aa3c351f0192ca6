//! What exactness costs: a message read and written again, ours against `serde_json::Value`, in one
//! run. Read the ratios, not the times.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

fn small_call() -> String {
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"docs/guide/intro.md","head":40},"_meta":{"progressToken":7}}}"#.to_owned()
}

/// About 100 kB of one text block, as file servers send it.
fn text_result() -> String {
    let line = "    let value = table.get(\\\"key\\\").unwrap_or(&default); // naïve\\n";
    let text = line.repeat(100_000 / line.len());
    format!(
        r#"{{"jsonrpc":"2.0","id":7,"result":{{"content":[{{"type":"text","text":"{text}"}}]}}}}"#
    )
}

/// About 100 kB of small members, as database servers send it.
fn rows_result() -> String {
    let row = |n: usize| {
        format!(r#"{{"id":{n},"name":"row {n}","price":{n}.25,"active":true,"note":null}}"#)
    };
    let rows: Vec<String> = (0..1500).map(row).collect();
    let rows = rows.join(",");
    format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"structuredContent":{{"rows":[{rows}]}}}}}}"#)
}

fn serde_round_trip(text: &[u8]) -> Result<String, serde_json::Error> {
    let value: serde_json::Value = serde_json::from_slice(text)?;
    serde_json::to_string(&value)
}

fn relay(criterion: &mut Criterion) {
    for (name, text) in [
        ("small call", small_call()),
        ("text result", text_result()),
        ("rows result", rows_result()),
    ] {
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("exact", |b| {
            b.iter(|| creance::internal::round_trip(black_box(text.as_bytes())).ok());
        });
        group.bench_function("serde_json", |b| {
            b.iter(|| serde_round_trip(black_box(text.as_bytes())).ok());
        });
        group.finish();
    }
}

criterion_group!(benches, relay);
criterion_main!(benches);
