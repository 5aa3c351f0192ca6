//! Both sides of the approval socket, and what strangers may try on it. (That another user's
//! process is refused cannot be tried without a second user; the check is `peer_cred` on both sides.)

use std::os::unix::fs::MetadataExt as _;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::request::Asked;
use crate::terminal::{Waiting, scan, send};

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
        scopes: vec!["this call".to_owned(), "the tool".to_owned()],
        asker: "a client".to_owned(),
    }
}

/// A process that asks, in a folder of its own.
struct Asking {
    home: tempfile::TempDir,
    socket: Arc<ApprovalSocket>,
}

impl Asking {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let socket = Arc::new(ApprovalSocket::new(home.path().join("ask")));
        Self { home, socket }
    }

    fn folder(&self) -> PathBuf {
        self.home.path().join("ask")
    }

    /// Asks, and returns once the question is on the board.
    async fn ask(&self, question: Question) -> tokio::task::JoinHandle<Option<Reply>> {
        let (socket, id) = (Arc::clone(&self.socket), question.id.clone());
        let asking = tokio::spawn(async move { socket.ask(&question).await });
        while !self.socket.board.lock().waiting.contains_key(&id) {
            tokio::task::yield_now().await;
        }
        asking
    }

    fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.folder()).into_iter().flatten();
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    fn path(&self) -> PathBuf {
        self.folder().join(&self.files()[0])
    }

    /// Sends raw bytes, returns all that comes back.
    async fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = UnixStream::connect(self.path()).await.unwrap();
        let mut back = String::new();
        // The other side may hang up while this is still written.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let _ = stream.read_to_string(&mut back).await;
        back
    }
}

#[tokio::test]
async fn another_terminal_reads_and_answers() {
    let asking = Asking::new();
    let first = asking.ask(question("q1")).await;
    let second = asking.ask(question("q2")).await;
    let (waiting, problems) = scan(&asking.folder()).await.unwrap();
    assert!(problems.is_empty(), "{problems:?}");
    let questions: Vec<_> = waiting.iter().map(|w| w.question().clone()).collect();
    assert_eq!(questions, [question("q1"), question("q2")]);
    assert_eq!(waiting[0].pid(), std::process::id());

    let sent = send(&waiting[1], Answer::Session, 1).await.unwrap();
    assert_eq!(sent, Outcome::Taken);
    let pid = std::process::id();
    let want = Reply {
        answer: Answer::Session,
        scope: 1,
        channel: Channel::Approve { pid },
    };
    assert_eq!(second.await.unwrap(), Some(want));
    let again = send(&waiting[1], Answer::Once, 0).await.unwrap();
    assert_eq!(again, Outcome::Gone, "answered already");
    assert_eq!(
        send(&waiting[0], Answer::None, 0).await.unwrap(),
        Outcome::Taken
    );
    assert_eq!(first.await.unwrap().map(|r| r.answer), Some(Answer::None));
    assert!(
        asking.files().is_empty(),
        "the socket goes with the last question"
    );
    assert_eq!(
        send(&waiting[0], Answer::Once, 0).await.unwrap(),
        Outcome::Gone
    );
    assert!(scan(&asking.folder()).await.unwrap().0.is_empty());
}

#[tokio::test]
async fn several_approvers_and_one_answer() {
    let asking = Asking::new();
    let asked = asking.ask(question("q1")).await;
    let (waiting, _) = scan(&asking.folder()).await.unwrap();
    let (a, b) = tokio::join!(
        send(&waiting[0], Answer::Once, 0),
        send(&waiting[0], Answer::Once, 0)
    );
    let outcomes = [a.unwrap(), b.unwrap()];
    assert_eq!(
        outcomes.iter().filter(|o| **o == Outcome::Taken).count(),
        1,
        "{outcomes:?}"
    );
    assert!(asked.await.unwrap().is_some());
}

