//! `npx` in the sandbox, with a policy of three lines: the package is fetched from the one granted
//! host, kept in a private cache, and started from there the next time without any network.

use std::fs;
use std::process::Command;

use crate::world::{World, text};

/// The three lines that the documentation shows.
const POLICY: &str = r#"
permit (principal, action == Action::"sandbox.network", resource == Host::"registry.allowed.test")
when { context.port == 443 };
"#;

pub(crate) fn a_package_is_fetched_once() {
    let found = Command::new("sh").args(["-c", "command -v npx"]).output();
    if !found.is_ok_and(|found| found.status.success()) {
        println!("skipped: npx is not installed");
        return;
    }
    let world = World::new(&format!(
        "@id(\"npm\") @reason(\"The registry.\") {}",
        POLICY.trim()
    ));
    registry(&world);
    let settings = "registry=https://registry.allowed.test/\n";
    fs::write(world.at("home/project/.npmrc"), settings).unwrap();
    let start = || {
        let output = world.run(
            &["--host", "registry.allowed.test"],
            &["npx", "-y", "some-server", "now"],
        );
        let err = text(&output.stderr);
        assert_eq!(text(&output.stdout), "served now\n", "{err}");
        world.arrived("served").len()
    };
    let first = start();
    assert!(first >= 2, "{:?}", world.arrived("served"));
    let packets = world.arrived("packets");
    assert_eq!(start(), first);
    assert_eq!(
        world.arrived("packets"),
        packets,
        "the second start used the network"
    );
    // Without the host: the registry is not reached, and the cache of this package is still there.
    let output = world.run(&[], &["npx", "-y", "some-server", "later"]);
    assert_eq!(
        text(&output.stdout),
        "served later\n",
        "{}",
        text(&output.stderr)
    );
    let other = world.run(&[], &["npx", "-y", "other-server"]);
    assert!(!other.status.success());
}

/// A registry of one package.
fn registry(world: &World) {
    let package = world.at("package");
    fs::create_dir_all(&package).unwrap();
    let description = r#"{"name": "some-server", "version": "1.0.0", "bin": "server.js"}"#;
    fs::write(package.join("package.json"), description).unwrap();
    let script = "#!/usr/bin/env node\nconsole.log('served', process.argv[2]);\n";
    fs::write(package.join("server.js"), script).unwrap();
    let tarball = world.at("www/some-server-1.0.0.tgz");
    let packed = Command::new("tar")
        .args(["-czf"])
        .arg(&tarball)
        .args(["-C"])
        .arg(world.at(""))
        .arg("package")
        .status();
    assert!(packed.unwrap().success());
    let hashed = Command::new("openssl")
        .args(["dgst", "-sha512", "-binary", "-out"])
        .args([world.at("hash"), tarball])
        .status();
    assert!(hashed.unwrap().success());
    let encoded = Command::new("openssl")
        .args(["base64", "-A", "-in"])
        .arg(world.at("hash"))
        .output()
        .unwrap();
    let integrity = format!("sha512-{}", text(&encoded.stdout).trim());
    let packument = serde_json::json!({
        "name": "some-server",
        "dist-tags": {"latest": "1.0.0"},
        "versions": {"1.0.0": {
            "name": "some-server", "version": "1.0.0", "bin": {"some-server": "server.js"},
            "dist": {
                "tarball": "https://registry.allowed.test/some-server-1.0.0.tgz",
                "integrity": integrity,
            },
        }},
    });
    fs::write(world.at("www/some-server"), packument.to_string()).unwrap();
}
