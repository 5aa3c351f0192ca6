//! `creance approve` against processes that ask.

use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use clap::Parser as _;
use creance::{ApprovalSocket, Asked, Channel, Colour, DenyAll, Question};

use super::*;

#[derive(Debug, clap::Parser)]
struct Cli {
    #[command(flatten)]
    args: ApproveArgs,
}

fn question(id: &str) -> Question {
    Question {
        id: id.to_owned(),
        action: "tool.call".to_owned(),
        asked: Asked {
            title: format!("Call {id}"),
            complete: true,
            ..Asked::default()
        },
        because: Vec::new(),
        longest: Answer::Session,
        scopes: vec!["this call".to_owned(), "the tool user/fs/read".to_owned()],
        asker: "a client".to_owned(),
    }
}

/// Somebody at the terminal who always says the same.
#[derive(Debug)]
struct Says(Answer);

impl Approver for Says {
    fn ask<'a>(
        &'a self,
        _question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(ready(Some(Reply {
            answer: self.0,
            scope: 1,
            channel: Channel::Terminal,
        })))
    }

    fn attended(&self) -> bool {
        true
    }
}

/// Somebody at the terminal who thinks for ever.
#[derive(Debug)]
struct Thinks;

impl Approver for Thinks {
    fn ask<'a>(
        &'a self,
        _question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(std::future::pending())
    }

    fn attended(&self) -> bool {
        true
    }
}

struct Asking {
    home: tempfile::TempDir,
    socket: Arc<ApprovalSocket>,
}

/// What the command did.
struct Ran {
    code: u8,
    out: String,
    err: String,
}

impl Asking {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let socket = Arc::new(ApprovalSocket::new(home.path().join("ask")));
        Self { home, socket }
    }

    async fn ask(&self, id: &str) -> tokio::task::JoinHandle<Option<Reply>> {
        let (socket, question) = (Arc::clone(&self.socket), question(id));
        let asking = tokio::spawn(async move { socket.ask(&question).await });
        let folder = self.home.path().join("ask");
        loop {
            let waiting = scan_questions(&folder)
                .await
                .map_or_else(|_| Vec::new(), |w| w.0);
            if waiting.iter().any(|w| w.question().id == id) {
                return asking;
            }
            tokio::task::yield_now().await;
        }
    }

    async fn run(&self, asker: &dyn Approver, args: &[&str]) -> Ran {
        let args = ["approve"].iter().chain(args);
        let cli = Cli::try_parse_from(args).unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut desk = Desk {
            folder: &self.home.path().join("ask"),
            paint: Paint {
                colour: Colour::Plain,
                width: 80,
            },
            asker,
            out: &mut out,
            err: &mut err,
            said: BTreeSet::new(),
        };
        let code = desk.run(cli.args).await;
        Ran {
            code,
            out: String::from_utf8(out).unwrap(),
            err: String::from_utf8(err).unwrap(),
        }
    }
}

#[tokio::test]
async fn with_nothing_waiting_it_says_so() {
    for args in [&[][..], &["--list"]] {
        let ran = Asking::new().run(&DenyAll, args).await;
        assert_eq!(
            (ran.code, ran.out.as_str()),
            (0, "no questions are waiting\n")
        );
    }
    let ran = Asking::new().run(&DenyAll, &["--json"]).await;
    assert_eq!((ran.code, ran.out.as_str()), (0, ""));
}

#[tokio::test]
async fn a_list_shows_all_and_answers_none() {
    let asking = Asking::new();
    let asked = [asking.ask("3f9c01").await, asking.ask("77aa02").await];
    let ran = asking.run(&Says(Answer::Once), &["--list"]).await;
    assert_eq!(ran.code, 4);
    let pid = std::process::id();
    let first = format!(
        "? Call 3f9c01\n  a client asks for tool.call\n  scope 1: this call\n  \
         scope 2: the tool user/fs/read\n  id 3f9c01, asked by process {pid}\n\n? Call 77aa02\n"
    );
    assert!(ran.out.starts_with(&first), "{}", ran.out);

    let ran = asking.run(&Says(Answer::Once), &["--json"]).await;
    assert_eq!(ran.code, 4);
    let first = ran.out.lines().next().unwrap();
    let json: serde_json::Value = serde_json::from_str(first).unwrap();
    assert_eq!(json["question"]["id"], "3f9c01");
    assert_eq!(json["pid"], pid);
    assert_eq!(json["digest"].as_str().unwrap().len(), 64);
    assert!(asked.iter().all(|asked| !asked.is_finished()));
}