#[tokio::test]
async fn answers_that_are_not_offered_are_refused_and_the_question_waits_on() {
    let asking = Asking::new();
    let mut hidden = question("hidden");
    hidden.asked.complete = false;
    let hidden_asked = asking.ask(hidden).await;
    let asked = asking.ask(question("q1")).await;
    let (waiting, _) = scan(&asking.folder()).await.unwrap();
    for (at, answer, scope) in [
        (1, Answer::Remembered, 0),
        (1, Answer::Session, 2),
        (0, Answer::Once, 0),
    ] {
        let sent = send(&waiting[at], answer, scope).await.unwrap();
        assert_eq!(sent, Outcome::Refused, "{answer:?} {scope}");
    }
    assert_eq!(
        send(&waiting[0], Answer::None, 0).await.unwrap(),
        Outcome::Taken
    );
    assert_eq!(hidden_asked.await.unwrap().unwrap().answer, Answer::None);
    assert!(!asked.is_finished());
    asked.abort();
}

/// What is approved is what was shown.
#[tokio::test]
async fn an_answer_to_another_text_is_not_taken() {
    let asking = Asking::new();
    let asked = asking.ask(question("q1")).await;
    let mut other = question("q1");
    other.asked.title = "Call something harmless".to_owned();
    let shown = Waiting::new(asking.path(), 0, other);
    assert_eq!(
        send(&shown, Answer::Once, 0).await.unwrap(),
        Outcome::Changed
    );
    assert!(!asked.is_finished());
    asked.abort();
}

#[tokio::test]
async fn withdrawn_questions_leave_nothing_behind() {
    let asking = Asking::new();
    let asked = asking.ask(question("q1")).await;
    let (waiting, _) = scan(&asking.folder()).await.unwrap();
    asked.abort();
    assert!(asked.await.is_err());
    assert!(asking.files().is_empty());
    assert_eq!(
        send(&waiting[0], Answer::Once, 0).await.unwrap(),
        Outcome::Gone
    );
}

#[tokio::test]
async fn one_id_waits_once() {
    let asking = Asking::new();
    let asked = asking.ask(question("q1")).await;
    assert_eq!(asking.socket.ask(&question("q1")).await, None);
    assert!(!asked.is_finished(), "the first one is untouched");
    asked.abort();
}

#[tokio::test]
async fn strangers_gain_nothing() {
    const HELLO: &str = "{\"say\":\"hello\",\"version\":1}\n";
    let asking = Asking::new();
    let asked = asking.ask(question("q1")).await;
    let digest = digest(&question("q1")).unwrap();
    let reply = format!(
        "{{\"say\":\"reply\",\"id\":\"q1\",\"digest\":\"{digest}\",\"answer\":\"once\",\"scope\":0}}\n"
    );
    let long = format!("{HELLO}{}\n", "x".repeat(SAID_SIZE_MAX));
    let deep = format!("{HELLO}{}\n", "[".repeat(4_000));
    for (what, said, want) in [
        ("nothing", "", ""),
        ("garbage", "GET / HTTP/1.1\r\n\r\n", ""),
        ("not UTF-8 in JSON", "\u{0}\u{1}\n", ""),
        ("no greeting", &reply, "\"refused\""),
        (
            "another version",
            "{\"say\":\"hello\",\"version\":2}\n",
            "\"refused\"",
        ),
        ("too long", &long, "\"hello\""),
        ("deep", &deep, "\"hello\""),
        (
            "cut short",
            &format!("{HELLO}{}", reply.trim_end()),
            "\"hello\"",
        ),
        (
            "unknown field",
            &format!("{HELLO}{}", reply.replace("{\"say", "{\"x\":1,\"say")),
            "\"hello\"",
        ),
        (
            "unknown answer",
            &format!("{HELLO}{}", reply.replace("\"once\"", "\"yes\"")),
            "\"hello\"",
        ),
        (
            "unknown id",
            &format!("{HELLO}{}", reply.replace("\"q1\"", "\"q2\"")),
            "\"gone\"",
        ),
    ] {
        let back = asking.raw(said.as_bytes()).await;
        assert!(
            back.contains(want) && (back.is_empty() == want.is_empty()),
            "{what}: {back}"
        );
        assert!(!back.contains("taken"), "{what}: {back}");
        assert!(!asked.is_finished(), "{what}");
    }
    let back = asking.raw(format!("{HELLO}{reply}").as_bytes()).await;
    assert!(back.contains("taken"), "a good one still works: {back}");
    assert!(asked.await.unwrap().is_some());
}

