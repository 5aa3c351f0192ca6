//! Who is turned away, and with which reason.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::served::{Answer, Served, private, request, standing};
use crate::stage::Stage;

#[test]
fn who_may_not_knock_is_told_why() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let served = Served::start(&stage, &[]);
    let ping = request(1, "ping", &json!({}));
    let own = served.address.clone();
    let port = own.rsplit(':').next().unwrap();
    let check = |status: u16, fields: &[(&str, &str)]| {
        let answer = served.post(fields, &ping);
        assert_eq!(answer.status, status, "{fields:?}: {answer:?}");
        assert!(answer.field("access-control-allow-origin").is_none());
        assert!(
            !answer.body.contains("aaaa"),
            "a token in an answer: {answer:?}"
        );
    };
    let (here, local) = (format!("http://{own}"), format!("localhost:{port}"));
    let local_origin = format!("http://{local}");
    // Let in, but without a session.
    check(400, &[]);
    check(400, &[("Origin", &here)]);
    check(400, &[("Host", &local), ("Origin", &local_origin)]);
    // Another site, or a name that was led here.
    check(403, &[("Origin", "http://evil.example")]);
    check(403, &[("Origin", "null")]);
    check(403, &[("Origin", "http://localhost:1")]);
    check(403, &[("Origin", "https://127.0.0.1")]);
    check(403, &[("Host", "evil.example")]);
    check(403, &[("Host", &format!("evil.example:{port}"))]);
    check(403, &[("Host", &format!("localhost.evil.example:{port}"))]);
    check(403, &[("Sec-Fetch-Site", "cross-site")]);
    check(403, &[("Sec-Fetch-Site", "same-site")]);
    // No token, a wrong one, another scheme.
    check(401, &[("Authorization", "")]);
    check(401, &[("Authorization", "Bearer wrong")]);
    check(
        401,
        &[("Authorization", &format!("Basic {}", served.token))],
    );
    // What a page may send without asking first.
    check(415, &[("Content-Type", "text/plain")]);
    check(
        415,
        &[("Content-Type", "application/x-www-form-urlencoded")],
    );
    check(415, &[("Content-Encoding", "gzip")]);
    check(406, &[("Accept", "application/json")]);
    check(406, &[("Accept", "text/event-stream")]);
    // What two readers could read differently.
    for twice in [
        "Host",
        "Authorization",
        "Origin",
        "Content-Type",
        "Mcp-Session-Id",
    ] {
        let value = if twice == "Host" { own.as_str() } else { "x" };
        let answer = served.post(&[(twice, value), (twice, value)], &ping);
        assert_eq!(answer.status, 400, "{twice}: {answer:?}");
    }
    let bearer = format!("Bearer {}", served.token);
    for method in ["OPTIONS", "PUT", "PATCH", "TRACE"] {
        let answer = served.send(method, &standing(&bearer, &[]), "");
        assert_eq!(answer.status, 405, "{method}: {answer:?}");
    }
    let elsewhere =
        format!("GET /other HTTP/1.1\r\nHost: {own}\r\nAuthorization: {bearer}\r\n\r\n");
    assert_eq!(served.raw(elsewhere.as_bytes()).status, 404);
    let proxy =
        format!("GET http://{own}/mcp HTTP/1.1\r\nHost: {own}\r\nAuthorization: {bearer}\r\n\r\n");
    assert_eq!(served.raw(proxy.as_bytes()).status, 400);
}

#[test]
fn what_is_no_message_is_refused() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let served = Served::start(&stage, &[]);
    let session = served.session("2025-11-25");
    let bearer = format!("Bearer {}", served.token);
    let fields = standing(&bearer, &[("Mcp-Session-Id", &session)]);
    let check = |body: &str, status: u16, code: i64| {
        let answer = served.send("POST", &fields, body);
        assert_eq!(answer.status, status, "{body:.80}: {answer:?}");
        assert_eq!(
            answer.json()["error"]["code"],
            code,
            "{body:.80}: {answer:?}"
        );
    };
    check("", 400, -32700);
    check("{", 400, -32700);
    check(
        r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#,
        400,
        -32700,
    );
    check(r#"{"id":1,"method":"ping"}"#, 400, -32600);
    check("[]", 400, -32600);
    // Batches belong to another revision.
    check(r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, 400, -32600);
    let hello = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {} });
    check(&request(1, "initialize", &hello).to_string(), 400, -32600);
    let large = format!(
        "{}{}",
        " ".repeat(16 * 1024 * 1024),
        request(1, "ping", &json!({}))
    );
    let answer = served.send("POST", &fields, &large);
    // It may be cut off before it has sent everything.
    assert!([0, 413].contains(&answer.status), "{answer:?}");
    let ping = request(1, "ping", &json!({}));
    let answer = served.post(
        &[
            ("Mcp-Session-Id", &session),
            ("MCP-Protocol-Version", "1999-01-01"),
        ],
        &ping,
    );
    assert_eq!(
        (answer.status, answer.json()["error"]["code"].as_i64()),
        (400, Some(-32022))
    );

    let session = served.session("2025-03-26");
    let batch = json!([request(1, "ping", &json!({})), request(2, "ping", &json!({})), { "jsonrpc": "2.0", "method": "notifications/none" }]);
    let answer = served.post(&[("Mcp-Session-Id", &session)], &batch);
    let ids: Vec<Value> = answer
        .events()
        .iter()
        .map(|answer| answer["id"].clone())
        .collect();
    assert_eq!(ids, [json!(1), json!(2)], "{answer:?}");
}

