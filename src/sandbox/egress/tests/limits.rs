//! Limits: slow, large and many.

use tokio::io::AsyncReadExt;

use super::bench::{Bench, Origin, PUBLIC, hello};
use crate::sandbox::egress::{EgressEvent, EgressLimits, End, Refusal};

const CONNECT: &[u8] = b"CONNECT api.test:443 HTTP/1.1\r\n\r\n";

fn refused(event: EgressEvent) -> Refusal {
    match event {
        EgressEvent::Refused { refusal, .. } => refusal,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_slow_request_ends() {
    let limits = EgressLimits {
        head_ms: 50,
        ..EgressLimits::default()
    };
    let mut bench = Bench::open(limits);
    for start in [&b""[..], b"CONNECT api.test", &[5, 1, 0, 5, 1]] {
        let mut program = bench.program().await;
        program.send(start).await;
        let answer = program.rest().await;
        assert!(
            start.first() == Some(&5) || answer.starts_with("HTTP/1.1 408 "),
            "{answer}"
        );
        assert_eq!(refused(bench.event().await), Refusal::Late("the request"));
    }
}

#[tokio::test]
async fn a_slow_hello_ends() {
    let limits = EgressLimits {
        hello_ms: 50,
        ..EgressLimits::default()
    };
    let mut bench = Bench::open(limits);
    let origin = Origin::start(&bench, &[443]).await;
    for start in [&b""[..], &hello(Some("api.test"))[..20]] {
        let mut program = bench.program().await;
        program.connect("api.test:443").await;
        let mut host = origin.accept().await;
        program.send(start).await;
        assert_eq!(program.rest().await, "");
        assert_eq!(host.rest().await, "");
        let late = Refusal::Late("the first bytes in the tunnel");
        assert_eq!(refused(bench.event().await), late);
    }
}

#[tokio::test]
async fn a_large_head_or_hello_ends() {
    let mut bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[443]).await;
    let field = format!("X: {}\r\n", "x".repeat(1000));
    let many = format!("CONNECT api.test:443 HTTP/1.1\r\n{}", field.repeat(20));
    let long = format!("GET http://api.test/{} HTTP/1.1\r\n", "x".repeat(20_000));
    let fields = format!(
        "CONNECT api.test:443 HTTP/1.1\r\n{}\r\n",
        "X: y\r\n".repeat(101)
    );
    for request in [many, long, fields] {
        let answer = bench.ask(request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(matches!(refused(bench.event().await), Refusal::Misfit(_)));
    }
    let mut program = bench.program().await;
    program.connect("api.test:443").await;
    let mut host = origin.accept().await;
    let padded = super::bench::hello_with(&[(21, vec![0; 17_000])]);
    program
        .send(&super::bench::record(&padded[5..16_000]))
        .await;
    program.send(&super::bench::record(&padded[16_000..])).await;
    assert_eq!(host.rest().await, "");
    assert!(matches!(refused(bench.event().await), Refusal::Misfit(_)));
}

#[tokio::test]
async fn a_slow_resolver_ends() {
    let limits = EgressLimits {
        resolve_ms: 50,
        ..EgressLimits::default()
    };
    let bench = Bench::open(limits);
    let answer = bench.ask(b"CONNECT slow.test:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
    assert!(answer.contains("the look-up took too long"), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_ends() {
    let limits = EgressLimits {
        idle_ms: 80,
        ..EgressLimits::default()
    };
    let mut bench = Bench::open(limits);
    let origin = Origin::start(&bench, &[443, 80]).await;
    let mut program = bench.program().await;
    program.connect("api.test:443").await;
    program.send(&hello(Some("api.test"))).await;
    let mut host = origin.accept().await;
    host.read(hello(Some("api.test")).len()).await;
    assert_eq!(program.rest().await, "");
    let mut program = bench.program().await;
    program
        .send(b"GET http://api.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n")
        .await;
    let _silent = origin.accept().await;
    assert_eq!(program.rest().await, "");
    for _ in 0..2 {
        assert!(matches!(bench.event().await, EgressEvent::Opened { .. }));
        let EgressEvent::Closed { end, .. } = bench.event().await else {
            panic!()
        };
        assert_eq!(end, End::Idle);
    }
}

/// What one permission can carry off is bounded, over all connections to the target.
#[tokio::test]
async fn bytes_are_counted_for_each_target() {
    let limits = EgressLimits {
        up_bytes: Some(1000),
        ..EgressLimits::default()
    };
    let mut bench = Bench::open(limits);
    let origin = Origin::start(&bench, &[443]).await;
    let hello_of = |name| hello(Some(name));
    let first = hello_of("api.test");
    let mut program = bench.program().await;
    program.connect("api.test:443").await;
    program.send(&first).await;
    let mut host = origin.accept().await;
    host.read(first.len()).await;
    program.send(&vec![0; 600]).await;
    host.read(600).await;
    program.send(&vec![0; 600]).await;
    assert_eq!(
        host.rest().await,
        "",
        "what is over the bound does not pass"
    );
    assert!(matches!(bench.event().await, EgressEvent::Opened { .. }));
    let EgressEvent::Closed { end, traffic, .. } = bench.event().await else {
        panic!()
    };
    assert_eq!((end, traffic.up), (End::Spent, first.len() as u64 + 600));
    let answer = bench.ask(CONNECT).await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(refused(bench.event().await), Refusal::Spent);
    let mut other = bench.program().await;
    other.connect("other.test:443").await;
}

/// 1,000 at one time: as many as there is room for are served, the rest is told so, nobody hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_connections_are_bounded() {
    let limits = EgressLimits {
        connections: 32,
        ..EgressLimits::default()
    };
    let bench = std::sync::Arc::new(Bench::open(limits));
    let origin = Origin::start(&bench, &[443]).await;
    let serving = tokio::spawn(async move {
        let mut hosts = Vec::new();
        loop {
            hosts.push(origin.accept().await);
        }
    });
    let mut programs = tokio::task::JoinSet::new();
    for _ in 0..1000 {
        let bench = bench.clone();
        programs.spawn(async move {
            let mut program = bench.program().await;
            program.send(CONNECT).await;
            let mut answer = vec![0; 12];
            // One that is turned away may be cut off before it reads why.
            let read = program.0.read_exact(&mut answer).await;
            read.is_ok()
                .then(|| (String::from_utf8(answer).unwrap(), program))
        });
    }
    let mut held = Vec::new();
    let mut busy = 0;
    while let Some(done) = programs.join_next().await {
        match done.unwrap() {
            Some((answer, program)) if answer == "HTTP/1.1 200" => held.push(program),
            Some((answer, _)) => {
                assert_eq!(answer, "HTTP/1.1 503");
                busy += 1;
            }
            None => busy += 1,
        }
    }
    assert_eq!((held.len(), busy), (32, 968));
    let told = bench.gate.events.lock().unwrap().len();
    assert!(told <= 32, "{told} refusals were told one by one");
    serving.abort();
    drop(held);
    assert!(
        bench
            .dialled()
            .iter()
            .all(|to| *to == format!("{PUBLIC}:443"))
    );
}
