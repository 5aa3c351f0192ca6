//! From facts to a verdict: entities, schema check, judging under up to four answers, reasons.
//! `named` policies name their resource in the scope and are sliced away; `open` ones are not.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use creance::internal::Decider;
use creance::{Answer, AuditLog, Layer, PolicySet, PolicySource, Wish};
use criterion::{Criterion, criterion_group, criterion_main};

#[expect(
    dead_code,
    clippy::panic,
    clippy::expect_used,
    reason = "shared with tests/policy"
)]
#[path = "../tests/policy/base.rs"]
mod base;

use base::{Asking, Owned, call, path, user, wish};

/// Policies as people write them, about many tools.
fn policies(count: usize, scope: fn(usize) -> String) -> String {
    let mut text = String::new();
    for at in 0..count {
        let scope = scope(at);
        let written = match at % 3 {
            0 => writeln!(
                text,
                "@id(\"p{at}\") @reason(\"r\") permit (principal, action == Action::\"tool.call\", {scope} && context.every_path in Path::\"./docs\" }};"
            ),
            1 => writeln!(
                text,
                "@id(\"p{at}\") @reason(\"r\") forbid (principal, action == Action::\"tool.call\", {scope} && context.secrets_in_args }};"
            ),
            _ => writeln!(
                text,
                "@id(\"p{at}\") @reason(\"r\") forbid (principal, action == Action::\"tool.call\", {scope} && context.calls_this_session > 50 }} unless {{ context.approved_now }};"
            ),
        };
        assert!(written.is_ok());
    }
    text
}

fn named(at: usize) -> String {
    format!("resource == Tool::\"user/files/tool{at}\") when {{ true")
}

fn open(at: usize) -> String {
    format!("resource) when {{ resource == Tool::\"user/files/tool{at}\"")
}

fn stores() -> Vec<(String, PolicySet)> {
    let mut stores = vec![("builtin".to_owned(), PolicySet::builtin())];
    for count in [100, 1_000] {
        stores.push((format!("named/{count}"), user(&policies(count, named))));
        stores.push((format!("open/{count}"), user(&policies(count, open))));
    }
    stores
}

fn requests() -> [(&'static str, Asking, Answer); 3] {
    let read = wish(Wish::Read(path("src")));
    [
        ("call asked", call(), Answer::None),
        ("call allowed", call(), Answer::Remembered),
        ("read allowed", read, Answer::None),
    ]
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    let at = times.get(times.len() * percent / 100);
    at.copied().unwrap_or_default()
}

#[expect(clippy::print_stdout, reason = "a bench reports")]
fn tell(store: &str, name: &str, times: &mut [Duration]) {
    times.sort();
    println!(
        "{store:<12} {name:<24} p50 {:>8.1?}  p90 {:>8.1?}  p99 {:>8.1?}",
        percentile(times, 50),
        percentile(times, 90),
        percentile(times, 99)
    );
}

/// The whole decision: judged, its record written (and synced in groups), its permit made.
fn recorded() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let policies = policies(100, named) + "@id(\"all\") permit (principal, action, resource);";
    let log = AuditLog::file(folder.path().join("audit.jsonl"))?;
    let decider = Decider::new(user(&policies), log);
    let asking = call();
    let Owned::Call(request) = &asking.act else {
        return Err("no call".into());
    };
    let mut times = Vec::new();
    for _ in 0..4_000 {
        let request = request.clone();
        let start = Instant::now();
        let allowed = runtime.block_on(decider.decide(&asking.agent, &asking.run, request))?;
        times.push(start.elapsed());
        assert!(allowed, "the bench's call is permitted");
    }
    tell("named/100", "call allowed, on record", &mut times);
    Ok(())
}

/// Criterion keeps no tails.
fn tails() {
    for (store, policies) in stores() {
        for (name, asking, held) in requests() {
            let mut times: Vec<Duration> = (0..4_000)
                .map(|_| {
                    let start = Instant::now();
                    black_box(policies.evaluate_all(&[asking.query()], held));
                    start.elapsed()
                })
                .collect();
            tell(&store, name, &mut times);
        }
    }
}

#[expect(clippy::panic, reason = "a bench that cannot run says why and fails")]
fn decision(c: &mut Criterion) {
    if let Err(error) = recorded() {
        panic!("the bench did not run: {error}");
    }
    tails();
    for (store, policies) in stores() {
        let mut group = c.benchmark_group(store);
        for (name, asking, held) in requests() {
            group.bench_function(name, |b| {
                b.iter(|| policies.evaluate_all(black_box(&[asking.query()]), held));
            });
        }
        group.finish();
    }
}

fn loading(c: &mut Criterion) {
    let source = PolicySource {
        layer: Layer::User,
        file: "bench.cedar".to_owned(),
        text: policies(100, named),
    };
    c.bench_function("load/100", |b| {
        b.iter(|| PolicySet::parse(black_box(std::slice::from_ref(&source))));
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20).measurement_time(Duration::from_secs(1)).warm_up_time(Duration::from_millis(200));
    targets = decision, loading
}
criterion_main!(benches);
