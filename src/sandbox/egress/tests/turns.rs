//! What happens in time: questions, programs that leave, policies that change, an end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc};
use tokio::time::timeout;

use super::bench::{Bench, ESTABLISHED, Origin, PATIENCE, hello};
use crate::sandbox::egress::client::Client;
use crate::sandbox::egress::{EgressEvent, EgressLimits, End, Refusal, Terms, Verdict};

const CONNECT: &[u8] = b"CONNECT api.test:443 HTTP/1.1\r\n\r\n";

/// A gate that waits for a person: each verdict takes one permit.
fn asking() -> (Bench, Arc<Semaphore>, mpsc::UnboundedReceiver<&'static str>) {
    struct Withdrawn(mpsc::UnboundedSender<&'static str>);
    impl Drop for Withdrawn {
        fn drop(&mut self) {
            let _ = self.0.send("over");
        }
    }
    let answers = Arc::new(Semaphore::new(0));
    let (told, heard) = mpsc::unbounded_channel();
    let waiting = Arc::clone(&answers);
    let bench = Bench::new(EgressLimits::default(), move |_| {
        let waiting = Arc::clone(&waiting);
        let told = told.clone();
        Box::pin(async move {
            told.send("asked").unwrap();
            let _withdrawn = Withdrawn(told);
            waiting.acquire().await.unwrap().forget();
            Verdict::Allow(Terms::default())
        })
    });
    (bench, answers, heard)
}

async fn next<T>(heard: &mut mpsc::UnboundedReceiver<T>) -> T {
    timeout(PATIENCE, heard.recv()).await.unwrap().unwrap()
}

#[tokio::test]
async fn a_connection_is_held_while_a_person_is_asked() {
    let (bench, answers, mut heard) = asking();
    let origin = Origin::start(&bench, &[443]).await;
    let mut program = bench.program().await;
    program.send(CONNECT).await;
    program.send(&hello(Some("api.test"))).await;
    assert_eq!(next(&mut heard).await, "asked");
    assert_eq!(bench.looked_up(), [""; 0]);
    answers.add_permits(1);
    assert_eq!(
        program.read(ESTABLISHED.len()).await,
        ESTABLISHED.as_bytes()
    );
    let mut host = origin.accept().await;
    host.read(hello(Some("api.test")).len()).await;
}

/// A question to nobody's use is withdrawn, and its answer opens nothing.
#[tokio::test]
async fn a_program_that_leaves_withdraws_its_question() {
    let (mut bench, answers, mut heard) = asking();
    for early in [&b""[..], &[0x16; 900]] {
        let mut program = bench.program().await;
        program.send(CONNECT).await;
        program.send(early).await;
        assert_eq!(next(&mut heard).await, "asked");
        drop(program);
        assert_eq!(next(&mut heard).await, "over");
        let EgressEvent::Refused { refusal, .. } = bench.event().await else {
            panic!()
        };
        assert_eq!(refusal, Refusal::Left);
    }
    answers.add_permits(2);
    assert_eq!(bench.looked_up(), [""; 0]);
    assert_eq!(bench.proxy.registry.live(), []);
}

/// What a waiting program sends is held to a bound; the rest waits in its own socket.
#[tokio::test]
async fn a_waiting_program_is_not_read_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut program = TcpStream::connect(listener.local_addr().unwrap())
        .await
        .unwrap();
    let mut client = Client::new(listener.accept().await.unwrap().0);
    let sending = tokio::spawn(async move { program.write_all(&vec![0; 32 << 20]).await });
    let bound = 64 << 10;
    let reading = async {
        while client.held().len() < bound {
            let moment = Duration::from_millis(20);
            assert!(
                timeout(moment, client.left()).await.is_err(),
                "it did not leave"
            );
        }
        let _ = timeout(Duration::from_millis(100), client.left()).await;
    };
    timeout(PATIENCE, reading).await.unwrap();
    assert_eq!(client.held().len(), bound);
    sending.abort();
}

#[tokio::test]
async fn a_cut_ends_what_is_no_longer_allowed() {
    let mut bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[443]).await;
    let mut kept = bench.program().await;
    kept.connect("api.test:443").await;
    kept.send(&hello(Some("api.test"))).await;
    let mut kept_host = origin.accept().await;
    kept_host.read(hello(Some("api.test")).len()).await;
    let mut lost = bench.program().await;
    lost.connect("other.test:443").await;
    lost.send(&hello(Some("other.test"))).await;
    let mut lost_host = origin.accept().await;
    lost_host.read(hello(Some("other.test")).len()).await;
    for _ in 0..2 {
        assert!(matches!(bench.event().await, EgressEvent::Opened { .. }));
    }
    assert_eq!(bench.proxy.registry.live().len(), 2);
    bench
        .proxy
        .cut(|wanted| wanted.target.host.as_str() == "api.test");
    assert_eq!(lost.rest().await, "");
    assert_eq!(lost_host.rest().await, "");
    let EgressEvent::Closed {
        wanted,
        end,
        traffic,
    } = bench.event().await
    else {
        panic!()
    };
    assert_eq!(
        (wanted.target.to_string().as_str(), end),
        ("other.test:443", End::Cut)
    );
    assert_eq!(traffic.up, hello(Some("other.test")).len() as u64);
    assert_eq!(bench.proxy.registry.live().len(), 1);
    kept.send(b"still").await;
    assert_eq!(kept_host.read(5).await, b"still");
}

