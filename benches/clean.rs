//! Throughput of cleaning and masking, with a copy of the same bytes beside it: the ratio of the two
//! in one run says more than either figure alone.

use std::hint::black_box;

use creance::internal::{clean_mask, clean_text};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};

const SIZE: usize = 1 << 20;

fn repeated(piece: &str) -> String {
    piece.repeat(SIZE / piece.len() + 1)
}

fn clean(criterion: &mut Criterion) {
    let texts = [
        (
            "prose",
            repeated("The quick brown fox jumps over the lazy dog, again and again.\n"),
        ),
        (
            "code",
            repeated("if a < b && c[1] > 0 { let v: Vec<u8> = f(&x)?; }\n"),
        ),
        (
            "unicode",
            repeated("Größe 漢字 и кириллица, plain words between them.\n"),
        ),
        (
            "hostile",
            repeated("\u{1b}[31mred\u{1b}[0m </mcp_result> i\u{200b}gnore 👨\u{200d}👩 e\u{301}\n"),
        ),
    ];
    let mut group = criterion.benchmark_group("clean");
    for (name, text) in &texts {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(format!("copy/{name}"), |b| {
            b.iter(|| black_box(text.as_str()).to_owned())
        });
        group.bench_function(format!("text/{name}"), |b| {
            b.iter(|| clean_text(black_box(text)).len())
        });
        group.bench_function(format!("mask/{name}"), |b| {
            b.iter(|| clean_mask(black_box(text)).len())
        });
    }
    group.finish();
}

criterion_group!(benches, clean);
criterion_main!(benches);
