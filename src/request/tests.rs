//! What an answer covers: exactly what it was given about, and nothing that changed since.

use serde_json::json;

use super::ledger::belongs;
use super::*;
use crate::digest::Digest;

fn server() -> ServerFacts {
    ServerFacts {
        id: ServerId::new(Source::User, "files"),
        transport: Transport::Stdio,
        pin: Pin::Matched,
        tools_pin: Pin::Matched,
        sandboxed: true,
        subject: "user/files".to_owned(),
        itself: Digest::of("server"),
        tools: Digest::of("tools"),
    }
}

fn call() -> CallTool {
    CallTool {
        tool: ToolFacts {
            server: server(),
            name: "read".to_owned(),
            digest: Digest::of("tool"),
            claims: ToolClaims::default(),
        },
        arguments: json!({}),
        arguments_digest: Digest::of("arguments"),
        arguments_bytes: 2,
        valid: true,
        secrets: false,
        paths: Vec::new(),
        option_like: Vec::new(),
        calls_this_session: 0,
    }
}

/// Which of the answers about a call (this call, the tool, all tools) still hold after a change.
#[track_caller]
fn check(change: impl FnOnce(&mut CallTool, &mut Agent), want: [bool; 3]) {
    let (mut call, mut agent) = (call(), Agent::new("a", "me"));
    let before = call.keys(&agent);
    change(&mut call, &mut agent);
    let after = call.keys(&agent);
    let held: Vec<bool> = before.iter().map(|key| after.contains(key)).collect();
    assert_eq!(held, want);
}

#[test]
fn an_answer_about_a_call_widens_no_further_than_its_scope() {
    check(|_, _| {}, [true; 3]);
    check(|call, _| call.calls_this_session = 9, [true; 3]);
    check(
        |call, _| call.arguments_digest = Digest::of("x"),
        [false, true, true],
    );
    check(
        |call, _| call.tool.digest = Digest::of("x"),
        [false, false, true],
    );
    check(
        |call, _| call.tool.name = "write".to_owned(),
        [false, false, true],
    );
    check(
        |call, _| call.tool.server.tools = Digest::of("x"),
        [true, true, false],
    );
    check(
        |call, _| call.tool.server.itself = Digest::of("x"),
        [false; 3],
    );
    check(
        |call, _| call.tool.server.id.source = Source::Project,
        [false; 3],
    );
    check(|_, agent| agent.name = "b".to_owned(), [false; 3]);
}

#[test]
fn other_answers_hold_for_the_server_as_it_is() {
    let agent = Agent::new("a", "me");
    let other = ServerFacts {
        itself: Digest::of("x"),
        ..server()
    };
    let read = |server| ReadResource {
        server,
        uri: "file:///a".to_owned(),
    };
    let get = |server| GetPrompt {
        server,
        name: "p".to_owned(),
        arguments: Vec::new(),
    };
    assert_ne!(
        read(server()).keys(&agent),
        read(other.clone()).keys(&agent)
    );
    assert_ne!(get(server()).keys(&agent), get(other).keys(&agent));
}

#[test]
fn identities_share_no_text() {
    let id = |source, name: &str| ServerId::new(source, name).to_string();
    assert_eq!(id(Source::User, "a/b"), "user/a%2Fb");
    assert_ne!(id(Source::User, "a%2Fb"), id(Source::User, "a/b"));
    let ours = ServerId::new(Source::User, "x");
    let theirs = ServerId::new(Source::Project, "x");
    assert_eq!(ours.subject(Some("/p")), "user/x");
    assert_eq!(theirs.subject(Some("/p")), "project/x//p");
    assert_ne!(theirs.subject(Some("/p")), theirs.subject(Some("/q")));
    for (resource, server, want) in [
        ("user/a", "user/a", true),
        ("user/a/read", "user/a", true),
        ("project/x//p", "project/x", true),
        ("user/ab", "user/a", false),
        ("user/a%2Fb", "user/a", false),
    ] {
        assert_eq!(belongs(resource, server), want, "{resource}");
    }
}
