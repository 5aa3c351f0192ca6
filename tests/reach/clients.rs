//! Real clients inside: they reach the allowed host through the proxy, and nothing else.

use std::process::Command;

use crate::world::{POLICY, World, text};

/// A client that fetches a URL and prints what it got.
struct Client {
    name: &'static str,
    /// Words before the URL.
    words: &'static [&'static str],
}

const CLIENTS: &[Client] = &[
    Client {
        name: "curl",
        words: &["curl", "-sS", "--fail"],
    },
    Client {
        name: "python3",
        words: &["/usr/bin/python3", "-c", PYTHON],
    },
    Client {
        name: "node",
        words: &["node", "-e", NODE],
    },
    Client {
        name: "git",
        words: &["git", "ls-remote"],
    },
];

const PYTHON: &str =
    "import sys, urllib.request as r; print(r.urlopen(sys.argv[1]).read().decode())";

/// Node's own `fetch` heeds the proxy from 22.21 and 24.5 on. Before, a program does what the usual
/// packages do: a tunnel by hand.
const NODE: &str = r#"
const url = new URL(process.argv[1]);
const [major, minor] = process.versions.node.split('.').map(Number);
const says = (text) => console.log(text);
const fails = (error) => { console.error(String(error.cause ?? error)); process.exit(1); };
if (major > 24 || (major === 24 && minor >= 5) || (major === 22 && minor >= 21)) {
  fetch(url).then((r) => r.ok ? r.text() : Promise.reject(new Error(r.status))).then(says, fails);
} else {
  const proxy = new URL(process.env.HTTPS_PROXY);
  const path = `${url.hostname}:443`;
  require('http').request({ host: proxy.hostname, port: proxy.port, method: 'CONNECT', path,
      headers: { Host: path } })
    .on('connect', (r, socket) => {
      if (r.statusCode !== 200) return fails(new Error(r.statusCode));
      require('https').get(url, { socket, agent: false }, (r) => {
        let text = '';
        r.on('data', (data) => { text += data; }).on('end', () => says(text));
      }).on('error', fails);
    }).on('error', fails).end();
}
"#;

pub(crate) fn real_clients() {
    let world = World::new(POLICY);
    repository(&world);
    for client in CLIENTS {
        let found = Command::new("sh")
            .args(["-c", &format!("command -v {}", client.name)])
            .output();
        if !found.is_ok_and(|found| found.status.success()) {
            println!("skipped {}: not installed", client.name);
            continue;
        }
        check(&world, client, "api.allowed.test", Some(client.name));
        check(&world, client, "other.denied.test", None);
        check(&world, client, "private.inside.test", None);
    }
    let served = world.arrived("served");
    assert!(
        served
            .keys()
            .all(|line| line.starts_with("93.184.215.14:443 ")),
        "{served:#?}"
    );
}

/// Whether a client reaches a host.
fn check(world: &World, client: &Client, host: &str, reaches: Option<&str>) {
    let path = if client.name == "git" { "repo.git" } else { "" };
    let url = format!("https://{host}/{path}");
    let mut words = client.words.to_vec();
    words.push(&url);
    let output = world.run(&["--host", "api.allowed.test"], &words);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let got = output.status.success()
        && (out.trim() == "hello" || out.trim().ends_with("refs/heads/main"));
    assert_eq!(
        got,
        reaches.is_some(),
        "{} to {host}: {out} {err}",
        client.name
    );
    if reaches.is_none() {
        assert!(
            err.contains(&format!("may not connect to {host}:443")),
            "{err}"
        );
    }
}

/// A repository as any web server can serve it.
fn repository(world: &World) {
    let script = "set -e; cd \"$1\"; git init -q -b main made; cd made;
        git -c user.name=n -c user.email=e@x.test commit -q --allow-empty -m one;
        git clone -q --bare . ../www/repo.git; cd ../www/repo.git; git update-server-info";
    let made = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(world.at(""))
        .env("HOME", world.at("home"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
}