#[tokio::test]
async fn a_question_too_long_for_the_socket_has_no_answer() {
    let mut long = question("q1");
    long.asked.title = "\u{1}".repeat(TOLD_SIZE_MAX / 6);
    assert_eq!(Asking::new().socket.ask(&long).await, None);
}

#[tokio::test]
async fn folder_and_socket_are_closed_to_others() {
    let asking = Asking::new();
    let asked = asking.ask(question("q1")).await;
    let mode = |path: &Path| std::fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&asking.folder()), 0o700);
    assert_eq!(mode(&asking.path()), 0o600);
    asked.abort();

    let open = Asking::new();
    std::fs::create_dir(open.folder()).unwrap();
    std::fs::set_permissions(open.folder(), Permissions::from_mode(0o755)).unwrap();
    assert_eq!(open.socket.ask(&question("q1")).await, None);
    let error = scan(&open.folder()).await.unwrap_err().to_string();
    assert!(
        error.contains("mode 755") && error.contains("chmod 700"),
        "{error}"
    );

    let link = Asking::new();
    std::os::unix::fs::symlink(asking.folder(), link.folder()).unwrap();
    assert_eq!(link.socket.ask(&question("q1")).await, None);
    assert!(scan(&link.folder()).await.is_err());
}

#[tokio::test]
async fn sockets_of_dead_processes_are_removed_and_other_files_are_not() {
    let asking = Asking::new();
    folder::make(&asking.folder()).unwrap();
    let dead = asking.folder().join("0.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    std::fs::write(asking.folder().join("1.sock"), "kept").unwrap();
    let silent = asking.folder().join("2.sock");
    let listener = std::os::unix::net::UnixListener::bind(&silent).unwrap();
    let hang_up = std::thread::spawn(move || drop(listener.accept()));
    let (waiting, problems) = scan(&asking.folder()).await.unwrap();
    hang_up.join().unwrap();
    assert!(waiting.is_empty());
    assert_eq!(problems.len(), 1, "a process that says nothing is reported");
    let mut left = asking.files();
    left.sort();
    assert_eq!(left, ["1.sock", "2.sock"]);
}

#[tokio::test]
async fn whoever_asks_next_removes_sockets_of_dead_processes() {
    let asking = Asking::new();
    folder::make(&asking.folder()).unwrap();
    let dead = asking.folder().join("0.sock");
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    let _asks = asking.ask(question("q1")).await;
    let gone = async {
        while dead.exists() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(5), gone)
        .await
        .unwrap();
    assert_eq!(asking.files().len(), 1, "its own socket stays");
}

#[tokio::test]
async fn without_a_folder_nothing_waits() {
    let asking = Asking::new();
    let (waiting, problems) = scan(&asking.folder()).await.unwrap();
    assert!(waiting.is_empty() && problems.is_empty());
}

/// An approver that reads the questions counts as watching, for a few seconds.
#[tokio::test]
async fn who_reads_the_questions_watches() {
    let asking = Asking::new();
    let waits = asking.ask(question("q1")).await;
    assert!(!asking.socket.watched(), "nobody has looked");
    scan(&asking.folder()).await.unwrap();
    assert!(asking.socket.watched());
    asking.socket.board.lock().looked = Instant::now().checked_sub(WATCHED);
    assert!(!asking.socket.watched(), "nobody looks any more");
    waits.abort();
}
