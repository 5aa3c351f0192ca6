//! `creance doctor`: what is in reach is what a process under the grant can read, and the public cases
//! that need the whole product.

use std::net::TcpListener;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::real::path_text;
use crate::stage::Stage;

/// Whether servers can be confined here; without that there is nothing to look at.
fn confined(stage: &Stage) -> bool {
    let (code, report) = stage.json(&["doctor", "--json"]);
    if code == Some(0) {
        return true;
    }
    println!(
        "skipped: nothing can be confined here: {}",
        report["sandbox"]["confinement"]
    );
    false
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array()
        .unwrap()
        .iter()
        .map(|text| text.as_str().unwrap())
        .collect()
}

#[test]
fn what_is_in_reach_is_tried_under_the_servers_own_grant() {
    let stage = Stage::new();
    if !confined(&stage) {
        return;
    }
    stage.write("home/project/.env", "KEY=1");
    stage.write("home/.netrc", "machine a login b");
    stage.write("shared/deep/id_rsa", "KEY");
    stage.write("plain/notes.txt", "notes");
    let root = stage.home.parent().unwrap();
    let at = |name: &str| path_text(&root.join(name));
    stage.servers(&json!({
        "wide": {
            "command": "sh",
            "args": ["-c", "cat"],
            "env": { "MY_TOKEN": "x", "PLAIN": "y" },
            "readPaths": [at("shared"), "~/.ssh"],
            "writePaths": [at("plain")],
        },
        "gone": { "command": "no-such-program" },
        "off": { "command": "sh", "enabled": false },
    }));
    let (code, report) = stage.json(&["doctor", "--json"]);
    assert_eq!(code, Some(0), "{report}");
    let reach = |id: &str| {
        let all = report["reach"].as_array().unwrap();
        all.iter().find(|one| one["id"] == id).cloned()
    };
    let command = reach("creance run").unwrap();
    let env = path_text(&stage.project.join(".env"));
    assert_eq!(texts(&command["secrets"]), [env.as_str()]);
    let wide = reach("user/wide").unwrap();
    // What was granted by name is still hidden where it is a place of secrets; a key elsewhere is not.
    let key = at("shared/deep/id_rsa");
    assert_eq!(texts(&wide["secrets"]), [env.as_str(), &key]);
    assert!(wide["secrets_tried"].as_u64().unwrap() >= 5, "{wide}");
    assert!(
        texts(&wide["read"]).contains(&at("shared").as_str()),
        "{wide}"
    );
    assert!(
        texts(&wide["write"]).contains(&at("plain").as_str()),
        "{wide}"
    );
    assert_eq!(texts(&wide["variables"]), ["MY_TOKEN", "PLAIN"]);
    assert_eq!(texts(&wide["secret_variables"]), ["MY_TOKEN"]);
    assert_eq!(texts(&wide["network"]), [""; 0]);
    assert!(
        wide["confinement"]["backend"]
            .as_str()
            .unwrap()
            .starts_with("linux-")
    );
    let gone = reach("user/gone").unwrap();
    assert!(gone["problem"].as_str().unwrap().contains("PATH"), "{gone}");
    assert_eq!(reach("user/off"), None);
    let (_, words) = stage.says(&["doctor"]);
    let line = format!("2 of {} IN REACH: {env}, {key}", wide["secrets_tried"]);
    assert!(words.contains(&line), "no `{line}` in {words}");
    // Nothing of it was started, and nothing is left.
    assert!(!stage.home.join(".cache/creance/servers").exists());
}

fn case(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/sandbox");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

/// The answers of a probe, each as the case wants it but for the ones that are named.
#[track_caller]
fn compare(id: &str, words: &str, but: &[(&str, &str)]) {
    for line in case(&format!("{id}.want.tsv")).lines() {
        let (name, want) = line.split_once('\t').unwrap();
        let other = but.iter().find(|(other, _)| *other == name);
        let want = other.map_or(want, |(_, want)| *want);
        let start = format!("{name}\t{want}");
        let held = words.lines().any(|line| line.starts_with(&start));
        assert!(held, "{id}: no `{start}` in:\n{words}");
    }
}

/// SBX-08: npm, uv and pip write to caches of their own, the home folder stays as it is. Without a
/// network npm works with what the user's own cache has, which is readable: so long as there is no
/// private one, it is the one place that is not written.
#[test]
fn caches() {
    let stage = Stage::new();
    if !confined(&stage) {
        return;
    }
    let root = path_text(stage.home.parent().unwrap());
    let probe = case("SBX-08.probe.sh");
    let play = |but: &[(&str, &str)]| {
        let args = ["run", "--", "sh", "-c", &probe, "probe", &root];
        let (code, words) = stage.says(&args);
        assert_eq!(code, Some(0), "{words}");
        compare("SBX-08", &words, but);
    };
    let npm = stage.home.join(".npm");
    std::fs::create_dir(&npm).unwrap();
    play(&[("npm", "denied")]);
    assert!(std::fs::read_dir(&npm).unwrap().next().is_none());
    std::fs::remove_dir(&npm).unwrap();
    play(&[]);
    assert!(!npm.exists() && !stage.home.join(".bashrc").exists());
    // From now on it has one of its own.
    std::fs::create_dir(&npm).unwrap();
    play(&[]);
}

/// SBX-14: with no list, and with an empty one, there is no network, whatever is tried.
#[test]
fn no_list_no_network() {
    let stage = Stage::new();
    if !confined(&stage) {
        return;
    }
    let python = Path::new("/usr/bin/python3");
    if !python.exists() {
        println!("skipped: no /usr/bin/python3");
        return;
    }
    let hosts = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let [listed, other] = hosts
        .each_ref()
        .map(|host| host.local_addr().unwrap().to_string());
    let probe = case("SBX-14.probe.py");
    let output = stage
        .creance(&[
            "run",
            "--",
            "/usr/bin/python3",
            "-c",
            &probe,
            &listed,
            &other,
        ])
        .stderr(Stdio::null())
        .output()
        .unwrap();
    let words = String::from_utf8_lossy(&output.stdout);
    compare("SBX-14", &words, &[("listed_proxy", "denied")]);
    for host in hosts {
        host.set_nonblocking(true).unwrap();
        assert!(host.accept().is_err(), "something came through");
    }
}
