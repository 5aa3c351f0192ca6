//! Calls to a peer that reads no more.

use std::time::Duration;

use tokio::io::duplex;

use super::super::*;
use super::piped::{LIMIT, ask};

/// A call that meets a peer which reads no more says how that peer ended; one that lives on is deaf.
#[tokio::test(start_paused = true)]
async fn a_deaf_peer_is_told_from_one_that_ends() {
    let a_while = Duration::from_millis(300);
    for (ends, want) in [
        (true, "exited with code 4"),
        (false, "the other side reads no more"),
    ] {
        let (stdin, reads) = duplex(1 << 20);
        let (writes, stdout) = duplex(1 << 20);
        let hook = CloseHook::new(async { "exited with code 4".to_owned() });
        let (upstream, _events) = Upstream::connect(stdin, stdout, tokio::io::empty(), hook);
        drop(reads);
        let first = ask(&upstream, CallOptions::within(LIMIT));
        tokio::time::sleep(a_while).await;
        let late = ask(&upstream, CallOptions::within(LIMIT));
        tokio::time::sleep(a_while).await;
        assert!(!late.is_finished(), "it waits for the end");
        let writes = (!ends).then_some(writes);
        let got = late.await.unwrap().unwrap_err().to_string();
        assert!(got.contains(want), "{got}");
        drop(writes);
        let got = first.await.unwrap().unwrap_err().to_string();
        assert!(got.contains("exited with code 4"), "{got}");
    }
}
