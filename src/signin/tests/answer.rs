//! What comes back to the callback.

use super::super::answer::{Answer, Expected, read};

fn expected() -> Expected {
    Expected {
        path: "/callback".to_owned(),
        state: "s1".to_owned(),
        issuer: "https://login.example".to_owned(),
        named: false,
    }
}

#[track_caller]
fn check(target: &str, want: Answer) {
    assert_eq!(
        read(&format!("GET {target} HTTP/1.1"), &expected()),
        want,
        "{target}"
    );
}

#[test]
fn answers_are_read() {
    let code = |query: &str| Answer::Code(query.to_owned());
    let no = |code: &str| Answer::No(code.to_owned());
    check("/callback?code=c&state=s1", code("code=c&state=s1"));
    check(
        "/callback?state=%731&code=a%2Bb",
        code("state=%731&code=a%2Bb"),
    );
    check(
        "/callback?code=c&state=s1&iss=https%3A%2F%2Flogin.example",
        code("code=c&state=s1&iss=https%3A%2F%2Flogin.example"),
    );
    check(
        "/callback?code=c&state=s1&iss=https%3A%2F%2Flogin.example%2F",
        Answer::Foreign,
    );
    check(
        "/callback?error=access_denied&state=s1",
        no("access_denied"),
    );
    check(
        "/callback?error=%3Cb%3Eclick+here&state=s1",
        no("an error that has no short code"),
    );
    check(
        "/callback?error=access_denied&state=s1&iss=https%3A%2F%2Fevil.example",
        Answer::Foreign,
    );
    check("/callback?state=s1", no("no code"));
}

#[test]
fn what_is_no_answer_changes_nothing() {
    let stray = |line: &str| matches!(read(line, &expected()), Answer::Stray(..));
    for line in [
        "GET /callback?code=c&state=s2 HTTP/1.1",
        "GET /callback?code=c HTTP/1.1",
        "GET /callback?code=c&state=s1&state=s1 HTTP/1.1",
        "GET /callback?code=c&code=d&state=s1 HTTP/1.1",
        "GET /callback?error=x&state= HTTP/1.1",
        "GET /callback?code=%zz&state=s1 HTTP/1.1",
        "GET /callback?code=%ff&state=s1 HTTP/1.1",
        "GET /callback/?code=c&state=s1 HTTP/1.1",
        "POST /callback?code=c&state=s1 HTTP/1.1",
        "GET /callback?code=c&state=s1 HTTP/2",
        "GET /callback?code=c&state=s1",
        "",
    ] {
        assert!(stray(line), "{line}");
    }
}

/// A sign-in server that says that it always names itself has to.
#[test]
fn a_missing_name_counts_where_it_was_promised() {
    let named = Expected {
        named: true,
        ..expected()
    };
    assert_eq!(
        read("GET /callback?code=c&state=s1 HTTP/1.1", &named),
        Answer::Foreign
    );
    assert_eq!(
        read("GET /callback?error=x&state=s1 HTTP/1.1", &named),
        Answer::Foreign
    );
}