/// What two readers could take for two requests is read by none.
#[test]
fn nothing_is_smuggled() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let served = Served::start(&stage, &[]);
    let (host, bearer) = (&served.address, format!("Bearer {}", served.token));
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nAuthorization: {bearer}\r\nContent-Type: application/json\r\nAccept: */*\r\n"
    );
    let hidden = format!("GET /mcp HTTP/1.1\r\nHost: {host}\r\n\r\n");
    for (fields, body) in [
        ("Content-Length: 5\r\nContent-Length: 6\r\n", "hello"),
        ("Content-Length: +5\r\n", "hello"),
        ("Transfer-Encoding: gzip\r\n", "hello"),
        ("Transfer-Encoding: chunked, gzip\r\n", "hello"),
        (
            "Transfer-Encoding : chunked\r\nContent-Length: 5\r\n",
            "hello",
        ),
        ("Content-Length: 5\r\n folded\r\n", "hello"),
        ("X: a\rb\r\nContent-Length: 5\r\n", "hello"),
        ("Bad Name: x\r\nContent-Length: 5\r\n", "hello"),
    ] {
        let answer = served.raw(format!("{head}{fields}\r\n{body}{hidden}").as_bytes());
        assert!([0, 400].contains(&answer.status), "{fields:?}: {answer:?}");
    }
    // Both ways to say a length: chunks count, and nothing more is read from that connection.
    let both =
        format!("{head}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}");
    let mut stream = served.connect();
    stream.write_all(both.as_bytes()).unwrap();
    let mut all = String::new();
    let _ = stream.read_to_string(&mut all);
    assert_eq!(all.matches("HTTP/1.1 ").count(), 1, "{all}");
    assert!(all.contains("connection: close"), "{all}");
    // Too many fields, too long a head.
    let many: String = (0..200).map(|n| format!("X-{n}: y\r\n")).collect();
    let answer = served.raw(format!("{head}{many}\r\n").as_bytes());
    assert!([0, 400, 431].contains(&answer.status), "{answer:?}");
    let long = format!("X: {}\r\n", "y".repeat(200_000));
    let answer = served.raw(format!("{head}{long}\r\n").as_bytes());
    assert!([0, 400, 431].contains(&answer.status), "{answer:?}");
    // A head in single bytes is one head.
    let mut stream = served.connect();
    for byte in format!("{head}Content-Length: 2\r\n\r\n{{}}").as_bytes() {
        stream.write_all(&[*byte]).unwrap();
    }
    assert_eq!(Answer::read(stream).status, 400);
    assert_eq!(
        served.raw(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").status / 100 % 4,
        0
    );
}

/// Whoever only holds connections keeps nobody out.
#[test]
fn idle_connections_keep_nobody_out() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let served = Served::start(&stage, &[]);
    let session = served.session("2025-11-25");
    let mut held = Vec::new();
    for n in 0..1_000 {
        let Ok(mut stream) = TcpStream::connect(&served.address) else {
            println!("only {n} connections could be made here");
            break;
        };
        // Half of them have begun a head.
        if n % 2 == 0 {
            let _ = stream.write_all(b"POST /mcp HTTP/1.1\r\nHost: ");
        }
        held.push(stream);
    }
    assert!(held.len() >= 300, "{}", held.len());
    let answer = served.post(
        &[("Mcp-Session-Id", &session)],
        &request(1, "ping", &json!({})),
    );
    assert_eq!(answer.status, 200, "{answer:?}");
}

#[test]
fn addresses_and_tokens_are_refused_with_a_reason() {
    let stage = Stage::new();
    stage.servers(&json!({}));
    let check = |args: &[&str], want: &str| {
        let (code, said) = stage.says(&[&["serve", "--http"], args].concat());
        assert_ne!(code, Some(0), "{args:?}");
        assert!(said.contains(want), "{args:?}: {said}");
    };
    check(&["0.0.0.0:0"], "--token-file");
    check(&["0.0.0.0:0", "--no-token"], "--token-file");
    stage.write("home/tokens", &format!("me {}\n", "c".repeat(40)));
    let tokens = stage.home.join("tokens").to_string_lossy().into_owned();
    #[cfg(unix)]
    check(&["127.0.0.1:0", "--token-file", &tokens], "chmod 600");
    private(&stage.home.join("tokens"));
    check(&["0.0.0.0:0", "--token-file", &tokens], "--host NAME");
    for (text, want) in [
        ("", "holds no token"),
        ("me short\n", "line 1"),
        ("a\n", "line 1"),
    ] {
        stage.write("home/tokens", text);
        check(&["127.0.0.1:0", "--token-file", &tokens], want);
    }
    let twice = format!("me {0}\nme {0}\n", "c".repeat(40));
    stage.write("home/tokens", &twice);
    check(&["127.0.0.1:0", "--token-file", &tokens], "twice");
}
