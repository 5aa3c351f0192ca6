//! Tables of the front: tokens, streams, and lines of the gateway.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Bytes;
use tokio::sync::Notify;

use super::route::{self, Line, SUBSCRIPTION};
use super::stream::{Excess, First, Stream, place};
use super::tokens::Tokens;
use crate::protocol::json::Json;

#[test]
fn tokens_are_read_and_found() {
    let (one, two) = ("1".repeat(32), "2".repeat(512));
    let text = format!("# names\n\n  me {one}\nbuild@ci {two}\n");
    let tokens = Tokens::read(&text).unwrap();
    let owner = |token: &str| tokens.owner(token).map(|owner| owner.as_str().to_owned());
    assert_eq!(owner(&one).as_deref(), Some("me"));
    assert_eq!(owner(&two).as_deref(), Some("build@ci"));
    for wrong in ["", "me", &"1".repeat(31), &format!("{one} ")] {
        assert_eq!(owner(wrong), None, "{wrong}");
    }
    let shown = format!("{tokens:?}");
    assert!(!shown.contains(&one) && shown.contains("me"), "{shown}");
    for (text, why) in [
        (String::new(), "no token"),
        ("me short".to_owned(), "line 1: a token has"),
        (format!("me {one} more"), "line 1: a line is"),
        (format!("m/e {one}"), "line 1: a name has"),
        (
            format!("me {one}\n\nme {two}"),
            "line 3: the name stands there twice",
        ),
    ] {
        let error = Tokens::read(&text).unwrap_err();
        assert!(error.contains(why), "{error}");
        assert!(!error.contains(&one) && !error.contains("short"), "{error}");
    }
}