#[tokio::test]
async fn every_waiting_question_is_asked_at_the_terminal() {
    let asking = Asking::new();
    let asked = [asking.ask("q1").await, asking.ask("q2").await];
    let ran = asking.run(&Says(Answer::Session), &[]).await;
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "answered: session\nanswered: session\n");
    for asked in asked {
        let reply = asked.await.unwrap().unwrap();
        assert_eq!((reply.answer, reply.scope), (Answer::Session, 1));
        assert_eq!(
            reply.channel,
            Channel::Approve {
                pid: std::process::id()
            }
        );
    }
}

#[tokio::test]
async fn without_a_terminal_it_shows_the_question_and_the_way_out() {
    let asking = Asking::new();
    let asked = asking.ask("q1").await;
    let ran = asking.run(&DenyAll, &[]).await;
    assert_eq!(ran.code, 4);
    assert!(ran.out.contains("? Call q1"), "{}", ran.out);
    assert!(ran.err.contains("--answer and --id"), "{}", ran.err);
    assert!(!asked.is_finished());
}

#[tokio::test]
async fn a_question_answered_elsewhere_leaves_the_terminal() {
    let asking = Asking::new();
    let asked = asking.ask("q1").await;
    let elsewhere = async {
        tokio::task::yield_now().await;
        asked.abort();
    };
    let (ran, ()) = tokio::join!(asking.run(&Thinks, &[]), elsewhere);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
}

#[tokio::test]
async fn one_question_is_answered_by_its_id() {
    async fn check(asking: &Asking, args: &[&str], code: u8, said: &str) {
        let ran = asking.run(&DenyAll, args).await;
        let all = ran.out + &ran.err;
        assert_eq!(ran.code, code, "{args:?}: {all}");
        assert!(all.contains(said), "{args:?}: {all}");
    }
    let asking = Asking::new();
    let first = asking.ask("3f9c01").await;
    let second = asking.ask("3f9c02").await;
    check(
        &asking,
        &["--answer", "once", "--id", "3f9"],
        1,
        "no question",
    )
    .await;
    check(&asking, &["--answer", "once", "--id", "3f9c"], 1, "several").await;
    check(
        &asking,
        &["--answer", "always", "--id", "3f9c01"],
        1,
        "does not offer",
    )
    .await;
    check(
        &asking,
        &["--answer", "session", "--id", "3f9c01", "--scope", "3"],
        1,
        "does not offer",
    )
    .await;
    check(
        &asking,
        &["--answer", "session", "--id", "3f9c01", "--scope", "0"],
        1,
        "from 1",
    )
    .await;
    assert!(!first.is_finished() && !second.is_finished());
    check(
        &asking,
        &["--answer", "session", "--id", "3f9c01", "--scope", "2"],
        0,
        "answered: session",
    )
    .await;
    check(
        &asking,
        &["--answer", "no", "--id", "3f9c02"],
        0,
        "answered: no",
    )
    .await;
    let reply = first.await.unwrap().unwrap();
    assert_eq!((reply.answer, reply.scope), (Answer::Session, 1));
    assert_eq!(second.await.unwrap().unwrap().answer, Answer::None);
}

#[test]
fn options_that_contradict_are_usage_errors() {
    for args in [
        &["--answer", "once"][..],
        &["--id", "q"],
        &["--answer", "yes", "--id", "q"],
        &["--answer", "once", "--id", "q", "--list"],
        &["--answer", "once", "--id", "q", "--follow"],
        &["--scope", "2"],
    ] {
        let args = ["approve"].iter().chain(args);
        assert!(Cli::try_parse_from(args).is_err());
    }
}
