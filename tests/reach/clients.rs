//! Real clients inside: they reach the allowed host through the proxy, and nothing else.

use std::fs;
use std::process::Command;

use crate::programs::{cargo, found, recent_node};
use crate::world::{POLICY, World, text};

/// A client that fetches from a host and then says "hello", or what else shows that it has it.
struct Client {
    name: &'static str,
    /// The program it needs.
    program: fn(&World) -> Option<String>,
    /// What a shell runs, with the URL as `$1` and the program as `$0`.
    script: &'static str,
    /// What it fetches first.
    path: &'static str,
    says: &'static str,
}

const CLIENTS: &[Client] = &[
    Client {
        name: "curl",
        program: |_| found("curl"),
        script: r#"exec "$0" -sS --fail "$1""#,
        path: "",
        says: "hello",
    },
    Client {
        name: "python3",
        program: |_| found("/usr/bin/python3"),
        script: r#"exec "$0" -c '
import sys, urllib.request as r
print(r.urlopen(sys.argv[1]).read().decode())' "$1""#,
        path: "",
        says: "hello",
    },
    Client {
        name: "node",
        program: |_| found("node"),
        script: BY_HAND,
        path: "",
        says: "hello",
    },
    Client {
        name: "node's own fetch",
        program: recent_node,
        script: r#"exec "$0" -e '
fetch(process.argv[1]).then((r) => r.ok ? r.text() : Promise.reject(new Error(r.status)))
    .then(console.log, (e) => { console.error(String(e.cause ?? e)); process.exit(1); })' "$1""#,
        path: "",
        says: "hello",
    },
    Client {
        name: "node's own https",
        program: recent_node,
        script: r#"exec "$0" -e '
require("https").get(process.argv[1], (r) => r.setEncoding("utf8").on("data", console.log))
    .on("error", (e) => { console.error(String(e)); process.exit(1); })' "$1""#,
        path: "",
        says: "hello",
    },
    Client {
        name: "git",
        program: |_| found("git"),
        script: r#"exec "$0" ls-remote "$1""#,
        path: "repo.git",
        says: "refs/heads/main",
    },
    Client {
        name: "npm",
        program: |_| found("npm"),
        script: r#"exec "$0" view --fetch-retries=0 --registry "$1" tiny version"#,
        path: "",
        says: "1.0.0",
    },
    Client {
        name: "pip",
        program: |_| found("/usr/bin/python3"),
        script: r#"exec "$0" -m pip download --no-deps --retries=0 --no-cache-dir -d "$TMPDIR" \
            --disable-pip-version-check --index-url "$1" tiny"#,
        path: "simple/",
        says: "Successfully downloaded tiny",
    },
    Client {
        name: "cargo",
        program: cargo,
        script: r#"cp -r crate "$TMPDIR" && cd "$TMPDIR/crate" && export CARGO_HOME="$TMPDIR/cargo" &&
            "$0" --config "registries.test.index = 'sparse+$1'" --config net.retry=0 vendor -q &&
            cat vendor/tiny/src/lib.rs"#,
        path: "index/",
        says: "hello",
    },
    Client {
        name: "java",
        program: |_| found("java"),
        script: r#"keytool -importcert -noprompt -alias test -file "$SSL_CERT_FILE" \
            -keystore "$TMPDIR/store" -storepass changeit >&2 2>"$TMPDIR/said" &&
            exec "$0" -Djavax.net.ssl.trustStore="$TMPDIR/store" \
            -Djavax.net.ssl.trustStorePassword=changeit Client.java "$1""#,
        path: "",
        says: "hello",
    },
];

/// Node's own `fetch` heeds the proxy from 22.21 and 24.5 on. With an older one a program does what
/// the usual packages do: a tunnel by hand.
const BY_HAND: &str = r#"exec "$0" -e '
const url = new URL(process.argv[1]);
const fails = (error) => { console.error(String(error.cause ?? error)); process.exit(1); };
const proxy = new URL(process.env.HTTPS_PROXY);
const path = `${url.hostname}:443`;
require("http").request({ host: proxy.hostname, port: proxy.port, method: "CONNECT", path,
    headers: { Host: path } })
  .on("connect", (r, socket) => {
    if (r.statusCode !== 200) return fails(new Error(r.statusCode));
    require("https").get(url, { socket, agent: false }, (r) => {
      let text = "";
      r.on("data", (data) => { text += data; }).on("end", () => console.log(text));
    }).on("error", fails);
  }).on("error", fails).end();' "$1""#;

