//! Standard streams as parents give them: the UNIX socket pair of a node parent, a file.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::stage::Stage;

const LIMIT: Duration = Duration::from_secs(60);

fn hello() -> String {
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "parent", "version": "1" } });
    let hello = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params });
    let list = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/list" });
    format!("{hello}\n{list}\n")
}

/// Both answers, and nothing else, come back.
#[track_caller]
fn answered(from: impl Read) -> usize {
    let lines = BufReader::new(from).lines();
    let answers: Vec<Value> = lines
        .map_while(Result::ok)
        .map(|line| serde_json::from_str(&line).unwrap())
        .collect();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)], "{answers:?}");
    answers.len()
}

fn stage() -> Stage {
    let stage = Stage::new();
    stage.servers(&json!({}));
    stage
}

#[test]
fn one_socket_is_input_and_output() {
    let stage = stage();
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_read_timeout(Some(LIMIT)).unwrap();
    let copy = theirs.try_clone().unwrap();
    let mut child = stage
        .creance(&["serve"])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::from(OwnedFd::from(copy)))
        .spawn()
        .unwrap();
    (&ours).write_all(hello().as_bytes()).unwrap();
    // The end of its input is the client's end; what it asked is answered before.
    ours.shutdown(Shutdown::Write).unwrap();
    answered(&ours);
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_file_is_input() {
    let stage = stage();
    stage.write("home/said", &hello());
    let input = File::open(stage.home.join("said")).unwrap();
    let child = stage
        .creance(&["serve"])
        .stdin(Stdio::from(input))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success());
    assert_eq!(answered(output.stdout.as_slice()), 2);
}
