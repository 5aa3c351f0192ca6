//! From facts to a verdict: entities, schema check, judging under up to four answers, reasons; stage by
//! stage, beside Cedar with all policies as one set, and up to the audit record. `named` policies name
//! their resource in the scope and are sliced away; `open` ones are not. Loading and a cold start.

use std::fmt::Write as _;
use std::hint::black_box;
use std::time::{Duration, Instant};

use creance::internal::{Decider, Whole, evaluate, prepare};
use creance::{Answer, AuditLog, Layer, PolicySet, PolicySource, Wish};
use criterion::{Criterion, criterion_group};

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
    for (kind, scope, counts) in [
        ("named", named as fn(usize) -> String, [100, 10_000]),
        ("open", open, [100, 1_000]),
    ] {
        for count in counts {
            stores.push((format!("{kind}/{count}"), user(&policies(count, scope))));
        }
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

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// The time of each of so many runs.
fn times(runs: usize, mut run: impl FnMut() -> Outcome<()>) -> Outcome<Vec<Duration>> {
    let mut times = Vec::with_capacity(runs);
    for _ in 0..runs {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    Ok(times)
}

/// The stages of judging an allowed call, and Cedar's public way with all policies as one set.
fn stages(store: &str, policies: &PolicySet, runs: usize) -> Outcome<()> {
    let asking = call();
    let held = Answer::Remembered;
    let unfit = "the bench's call does not fit the schema";
    let prepared = prepare(policies, &asking.query()).ok_or(unfit)?;
    let whole = Whole::new(policies, &prepared, held).ok_or(unfit)?;
    let mut prepares = times(4_000, || {
        black_box(prepare(policies, &asking.query())).ok_or(unfit)?;
        Ok(())
    })?;
    tell(store, "facts to entities", &mut prepares);
    let mut evaluates = times(4_000, || {
        black_box(evaluate(policies, &prepared, held)).ok_or(unfit)?;
        Ok(())
    })?;
    tell(store, "evaluation", &mut evaluates);
    let mut wholes = times(runs, || {
        black_box(whole.decide()).ok_or(unfit)?;
        Ok(())
    })?;
    tell(store, "Cedar, whole set", &mut wholes);
    Ok(())
}

/// The whole decision: judged, its record written (and synced in groups), its permit made.
fn recorded(count: usize) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let policies = policies(count, named) + "@id(\"all\") permit (principal, action, resource);";
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
    tell(
        &format!("named/{count}"),
        "call allowed, on record",
        &mut times,
    );
    Ok(())
}

/// Asks this program to be a process that takes one decision.
const FIRST: &str = "--first-decision";

/// From the start of a process to its first decision by the built-in policies, beside a process that
/// decides nothing.
#[expect(clippy::disallowed_methods, reason = "a bench starts programs")]
fn cold_start() -> Outcome<()> {
    let program = std::env::current_exe()?;
    for (name, argument) in [("empty process", "--nothing"), ("to first decision", FIRST)] {
        let mut starts = times(60, || {
            let status = std::process::Command::new(&program)
                .arg(argument)
                .status()?;
            if status.success() {
                Ok(())
            } else {
                Err("the process failed".into())
            }
        })?;
        tell("cold start", name, &mut starts);
    }
    Ok(())
}

/// Whether this process is one that `cold_start` began.
fn is_cold_start() -> bool {
    let asked = std::env::args().nth(1);
    if asked.as_deref() == Some(FIRST) {
        let verdict = PolicySet::builtin().evaluate_all(&[call().query()], Answer::None);
        assert!(!verdict.because.is_empty(), "a verdict has reasons");
    }
    matches!(asked.as_deref(), Some(FIRST | "--nothing"))
}

#[expect(clippy::print_stdout, reason = "a bench reports")]
fn load_many() {
    for count in [1_000, 10_000] {
        let text = policies(count, named);
        let start = Instant::now();
        let set = user(&text);
        let took = start.elapsed();
        println!(
            "load         {count} policies {took:>10.1?}  ({} in all)",
            set.list().len()
        );
    }
}

/// What is told once, before Criterion's own groups.
fn tables() -> Outcome<()> {
    cold_start()?;
    load_many();
    for (count, runs) in [(100, 2_000), (10_000, 60)] {
        let set = user(&policies(count, named));
        stages(&format!("named/{count}"), &set, runs)?;
        recorded(count)?;
    }
    tails();
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
    // Who names a group wants that alone: the tables are for a whole run.
    let named = |argument: String| !argument.starts_with('-');
    if !std::env::args().skip(1).any(named)
        && let Err(error) = tables()
    {
        panic!("the bench did not run: {error}");
    }
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

fn main() {
    if is_cold_start() {
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