const JAVA: &str = r#"
import java.net.URL;
class Client {
    public static void main(String[] words) throws Exception {
        System.out.println(new String(new URL(words[0]).openStream().readAllBytes()));
    }
}
"#;

pub(crate) fn real_clients() {
    let world = World::new(POLICY);
    repository(&world);
    npm_package(&world);
    wheel(&world);
    cargo_crate(&world);
    fs::write(world.at("home/project/Client.java"), JAVA).unwrap();
    for client in CLIENTS {
        let Some(program) = (client.program)(&world) else {
            println!("skipped {}: not to be had here", client.name);
            continue;
        };
        for (host, want) in [
            ("api.allowed.test", Want::Reached),
            ("other.denied.test", Want::Refused),
            ("private.inside.test", Want::Refused),
        ] {
            check(&world, (client, &program), host, want);
        }
    }
    let served = world.arrived("served");
    assert!(
        served
            .keys()
            .all(|line| line.starts_with("93.184.215.14:443 ")),
        "{served:#?}"
    );
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Want {
    Reached,
    Refused,
}

/// Whether a client reaches a host; where not, it is said why.
fn check(world: &World, (client, program): (&Client, &str), host: &str, want: Want) {
    let url = format!("https://{host}/{}", client.path);
    let words = ["sh", "-c", client.script, program, &url];
    let output = world.run(&["--host", "api.allowed.test"], &words);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let got = output.status.success() && out.trim().ends_with(client.says);
    let reached = if got { Want::Reached } else { Want::Refused };
    assert_eq!(reached, want, "{} to {host}: {out} {err}", client.name);
    if want == Want::Refused {
        let told = format!("may not connect to {host}:443");
        assert!(err.contains(&told), "{} to {host}: {err}", client.name);
    }
}

/// Runs a script in the world's folder.
fn make(world: &World, script: &str) {
    let made = Command::new("sh")
        .args(["-e", "-c", script])
        .current_dir(world.at(""))
        .env("HOME", world.at("home"))
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", text(&made.stderr));
}

/// A repository as any web server can serve it.
fn repository(world: &World) {
    make(
        world,
        "git init -q -b main made; cd made;
        git -c user.name=n -c user.email=e@x.test commit -q --allow-empty -m one;
        git clone -q --bare . ../www/repo.git; cd ../www/repo.git; git update-server-info",
    );
}

fn npm_package(world: &World) {
    let package = r#"{"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": {
        "name": "tiny", "version": "1.0.0", "dist": {"tarball": "https://x.test/t.tgz"}}}}"#;
    fs::write(world.at("www/tiny"), package).unwrap();
}

/// An index of Python packages, and a wheel.
fn wheel(world: &World) {
    const WHEEL: &str = r#"
import os, zipfile
os.makedirs("www/simple/tiny")
name = "tiny-1.0-py3-none-any.whl"
about = "tiny-1.0.dist-info"
with zipfile.ZipFile("www/simple/tiny/" + name, "w") as wheel:
    wheel.writestr("tiny.py", "")
    wheel.writestr(about + "/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
    wheel.writestr(about + "/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    wheel.writestr(about + "/RECORD", "")
with open("www/simple/tiny/index.html", "w") as page:
    page.write(f"<!DOCTYPE html><a href='{name}'>{name}</a>")
"#;
    make(world, &format!("python3 -c '{WHEEL}'"));
}

/// A sparse index of crates, a crate, and a project that wants it.
fn cargo_crate(world: &World) {
    make(
        world,
        r#"mkdir -p tiny-1.0.0/src www/index/ti/ny www/crates home/project/crate/src
        echo hello > tiny-1.0.0/src/lib.rs
        printf '[package]\nname = "tiny"\nversion = "1.0.0"\n' > tiny-1.0.0/Cargo.toml
        tar -czf www/crates/tiny-1.0.0.crate tiny-1.0.0
        sum=$(sha256sum www/crates/tiny-1.0.0.crate | cut -d ' ' -f 1)
        echo '{"dl": "https://api.allowed.test/crates/{crate}-{version}.crate"}' > www/index/config.json
        echo "{\"name\": \"tiny\", \"vers\": \"1.0.0\", \"deps\": [], \"cksum\": \"$sum\",
            \"features\": {}, \"yanked\": false}" | tr -d '\n' > www/index/ti/ny/tiny
        touch home/project/crate/src/lib.rs
        printf '[package]\nname = "wants"\nversion = "1.0.0"\n
            [dependencies]\ntiny = { version = "1", registry = "test" }\n' > home/project/crate/Cargo.toml"#,
    );
}
