//! Limits while there is a hold.

use std::sync::{Arc, Mutex};

use super::super::*;
use super::piped::{LIMIT, ask, connect, reply};
use crate::protocol::json::Json;

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

/// What Creance reports itself comes after what the server reported last, and before what it reports
/// next.
#[tokio::test(start_paused = true)]
async fn reports_go_on_from_the_servers() {
    let told = Arc::new(Mutex::new(Vec::new()));
    let hears = Arc::clone(&told);
    let progress = Progress::Report {
        token: Json::String("t".to_owned()),
        report: Report::new(move |params| {
            let number = params.get("progress").unwrap().to_string();
            hears.lock().unwrap().push(number);
        }),
    };
    let (upstream, _events, mut server) = connect();
    let options = CallOptions {
        progress: progress.clone(),
        ..CallOptions::within(LIMIT)
    };
    let call = ask(&upstream, options);
    server.line().await;
    progress.say("asked");
    for number in ["0.5", "7", "1e300"] {
        let note = "notifications/progress";
        let params = format!(r#"{{"progressToken":1,"progress":{number}}}"#);
        let line = format!(r#"{{"jsonrpc":"2.0","method":"{note}","params":{params}}}"#);
        server.say(&line).await;
        while !told.lock().unwrap().last().unwrap().starts_with(number) {
            tokio::task::yield_now().await;
        }
        progress.say("asked");
        progress.say("asked");
    }
    server.say(r#"{"jsonrpc":"2.0","id":1,"result":1}"#).await;
    reply(&call.await.unwrap(), "1");
    // Nothing is more than the last by a thousandth: then it is not said.
    let want = [
        "0.001", "0.5", "0.501", "0.502", "7", "7.001", "7.002", "1e300",
    ];
    assert_eq!(*told.lock().unwrap(), want);
}
