//! Programs that embed Creance, in the world: questions about hosts, what a failing tool says, what a
//! change of policies does to a connection that stands.

use std::fs;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use creance::{
    Agent, Answer, Approver, AuditLog, Channel, PolicySet, PolicySource, Question, Reply, Runner,
    RunningServer, ServerSpec, Session, ToolReply, WorkspaceOptions,
};
use serde_json::{Value, json};

use crate::world::{World, text};

/// Whoever embeds lets its servers start and be called.
pub(crate) const START: &str = r#"
@id("start") @reason("Ours.") permit (principal, action == Action::"server.start", resource);
@id("call") @reason("Ours.") permit (principal, action == Action::"tool.call", resource);
"#;

const API: &str = r#"
@id("api") @reason("The interface.")
permit (principal, action == Action::"sandbox.network", resource == Host::"api.allowed.test");
"#;

pub(crate) const ALLOWED: &str = "https://api.allowed.test/";
const DENIED: &str = "https://other.denied.test/";

pub(crate) fn answers() {
    enter("answers");
}

pub(crate) fn servers() {
    enter("servers");
}

pub(crate) fn changes() {
    enter("changes");
}

/// Runs one of the tests below on the machine of a world.
pub(crate) fn enter(test: &str) {
    let world = World::new("");
    let program = std::env::current_exe().unwrap().display().to_string();
    let folder = world.at("").display().to_string();
    let output = world.command(&[&program, "inside", test, &folder]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(
        output.status.success() && out.ends_with("all well\n"),
        "{out}\n{err}"
    );
}

pub(crate) fn main(args: &[String]) {
    let (test, folder) = (args[0].as_str(), PathBuf::from(&args[1]));
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        match test {
            "answers" => questions(&folder).await,
            "servers" => second_host(&folder).await,
            "changes" => policies_change(&folder).await,
            "apart" => crate::apart::another_way_out(&folder).await,
            other => panic!("{other}"),
        }
    });
    println!("all well");
}

/// Answers questions as they are scripted, by a part of their title.
#[derive(Clone, Debug)]
struct Desk {
    script: Arc<Vec<(&'static str, Answer, Duration)>>,
    asked: Arc<Mutex<Vec<Question>>>,
    answered: Arc<Mutex<usize>>,
}

impl Desk {
    fn new(script: Vec<(&'static str, Answer, Duration)>) -> Self {
        Self {
            script: Arc::new(script),
            asked: Arc::default(),
            answered: Arc::default(),
        }
    }

    fn titles(&self) -> Vec<String> {
        let asked = self.asked.lock().unwrap();
        asked
            .iter()
            .map(|question| question.asked.title.clone())
            .collect()
    }
}

impl Approver for Desk {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(async move {
            self.asked.lock().unwrap().push(question.clone());
            let fits = |row: &&(&str, Answer, Duration)| question.asked.title.contains(row.0);
            let (_, answer, after) = *self.script.iter().find(fits)?;
            tokio::time::sleep(after).await;
            *self.answered.lock().unwrap() += 1;
            Some(Reply {
                answer,
                scope: 0,
                channel: Channel::Embedder,
            })
        })
    }

