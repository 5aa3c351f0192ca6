//! One request: where it may lead, and what an answer may be.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use crate::address::{Reach, WebUrl};
use crate::http::{Ask, Client, HttpError, Leads, Plain, Terms};

use super::played::{Played, Reply, answer};

const HERE: Terms<'static> = Terms {
    leads: Leads::To(Reach::Loopback),
    plain: Plain::ToThisMachine,
    authority: None,
};

fn client(url: &WebUrl, addresses: &[&str], terms: &Terms<'_>) -> Result<Client, HttpError> {
    let addresses = addresses.iter().map(|address| address.parse().unwrap());
    Client::new(url, addresses.collect(), terms)
}

/// What becomes of a request to a server that answers so, within half a second and 1,000 bytes.
async fn outcome(reply: Reply) -> Result<(u16, usize), HttpError> {
    let server = Played::start(move |_| reply.clone()).await;
    let url = server.url("/a?secret");
    let mut ask = Ask::get(url.clone());
    ask.deadline = Some(Instant::now() + Duration::from_millis(500));
    let answer = client(&url, &["127.0.0.1"], &HERE)?.send(ask).await?;
    let status = answer.status();
    Ok((status, answer.whole(1_000).await?.len()))
}

#[tokio::test]
async fn an_answer_has_its_limits() {
    assert_eq!(outcome(answer("200 OK", "", "body")).await, Ok((200, 4)));
    // A redirect is an answer, and leads nowhere.
    let to_metadata = answer(
        "302 Found",
        "location: http://169.254.169.254/latest\r\n",
        "",
    );
    assert_eq!(outcome(to_metadata).await, Ok((302, 0)));
    let long = answer("200 OK", "", &"x".repeat(1_001));
    assert_eq!(outcome(long).await, Err(HttpError::TooLarge(1_000)));
    let head = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    let endless = Reply::Endless(head.clone(), vec![b'x'; 100]);
    assert_eq!(outcome(endless).await, Err(HttpError::TooLarge(1_000)));
    assert_eq!(
        outcome(Reply::Hang(head.clone())).await,
        Err(HttpError::Late)
    );
    assert_eq!(outcome(Reply::Hang(Vec::new())).await, Err(HttpError::Late));
    // Blocks of gzip that hold nothing come for ever and count as no byte: they are not read at all.
    let coded = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\n\r\n".to_vec();
    let empty_blocks = Reply::Endless(coded, vec![0, 0, 0, 0xff, 0xff]);
    assert_eq!(outcome(empty_blocks).await, Err(HttpError::Coded));
    let twice = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab";
    let broken = outcome(Reply::Raw(twice.into())).await.unwrap_err();
    assert!(!broken.to_string().contains("secret"), "{broken}");
}

#[tokio::test]
async fn a_client_dials_what_was_judged() {
    let server = Played::start(|_| answer("200 OK", "", "here")).await;
    // Whatever the name leads to by now, or leads nowhere: the judged address is dialled.
    let url = WebUrl::read(&format!("http://rebinding.example.com:{}/", server.port)).unwrap();
    let terms = Terms {
        leads: Leads::Pinned,
        ..HERE
    };
    let client = client(&url, &["127.0.0.1"], &terms).unwrap();
    let answer = client.send(Ask::get(url.clone())).await.unwrap();
    assert_eq!(answer.whole(10).await.unwrap(), b"here");
    let host = &server.came()[0].head;
    assert!(host.contains("host: rebinding.example.com"), "{host}");
    assert!(host.contains("accept-encoding: identity"), "{host}");
    // And no other host is asked for with it.
    let other = WebUrl::read(&format!("http://other.example.com:{}/", server.port)).unwrap();
    assert_eq!(
        client.send(Ask::get(other)).await.unwrap_err(),
        HttpError::OtherHost
    );
}

#[test]
fn where_a_client_may_lead() {
    let public = Terms {
        leads: Leads::To(Reach::Public),
        plain: Plain::Never,
        authority: None,
    };
    let check = |url: &str, terms: &Terms<'_>, want: bool| {
        let url = WebUrl::read(url).unwrap();
        let address = url.target().host.address();
        let address = address.unwrap_or(IpAddr::from([8, 8, 8, 8]));
        let got = Client::new(&url, vec![address], terms);
        assert_eq!(got.is_ok(), want, "{}: {got:?}", url.as_str());
    };
    for url in [
        "https://2130706433/",
        "https://0x7f.1/",
        "https://0177.0.0.1/",
        "https://[::ffff:127.0.0.1]/",
        "https://169.254.169.254/",
        "https://10.0.0.1/",
        "https://[fd00:ec2::254]/",
        "https://100.100.100.200/",
        "http://example.com/",
    ] {
        check(url, &public, false);
    }
    check("https://example.com/", &public, true);
    check("http://127.0.0.1/", &HERE, true);
    check("http://example.com/", &HERE, false);
    check("https://169.254.169.254/", &HERE, false);
    let url = WebUrl::read("https://example.com/").unwrap();
    // One address inside refuses them all.
    assert!(client(&url, &["8.8.8.8", "10.0.0.1"], &public).is_err());
    assert!(client(&url, &[], &public).is_err());
}

#[tokio::test]
async fn a_field_cannot_smuggle_another() {
    let server = Played::start(|_| answer("200 OK", "", "")).await;
    let url = server.url("/");
    let client = client(&url, &["127.0.0.1"], &HERE).unwrap();
    for (name, value) in [
        ("x", "a\r\nhost: evil"),
        ("x\r\nhost", "evil"),
        ("x y", "a"),
        ("", "a"),
    ] {
        let mut ask = Ask::get(url.clone());
        ask.fields = vec![(name.to_owned(), value.to_owned())];
        let refused = client.send(ask).await.unwrap_err();
        assert!(
            matches!(refused, HttpError::Field(_)),
            "{name:?}: {value:?}"
        );
    }
    assert!(server.came().is_empty());
}