#[test]
fn lines_find_their_streams() {
    let of = |line: &str| Line::of(line.as_bytes());
    let note = |method: &str, params: &str| {
        format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{params}}}"#)
    };
    assert_eq!(
        of(r#"{"jsonrpc":"2.0","id":7,"result":{"id":8,"method":"x"}}"#),
        Some(Line::Answer(7))
    );
    assert_eq!(
        of(r#"{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}"#),
        Some(Line::Answer(7))
    );
    assert_eq!(
        of(r#"{"jsonrpc":"2.0","id":7,"method":"roots/list","params":{"result":1}}"#),
        Some(Line::Request)
    );
    assert_eq!(
        of(&note(
            "notifications/progress",
            r#"{"progressToken":5,"progress":1}"#
        )),
        Some(Line::Progress(5))
    );
    assert_eq!(
        of(&note("notifications/progress", r#"{"progress":1}"#)),
        None
    );
    assert_eq!(of(&note("notifications/message", "{}")), Some(Line::Log));
    assert_eq!(
        of(&note("notifications/tools/list_changed", "{}")),
        Some(Line::Note)
    );
    let tagged = format!(r#"{{"_meta":{{"{SUBSCRIPTION}":9}}}}"#);
    assert_eq!(
        of(&note("notifications/tools/list_changed", &tagged)),
        Some(Line::Subscribed(9))
    );
    assert_eq!(of("not json"), None);

    let answer = b"{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"n\":1e400}}\n";
    let own = route::under(answer, 7, &Json::from("x\"7")).unwrap();
    assert_eq!(
        own,
        b"{\"jsonrpc\":\"2.0\",\"id\":\"x\\\"7\",\"result\":{\"n\":1e400}}\n"
    );
    assert_eq!(route::under(answer, 70, &Json::from("x")), None);
    let progress = note(
        "notifications/progress",
        r#"{"progressToken":5,"progress":1.50}"#,
    );
    let named = route::named(progress.as_bytes(), ("progressToken", &Json::from("t"))).unwrap();
    assert_eq!(
        String::from_utf8(named).unwrap().trim(),
        progress.replace(":5,", r#":"t","#)
    );
}

#[test]
fn places_are_read() {
    for (text, want) in [
        ("3-0", Some((3, 1))),
        ("3-0s", Some((3, 0))),
        ("0-41", Some((0, 42))),
        ("", None),
        ("3", None),
        ("3-x", None),
        ("3-18446744073709551615", None),
    ] {
        assert_eq!(place(text), want, "{text}");
    }
}

/// A stream gives each event once, and again to a reader that comes back for it.
#[tokio::test(start_paused = true)]
async fn a_stream_is_taken_up_again() {
    let stream = Stream::new(4, Excess::Ends, Arc::new(Notify::new()));
    let mut reader = stream.read();
    reader.greet();
    stream.say(Bytes::from_static(b"{\"n\":0}\n"));
    stream.say(Bytes::from_static(b"{\"n\":1}\n"));
    let mut read = Vec::new();
    for _ in 0..3 {
        read.push(String::from_utf8(reader.next().await.unwrap().to_vec()).unwrap());
    }
    assert!(
        read[0].starts_with("id: 4-0s\n") && read[0].ends_with("\ndata: \n\n"),
        "{read:?}"
    );
    assert_eq!(read[1], "id: 4-0\nevent: message\ndata: {\"n\":0}\n\n");
    assert_eq!(read[2], "id: 4-1\nevent: message\ndata: {\"n\":1}\n\n");
    drop(reader);
    assert!(stream.unread_for().is_some());
    stream.conclude(Bytes::from_static(b"{\"n\":2}\n"));
    let mut again = stream.resume(1).unwrap();
    assert!(stream.unread_for().is_none());
    for n in [1, 2] {
        let event = again.next().await.unwrap();
        assert!(event.ends_with(format!("{{\"n\":{n}}}\n\n").as_bytes()));
    }
    assert_eq!(again.next().await, None);
    assert!(stream.resume(4).is_none(), "nothing was said there yet");
}

/// A newer reader ends the one before it, and silence is filled.
#[tokio::test(start_paused = true)]
async fn one_reads_at_a_time() {
    let stream = Stream::new(1, Excess::Forgets, Arc::new(Notify::new()));
    let mut first = stream.read();
    assert_eq!(first.next().await.unwrap(), ": still here\n\n");
    let mut second = stream.read();
    assert_eq!(first.next().await, None);
    drop(first);
    assert!(stream.unread_for().is_none(), "the second one reads");
    stream.say(Bytes::from_static(b"{}\n"));
    assert!(second.next().await.unwrap().ends_with(b"data: {}\n\n"));
}

#[tokio::test(start_paused = true)]
async fn a_lone_answer_needs_no_stream() {
    let patience = Duration::from_secs(1);
    let new = || Stream::new(1, Excess::Ends, Arc::new(Notify::new()));
    let stream = new();
    let mut reader = stream.read();
    assert_eq!(
        reader.first(patience).await,
        First::Streams,
        "it takes long"
    );
    stream.conclude(Bytes::from_static(b"{}"));
    assert_eq!(
        reader.first(patience).await,
        First::Whole(Bytes::from_static(b"{}"))
    );
    let stream = new();
    let mut reader = stream.read();
    stream.say(Bytes::from_static(b"{}"));
    stream.conclude(Bytes::from_static(b"{}"));
    assert_eq!(reader.first(patience).await, First::Streams);
}

/// What waits for nobody does not grow without end.
#[tokio::test]
async fn streams_are_bounded() {
    let megabyte = Bytes::from(vec![b'x'; 1024 * 1024]);
    let stream = Stream::new(0, Excess::Forgets, Arc::new(Notify::new()));
    for _ in 0..100 {
        stream.say(megabyte.clone());
    }
    let mut reader = stream.read();
    assert!(reader.next().await.unwrap().starts_with(b"id: 0-99\n"));
    let stream = Stream::new(1, Excess::Ends, Arc::new(Notify::new()));
    for _ in 0..100 {
        stream.say(megabyte.clone());
    }
    let mut reader = stream.read();
    let mut count = 0;
    while reader.next().await.is_some() {
        count += 1;
    }
    assert_eq!(count, 37);
}
