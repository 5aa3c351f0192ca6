//! Limits while there is a hold.

use super::super::*;
use super::piped::{LIMIT, ask, connect, reply};

/// While a person is asked on the server's behalf, neither limit runs; afterwards what is left does.
#[tokio::test(start_paused = true)]
async fn limits_stand_still_while_there_is_a_hold() {
    let holds = Holds::default();
    for hard_max in [LIMIT, 3 * LIMIT] {
        let (upstream, _events, mut server) = connect();
        let upstream = upstream.paused_by(holds.clone());
        let start = tokio::time::Instant::now();
        let options = CallOptions {
            hard_max,
            ..CallOptions::within(LIMIT)
        };
        let call = ask(&upstream, options);
        server.line().await;
        tokio::time::sleep(LIMIT / 2).await;
        let hold = holds.begin();
        tokio::time::sleep(10 * LIMIT).await;
        assert!(!call.is_finished());
        drop(hold);
        reply(&call.await.unwrap(), "no answer and no progress within 1m");
        assert_eq!(start.elapsed().as_secs(), (11 * LIMIT).as_secs());
    }
}
