//! MCP over HTTP: each request has an answer, whatever the server does.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::time::timeout;

use crate::address::Reach;
use crate::http::mcp::{Endpoint, Kind, Open, open};
use crate::http::{Client, Leads, Plain, StaticFields, Terms};

use super::played::{Came, Played, Reply, STREAM, answer, events, json};

struct Talk {
    to_server: Option<DuplexStream>,
    from_server: BufReader<DuplexStream>,
    open: crate::http::mcp::Connection,
}

impl Talk {
    fn with(server: &Played, kind: Kind) -> Self {
        let url = server.url("/mcp/path?key=hidden");
        let terms = Terms {
            leads: Leads::To(Reach::Loopback),
            plain: Plain::ToThisMachine,
            authority: None,
        };
        let client = Client::new(&url, vec!["127.0.0.1".parse().unwrap()], &terms).unwrap();
        let fields = vec![("authorization".to_owned(), "Bearer t0ken".to_owned())];
        let Open {
            to_server,
            from_server,
            connection,
        } = open(Endpoint {
            url,
            kind,
            client,
            authorise: Arc::new(StaticFields::new(fields)),
        });
        Self {
            to_server: Some(to_server),
            from_server: BufReader::new(from_server),
            open: connection,
        }
    }

    async fn say(&mut self, line: &str) {
        let line = format!("{line}\n");
        let input = self.to_server.as_mut().unwrap();
        input.write_all(line.as_bytes()).await.unwrap();
    }

    async fn hear(&mut self) -> String {
        let mut line = String::new();
        let heard = self.from_server.read_line(&mut line);
        timeout(Duration::from_secs(20), heard)
            .await
            .expect("an answer")
            .unwrap();
        line
    }

    async fn ask(&mut self, method: &str) -> String {
        self.say(&format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#
        ))
        .await;
        self.hear().await
    }
}

/// What a request hears of a server that plays this part.
async fn heard(part: impl Fn(&Came) -> Reply + Send + Sync + 'static) -> String {
    let server = Played::start(part).await;
    let mut talk = Talk::with(&server, Kind::Streamable);
    let heard = talk.ask("tools/list").await;
    // Of an address only the origin is said.
    for secret in ["hidden", "/mcp/path", "t0ken"] {
        assert!(!heard.contains(secret), "{heard}");
    }
    heard
}

const DONE: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"n":1.0}}"#;

#[tokio::test]
async fn answers_pass_as_they_are() {
    let pretty = "{\r\n  \"jsonrpc\": \"2.0\",\n  \"id\": 7,\n  \"result\": {\"big\": 123456789012345678901}\n}";
    let got = heard(move |_| json(pretty)).await;
    assert!(
        got.contains(r#""result": {"big": 123456789012345678901}"#),
        "{got}"
    );
    let batch = format!(r#"[{{"jsonrpc":"2.0","method":"notifications/message"}},{DONE}]"#);
    let same = format!("{batch}\n");
    assert_eq!(heard(move |_| json(&batch)).await, same);
    let got = heard(|_| events(&format!(": hello\r\n\r\nid: 1\r\ndata: {DONE}\r\n\r\n"))).await;
    assert_eq!(got, format!("{DONE}\n"));
    let refused = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32020,"message":"no"}}"#;
    let fields = "content-type: application/json\r\n";
    let got = heard(move |_| answer("400 Bad Request", fields, refused)).await;
    assert_eq!(got, format!("{refused}\n"));
}