    fn attended(&self) -> bool {
        true
    }
}

fn policies(text: &str) -> PolicySet {
    let source = PolicySource {
        layer: creance::Layer::User,
        file: "test.cedar".to_owned(),
        text: text.to_owned(),
    };
    PolicySet::parse(&[source]).unwrap().0
}

pub(crate) fn runner(folder: &std::path::Path, policy: &str) -> Runner {
    let log = AuditLog::file(folder.join("log/audit.jsonl")).unwrap();
    let options = WorkspaceOptions::apart(folder.join("home"), folder.join("home/project"));
    Runner::new(policies(policy), log).with_options(options)
}

fn web(folder: &std::path::Path, hosts: &[&str]) -> ServerSpec {
    named(folder, "web", hosts)
}

pub(crate) fn named(folder: &std::path::Path, name: &str, hosts: &[&str]) -> ServerSpec {
    let script = folder.join("home/project/server.py");
    fs::write(&script, include_str!("server.py")).unwrap();
    let cert = folder.join("cert.pem").display().to_string();
    let spec = ServerSpec::stdio(name, "/usr/bin/python3")
        .arg(script.display().to_string())
        .arg(format!("--as-{name}"))
        .read_path(&cert)
        .env("SSL_CERT_FILE", cert);
    (hosts.iter()).fold(spec, |spec, host| spec.host(host.parse().unwrap()))
}

pub(crate) async fn fetch(server: &RunningServer, url: &str) -> ToolReply {
    server.call("fetch", json!({ "url": url })).await.unwrap()
}

pub(crate) fn records(folder: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(folder.join("log/audit.jsonl")).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

pub(crate) async fn session(runner: Runner) -> Session {
    runner.session(Agent::new("tester", "u")).unwrap()
}

/// The start's question shows the hosts and covers them; any other host is asked about, once.
async fn questions(folder: &std::path::Path) {
    let soon = Duration::from_millis(300);
    let desk = Desk::new(vec![
        (
            "Start the MCP server user/web?",
            Answer::Once,
            Duration::ZERO,
        ),
        (
            "connect to other.denied.test:443",
            Answer::None,
            Duration::ZERO,
        ),
        (
            "connect to xn--bcher-kva.allowed.test:443",
            Answer::Session,
            soon,
        ),
        (
            "connect to evilapi.allowed.test:443",
            Answer::Once,
            Duration::from_secs(3),
        ),
    ]);
    let policy = START.lines().last().unwrap();
    let runner = runner(folder, policy).with_approver(desk.clone());
    let session = session(runner).await;
    let server = session
        .start(web(folder, &["api.allowed.test"]))
        .await
        .unwrap();
    {
        let asked = desk.asked.lock().unwrap();
        let details = format!("{:?}", asked[0].asked.details);
        assert!(details.contains("api.allowed.test:443"), "{details}");
    }
    assert_eq!(fetch(&server, ALLOWED).await.text(), "hello");
    assert_eq!(desk.titles().len(), 1, "{:?}", desk.titles());

    for (why, asked) in [
        ("a person said no; do not try it again", 2),
        ("is not asked again", 2),
    ] {
        let reply = fetch(&server, DENIED).await;
        let told = format!(
            "Creance did not let it connect to other.denied.test:443: {}",
            ""
        );
        assert!(
            reply.is_error() && reply.text().contains(&told),
            "{}",
            reply.text()
        );
        assert!(reply.text().contains(why), "{}", reply.text());
        assert_eq!(desk.titles().len(), asked, "{:?}", desk.titles());
    }

    let other = "https://xn--bcher-kva.allowed.test/";
    for _ in 0..2 {
        assert_eq!(fetch(&server, other).await.text(), "hello");
        assert_eq!(desk.titles().len(), 3, "{:?}", desk.titles());
    }
    {
        let asked = desk.asked.lock().unwrap();
        let details = format!("{:?} {:?}", asked[2].asked.details, asked[2].asked.warnings);
        assert!(details.contains("bücher.allowed.test"), "{details}");
        assert!(details.contains("not among the hosts"), "{details}");
    }

    // Who leaves withdraws the question.
    let answered = *desk.answered.lock().unwrap();
    let left = json!({ "url": "https://evilapi.allowed.test/", "s": 0.5 });
    let reply = server.call("fetch", left).await.unwrap();
    assert!(reply.is_error(), "{}", reply.text());
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(desk.titles().len(), 4);
    assert_eq!(*desk.answered.lock().unwrap(), answered);
    server.shutdown().await.unwrap();
    session.end().unwrap();
    on_record(folder);
}

/// A decision by the server before each connection, and the bytes of each that was made.
fn on_record(folder: &std::path::Path) {
    let records = records(folder);
    let of = |resource: &str, outcome: &str| -> Vec<u64> {
        let fits = |record: &&Value| {
            record["action"] == "sandbox.network"
                && record["resource"] == resource
                && record["outcome"] == outcome
                && record["principal"] == "server/user/web"
        };
        records
            .iter()
            .filter(fits)
            .map(|r| r["seq"].as_u64().unwrap())
            .collect()
    };
    let allowed = of("api.allowed.test:443", "allow");
    assert_eq!(
        (allowed.len(), of("other.denied.test:443", "deny").len()),
        (1, 1),
        "{records:#?}"
    );
    let outcome = records
        .iter()
        .find(|record| record["of"] == allowed[0])
        .unwrap();
    let bytes = |name: &str| outcome["details"][name].as_u64().unwrap();
    assert!(
        bytes("bytes_out") > 100 && bytes("bytes_in") > 100,
        "{outcome}"
    );
    // What the tool was called with is on record; what it then fetched is not.
    let network = records
        .iter()
        .filter(|record| record["action"] == "sandbox.network");
    let texts: String = network.chain([outcome]).map(ToString::to_string).collect();
    assert!(!texts.contains("https://"), "{texts}");
}

/// SEC-10: a server that opens its allowed host, and then a second one to copy what it got.
async fn second_host(folder: &std::path::Path) {
    let project = folder.join("home/project");
    let probe = include_str!("../cases/SEC-10.probe.py");
    let server = include_str!("../cases/tools/probe_server.py");
    fs::write(project.join("probe.py"), probe).unwrap();
    fs::write(project.join("mail.py"), server).unwrap();
    let (allowed, other) = ("api.allowed.test:80", "other.denied.test:80");
    let session = session(runner(folder, &format!("{START}{API}"))).await;
    let file = |name: &str| project.join(name).display().to_string();
    let spec = ServerSpec::stdio("mail", "/usr/bin/python3")
        .arg(file("mail.py"))
        .arg(file("probe.py"))
        .arg(allowed)
        .arg(other)
        .host(allowed.parse().unwrap());
    let server = session.start(spec).await.unwrap();
    let reply = server.call("probe", json!({})).await.unwrap();
    assert_eq!(reply.text().trim(), "allowed ok\nother denied HTTPError");
    server.shutdown().await.unwrap();
    session.end().unwrap();
    let denied = records(folder)
        .into_iter()
        .find(|record| record["outcome"] == "deny")
        .unwrap();
    assert_eq!(denied["principal"], "server/user/mail");
    assert_eq!(denied["resource"], other);
}

/// A connection that stands ends when the policies no longer allow it, and no new one is made.
async fn policies_change(folder: &std::path::Path) {
    let session = session(runner(folder, &format!("{START}{API}"))).await;
    let server = session
        .start(web(folder, &["api.allowed.test"]))
        .await
        .unwrap();
    let hold = server.call("hold", json!({ "url": "https://api.allowed.test/hold" }));
    let change = async {
        while !fs::read_to_string(folder.join("served")).is_ok_and(|log| log.contains("/hold")) {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        // Policies that still allow it cut nothing.
        session.replace_policies(policies(&format!("{START}{API}// another text\n")));
        tokio::time::sleep(Duration::from_millis(300)).await;
        let changed = std::time::Instant::now();
        session.replace_policies(policies(START));
        changed
    };
    let (held, changed) = tokio::join!(hold, change);
    assert!(
        changed.elapsed() < Duration::from_secs(5),
        "{:?}",
        changed.elapsed()
    );
    let held = held.unwrap().text();
    assert!(
        held.starts_with("ended") || held.starts_with("broken"),
        "{held}"
    );
    let reply = fetch(&server, ALLOWED).await;
    assert!(
        reply.is_error() && reply.text().contains("nobody can be asked"),
        "{}",
        reply.text()
    );
    server.shutdown().await.unwrap();
    session.end().unwrap();
    let results: Vec<Value> = records(folder)
        .into_iter()
        .map(|r| r["result"].clone())
        .collect();
    assert!(results.contains(&json!("cut")), "{results:?}");
}
