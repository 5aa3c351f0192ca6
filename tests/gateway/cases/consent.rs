//! Consent hangs on content: another command, variable or program file asks again.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;
use std::thread;

use serde_json::json;

use super::desk::{Desk, PERMIT_ALL, PERMIT_START, script, text, tool};

/// A gateway whose `python3` is that of the system, where there is one: a version manager's is a
/// script that starts another program.
fn serve(desk: &Desk) -> Command {
    let mut command = desk.stage.creance(&["serve"]);
    if std::path::Path::new("/usr/bin/python3").exists() {
        command.env("PATH", "/usr/bin:/bin");
    }
    command
}

#[test]
fn sec_05_a_project_server_asks_again_when_what_it_does_changes() {
    let Some(mut desk) = Desk::new("sec_05") else {
        return;
    };
    desk.plays("tools", &script(&json!([tool("build")])));
    desk.stage.write(
        "home/project/tools/build_server.py",
        "import sys\nsys.argv = ['x', 'case/tools.jsonl']\nexec(open('case/fake_server.py').read())\n",
    );
    desk.stage.policy(PERMIT_START);
    let version = |text: &str| desk.stage.write("home/project/.mcp.json", text);
    let [one, two, three, four] = [
        include_str!("../../cases/SEC-05.1.mcp.json"),
        include_str!("../../cases/SEC-05.2.mcp.json"),
        include_str!("../../cases/SEC-05.3.mcp.json"),
        include_str!("../../cases/SEC-05.4.mcp.json"),
    ];
    version(one);
    desk.open_as(serve(&desk));
    let question = desk.wait_for_question("Start the MCP server project/build-tools?");
    assert!(
        question.to_string().contains("tools/build_server.py"),
        "{question}"
    );
    assert!(desk.approve(&question, "always"));
    desk.wait_for("build-tools__build");
    desk.close();

    // (the file, whether it asks, what of the change is shown)
    for (text, shown) in [
        (four, None),
        (two, Some(("- command: python3", "+ command: sh"))),
        (
            three,
            Some((
                "+ variable: PYTHONPATH (value #",
                "! sets PYTHONPATH, which can make",
            )),
        ),
        (one, None),
    ] {
        desk.stage.write("home/project/.mcp.json", text);
        desk.asked.clear();
        desk.say_nothing();
        desk.say("", "no");
        desk.open_as(serve(&desk));
        if let Some((gone, new)) = shown {
            desk.wait_for_status("project/build-tools: denied");
            let asked = desk.asked.join("");
            assert!(
                asked.contains("Start the MCP server project/build-tools, which has changed?"),
                "{asked}"
            );
            assert!(asked.contains(gone) && asked.contains(new), "{asked}");
        } else {
            desk.wait_for("build-tools__build");
            assert!(desk.asked.is_empty(), "{:?}", desk.asked);
        }
        desk.close();
    }
    assert!(!std::path::Path::new("/tmp/pwned").exists());
}

/// Answers every request on a loopback port, and counts them.
fn listener() -> (u16, std::sync::mpsc::Receiver<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (seen, count) = std::sync::mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = seen.send(());
            let _ = stream.read(&mut [0; 1024]);
            let _ = stream.write_all(b"HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok");
        }
    });
    (port, count)
}

#[test]
fn sec_10_no_network_is_none_and_a_changed_package_asks_again() {
    let Some(mut desk) = Desk::new("sec_10") else {
        return;
    };
    let (allowed, other) = (listener(), listener());
    let probe = include_str!("../../cases/SEC-10.probe.py");
    desk.stage.write("home/project/mail/probe.py", probe);
    let server = include_str!("../../cases/tools/probe_server.py");
    desk.stage.write("home/project/mail/server.py", server);
    let ports = [&allowed.0, &other.0].map(|port| format!("127.0.0.1:{port}"));
    // The listeners answer whoever may connect.
    let direct = Command::new("python3")
        .arg(desk.stage.project.join("mail/probe.py"))
        .args(&ports)
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&direct.stdout),
        "allowed ok\nother ok\n"
    );
    let drain = |seen: &std::sync::mpsc::Receiver<()>| seen.try_iter().count();
    assert_eq!((drain(&allowed.1), drain(&other.1)), (1, 1));

    let server = desk.python(&["mail/server.py", "mail/probe.py", &ports[0], &ports[1]]);
    desk.stage.servers(&json!({ "mail": server }));
    desk.stage.policy(PERMIT_ALL);
    desk.open();
    desk.wait_for("mail__probe");
    let got = text(&desk.call("mail__probe", &json!({})));
    assert!(
        got.contains("allowed denied") && got.contains("other denied"),
        "{got}"
    );
    assert_eq!((drain(&allowed.1), drain(&other.1)), (0, 0));
    desk.close();

    // A list of hosts opens nothing but these (the public case with two real hosts: tests/reach).
    let mut listed = server.clone();
    listed["network"] = json!(["mail.example.test"]);
    desk.stage.servers(&json!({ "mail": listed }));
    desk.open();
    // A wider grant is a change, and the question shows it.
    let question = desk.wait_for_question("Start the MCP server user/mail, which has changed?");
    assert!(
        question.to_string().contains("mail.example.test:443"),
        "{question}"
    );
    assert!(desk.approve(&question, "once"));
    desk.wait_for("mail__probe");
    let got = text(&desk.call("mail__probe", &json!({})));
    assert!(
        got.contains("allowed denied") && got.contains("other denied"),
        "{got}"
    );
    assert_eq!((drain(&allowed.1), drain(&other.1)), (0, 0));
    desk.close();

    // One release later.
    desk.stage.servers(&json!({ "mail": server }));
    let file = desk.stage.project.join("mail/server.py");
    let bad = fs::read_to_string(&file).unwrap() + "\n# one more copy of each mail\n";
    fs::write(&file, bad).unwrap();
    desk.say("", "no");
    desk.open();
    desk.wait_for_status("user/mail: denied");
    let asked = desk.asked.join("");
    assert!(asked.contains("user/mail, which has changed?"), "{asked}");
    assert!(
        asked.contains("changed on disk: ") && asked.contains("server.py"),
        "{asked}"
    );
}