#[tokio::test]
async fn whatever_goes_wrong_is_an_answer() {
    let check = async |reply: Reply, want: &str| {
        let got = heard(move |_| reply.clone()).await;
        assert!(
            got.contains(r#""id":7,"error""#) && got.contains(want),
            "{want}: {got}"
        );
        assert!(got.contains("http://127.0.0.1:"), "{got}");
    };
    let to_metadata = "location: http://169.254.169.254/latest?t=hidden\r\n";
    check(
        answer("307 Temporary Redirect", to_metadata, ""),
        "http://169.254.169.254 (status 307), which is not followed",
    )
    .await;
    check(answer("500 Oops", "", "hidden"), "status 500").await;
    check(answer("202 Accepted", "", ""), "no answer").await;
    check(
        answer("200 OK", "content-type: text/html\r\n", "<p>"),
        "`text/html`",
    )
    .await;
    check(events(""), "ended before the answer").await;
    check(Reply::Raw(b"SSH-2.0\r\n".to_vec()), "broke off").await;
    check(Reply::Raw(Vec::new()), "broke off").await;
    let coded = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    check(answer("200 OK", coded, "x"), "compressed").await;
    let large = Reply::Endless(
        format!("{STREAM}data: ").into_bytes(),
        vec![b'x'; 64 * 1024],
    );
    check(large, "more than 16777216 bytes").await;
    let mut long = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n".to_vec();
    long.extend(b"content-length: 17000000\r\n\r\n");
    check(Reply::Hang(long), "more than 16777216 bytes").await;
}

#[tokio::test]
async fn a_stream_that_says_nothing_ends_with_the_call() {
    let server = Played::start(|came| match came.body.contains("cancelled") {
        true => answer("202 Accepted", "", ""),
        false => Reply::Endless(STREAM.into(), b": still here\n\n".to_vec()),
    })
    .await;
    let mut talk = Talk::with(&server, Kind::Streamable);
    talk.say(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)
        .await;
    talk.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#)
        .await;
    drop(talk.to_server.take());
    // Nothing was heard, and it ends.
    assert_eq!(talk.hear().await, "");
}

#[tokio::test]
async fn a_broken_stream_is_picked_up_where_it_broke() {
    let server = Played::start(|came| match came.head.contains("last-event-id: e1") {
        true => events(&format!("id: e2\ndata: {DONE}\n\n")),
        false => events("id: e1\nretry: 10\ndata:\n\n"),
    })
    .await;
    let mut talk = Talk::with(&server, Kind::Streamable);
    assert_eq!(talk.ask("tools/call").await, format!("{DONE}\n"));
}

#[tokio::test]
async fn a_session_is_kept_and_ended() {
    let server = Played::start(|came| {
        let fields = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
        let hello = r#"{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"2025-06-18"}}"#;
        match () {
            () if came.head.starts_with("get") => answer("405 No", "", ""),
            () if came.head.starts_with("delete") => answer("200 OK", "", ""),
            () if came.body.contains("\"initialize\"") => answer("200 OK", fields, hello),
            () if came.body.contains("notifications/") => answer("202 Accepted", "", ""),
            () => json(DONE),
        }
    })
    .await;
    let mut talk = Talk::with(&server, Kind::Streamable);
    talk.ask("initialize").await;
    talk.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
        .await;
    talk.ask("tools/list").await;
    drop(talk.to_server.take());
    talk.open.ended().await;
    let came = server.came();
    assert!(!came[0].head.contains("mcp-session-id"));
    for later in &came[1..] {
        let head = &later.head;
        assert!(head.contains("mcp-session-id: s-1"), "{head}");
        assert!(head.contains("mcp-protocol-version: 2025-06-18"), "{head}");
        assert!(head.contains("authorization: bearer t0ken"), "{head}");
    }
    assert!(came.iter().any(|came| came.head.starts_with("delete")));
}

#[tokio::test]
async fn a_session_that_is_gone_ends_the_connection() {
    let server = Played::start(|came| {
        let fields = "content-type: application/json\r\nmcp-session-id: s-1\r\n";
        match came.body.contains("\"initialize\"") {
            true => answer("200 OK", fields, DONE),
            false => answer("404 Not Found", "", ""),
        }
    })
    .await;
    let mut talk = Talk::with(&server, Kind::Streamable);
    talk.ask("initialize").await;
    assert!(talk.ask("tools/list").await.contains("404"));
    assert_eq!(talk.hear().await, "");
    assert!(talk.open.story().await.contains("ended the session"));
}

#[tokio::test]
async fn a_sign_in_that_is_wanted_is_kept() {
    let server = Played::start(|_| {
        let challenge = "www-authenticate: Bearer resource_metadata=\"https://h.test/x\"\r\n";
        answer("401 Unauthorized", challenge, "")
    })
    .await;
    let mut talk = Talk::with(&server, Kind::Streamable);
    assert!(talk.ask("initialize").await.contains("needs a sign-in"));
    let challenge = talk.open.signs().challenge().unwrap();
    assert_eq!(challenge.status, 401);
    assert_eq!(
        challenge.authenticate,
        ["Bearer resource_metadata=\"https://h.test/x\""]
    );
}

#[tokio::test]
async fn the_older_transport_posts_to_its_own_host_alone() {
    let part = |endpoint: &'static str| {
        move |came: &Came| match came.head.starts_with("get") {
            true => Reply::Hang(
                format!("{STREAM}event: endpoint\ndata: {endpoint}\n\ndata: {DONE}\n\n").into(),
            ),
            false => answer("202 Accepted", "", ""),
        }
    };
    let server = Played::start(part("/post?session=1")).await;
    let mut talk = Talk::with(&server, Kind::Events);
    assert_eq!(talk.ask("tools/list").await, format!("{DONE}\n"));
    let server = Played::start(part("http://169.254.169.254/post")).await;
    let mut talk = Talk::with(&server, Kind::Events);
    assert_eq!(talk.ask("tools/list").await, "");
    assert!(talk.open.story().await.contains("another host"));
}

#[tokio::test]
async fn messages_of_2026_07_28_say_it_in_their_fields() {
    let server = Played::start(|_| json(DONE)).await;
    let mut talk = Talk::with(&server, Kind::Streamable);
    talk.say(
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a tool é","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#,
    )
    .await;
    talk.hear().await;
    let head = &server.came()[0].head;
    assert!(head.contains("mcp-protocol-version: 2026-07-28"), "{head}");
    assert!(head.contains("mcp-method: tools/call"), "{head}");
    assert!(head.contains("mcp-name: =?base64?ysb0b29simop?="), "{head}");
    assert!(!head.contains("mcp-session-id"), "{head}");
}