/// A tunnel that stands but has carried nothing is cut too.
#[tokio::test]
async fn a_cut_ends_what_has_not_begun() {
    let mut bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[443]).await;
    let mut program = bench.program().await;
    program.connect("api.test:443").await;
    let mut host = origin.accept().await;
    bench.proxy.cut(|_| false);
    assert_eq!(program.rest().await, "");
    assert_eq!(host.rest().await, "");
    let EgressEvent::Refused { refusal, .. } = bench.event().await else {
        panic!()
    };
    assert_eq!(refusal, Refusal::Cut);
}

/// A yes under a policy that is gone counts for nothing: it is asked for again.
#[tokio::test]
async fn a_verdict_that_a_cut_overtakes_is_asked_for_again() {
    let allowed = Arc::new(AtomicBool::new(true));
    let (asked, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let calls = Arc::new(AtomicUsize::new(0));
    let (a, b, c, d) = (allowed.clone(), asked.clone(), go.clone(), calls.clone());
    let bench = Bench::new(EgressLimits::default(), move |_| {
        let (allowed, asked, go) = (a.clone(), b.clone(), c.clone());
        d.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let now = allowed.load(Ordering::SeqCst);
            asked.notify_one();
            go.notified().await;
            let no = Verdict::Deny {
                reason: "not any more".to_owned(),
            };
            match now {
                true => Verdict::Allow(Terms::default()),
                false => no,
            }
        })
    });
    let mut program = bench.program().await;
    program.send(CONNECT).await;
    timeout(PATIENCE, asked.notified()).await.unwrap();
    allowed.store(false, Ordering::SeqCst);
    bench.proxy.cut(|_| true);
    go.notify_one();
    timeout(PATIENCE, asked.notified()).await.unwrap();
    go.notify_one();
    let answer = program.rest().await;
    assert!(answer.ends_with("api.test:443: not any more\n"), "{answer}");
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    assert_eq!(bench.dialled(), [""; 0]);
}

#[tokio::test]
async fn closing_ends_everything_with_its_report() {
    let (mut bench, answers, mut heard) = asking();
    let origin = Origin::start(&bench, &[443]).await;
    let mut standing = bench.program().await;
    standing.send(CONNECT).await;
    answers.add_permits(1);
    standing.read(ESTABLISHED.len()).await;
    standing.send(&hello(Some("api.test"))).await;
    let mut host = origin.accept().await;
    host.read(hello(Some("api.test")).len()).await;
    assert!(matches!(bench.event().await, EgressEvent::Opened { .. }));
    let mut waiting = bench.program().await;
    waiting.send(CONNECT).await;
    for want in ["asked", "over", "asked"] {
        assert_eq!(next(&mut heard).await, want);
    }
    let silent = bench.program().await;
    let at = bench.at;
    let events = bench.gate.clone();
    bench.proxy.close().await;
    assert_eq!(standing.rest().await, "");
    assert_eq!(host.rest().await, "");
    let answer = waiting.rest().await;
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    drop(silent);
    assert!(
        TcpStream::connect(at).await.is_err(),
        "a proxy that is gone accepts nothing"
    );
    let events = events.events.lock().unwrap();
    let closed = events.iter().filter(|event| {
        matches!(
            event,
            EgressEvent::Closed {
                end: End::Closed,
                ..
            }
        )
    });
    assert_eq!(closed.count(), 1);
}

/// A proxy that dies takes the network with it.
#[tokio::test]
async fn dropping_breaks_everything_off() {
    let bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[443]).await;
    let mut program = bench.program().await;
    program.connect("api.test:443").await;
    let mut host = origin.accept().await;
    let at = bench.at;
    drop(bench);
    assert_eq!(program.rest().await, "");
    assert_eq!(host.rest().await, "");
    assert!(TcpStream::connect(at).await.is_err());
}

/// A proxy that ends though nobody closed it says so once, and lets nothing out any more.
#[tokio::test]
async fn a_killed_proxy_says_so() {
    let mut bench = Bench::open(EgressLimits::default());
    let origin = Origin::start(&bench, &[443]).await;
    let mut standing = bench.program().await;
    standing.connect("api.test:443").await;
    let mut host = origin.accept().await;
    standing.send(&hello(Some("api.test"))).await;
    assert!(matches!(bench.event().await, EgressEvent::Opened { .. }));
    bench.proxy.kill();
    assert_eq!(bench.event().await, EgressEvent::Lost);
    host.read(hello(Some("api.test")).len()).await;
    assert_eq!(host.rest().await, "");
    assert_eq!(standing.rest().await, "");
    assert!(TcpStream::connect(bench.at).await.is_err());
}

/// An orderly end is no loss.
#[tokio::test]
async fn a_closed_proxy_says_nothing() {
    let bench = Bench::open(EgressLimits::default());
    let gate = bench.gate.clone();
    bench.proxy.close().await;
    assert_eq!(*gate.events.lock().unwrap(), []);
    let bench = Bench::open(EgressLimits::default());
    let gate = bench.gate.clone();
    drop(bench.proxy);
    while TcpStream::connect(bench.at).await.is_ok() {}
    assert_eq!(*gate.events.lock().unwrap(), []);
}
