//! Command lines and what they really start.

use crate::config::{Code, command_name, started};
use crate::request::RunnerKind;

fn split(line: &str) -> (String, Vec<String>) {
    let words = crate::config::shell::words(line);
    let (first, rest) = words.split_first().unwrap();
    (first.clone(), rest.to_vec())
}

fn check(line: &str, runner: RunnerKind, package: &str, code: &Code) {
    let (command, args) = split(line);
    let started = started(&command, &args);
    let found = started.package.map_or_else(String::new, |package| {
        let pinned = if package.pinned { "!" } else { "" };
        format!("{} {}{pinned}", package.name, package.version)
    });
    assert_eq!((started.runner, found.trim()), (runner, package), "{line}");
    assert_eq!(&started.code, code, "{line}");
}

#[test]
fn packages_are_found_behind_options() {
    let npx = |line: &str, package: &str| check(line, RunnerKind::Npx, package, &Code::None);
    npx("npx -y @scope/server@1.2.3 /data", "@scope/server 1.2.3!");
    npx("npx server", "server");
    npx(
        "npx --yes --registry https://r.test server@latest",
        "server latest",
    );
    npx("npx -p pkg@1.0.0 tool", "pkg 1.0.0!");
    npx("npx --package=pkg tool --package=other", "pkg");
    npx("npx -- server", "server");
    npx("/usr/local/bin/npx.cmd -y server", "server");
    npx("npm exec -y -- server@2.0.0", "server 2.0.0!");
    npx("pnpm dlx server", "server");
    npx("yarn dlx server", "server");
    npx("bunx server", "server");
    npx("bun x server", "server");
    npx("deno run -A npm:server@1.0.0", "server 1.0.0!");
    npx("env FOO=1 npx -y server", "server");
    let uvx = |line: &str, package: &str| check(line, RunnerKind::Uvx, package, &Code::None);
    uvx("uvx server==1.2", "server 1.2!");
    uvx("uvx --from server@1.2 tool", "server 1.2!");
    uvx("uvx --python 3.12 server", "server");
    uvx("uv tool run server", "server");
    check(
        "pipx run --spec a==1 b",
        RunnerKind::Pipx,
        "a 1!",
        &Code::None,
    );
    let docker = |line: &str, package: &str| check(line, RunnerKind::Docker, package, &Code::None);
    docker("docker run -i --rm -e TOKEN mcp/x", "mcp/x");
    docker(
        "docker run -it --name x -v /:/host --network=host mcp/x:1 run",
        "mcp/x 1",
    );
    docker("podman --log-level debug run --rm x", "x");
    docker("docker ps", "");
    check(
        "go run x.test/y@v1.0.0",
        RunnerKind::Cargo,
        "x.test/y v1.0.0!",
        &Code::None,
    );
    check("cargo run --bin x", RunnerKind::Cargo, "", &Code::None);
}

#[test]
fn code_is_found_behind_options() {
    let file = |text: &str| Code::File(text.to_owned());
    let script = |line: &str, code: &Code| check(line, RunnerKind::Script, "", code);
    script("node x.js --eval 1", &file("x.js"));
    script("node --require ./hook.js --no-warnings x.js", &file("x.js"));
    script(
        "node -e 'process.exit()'",
        &Code::Inline("process.exit()".to_owned()),
    );
    script("node", &Code::None);
    script("python3.12 -u -W ignore x.py -c no", &file("x.py"));
    script(
        "python -m pkg.server --port 1",
        &Code::Module("pkg.server".to_owned()),
    );
    script("python3 -Im pkg", &Code::Module("pkg".to_owned()));
    script(
        "python3 -Ic 'import os'",
        &Code::Inline("import os".to_owned()),
    );
    script(
        "python3 -cimport\\ os",
        &Code::Inline("import os".to_owned()),
    );
    script("python3 -", &Code::None);
    script("sh -c 'rm x'", &Code::Shell("rm x".to_owned()));
    script("bash -lc 'id' name", &Code::Shell("id".to_owned()));
    script("bash -o pipefail -c -e 'id'", &Code::Shell("id".to_owned()));
    script("bash -x run.sh -c id", &file("run.sh"));
    script("bun run x.ts", &file("x.ts"));
    script("deno run --allow-net=x.test x.ts", &file("x.ts"));
    script("deno eval 'x'", &Code::Inline("x".to_owned()));
    script("perl -ne 'print'", &Code::Inline("print".to_owned()));
    script("env -S node x.js", &file("x.js"));
    check("uv run x.py", RunnerKind::Uvx, "", &file("x.py"));
    check(
        "uv run --project /x python -m y",
        RunnerKind::Uvx,
        "",
        &Code::Module("y".to_owned()),
    );
    check("/opt/bin/server --x", RunnerKind::Binary, "", &Code::None);
    check(
        "npx -c 'curl x | sh'",
        RunnerKind::Npx,
        "",
        &Code::Shell("curl x | sh".to_owned()),
    );
}

#[test]
fn a_command_line_is_named_by_what_it_starts() {
    for (line, want) in [
        ("npx -y @scope/server@1.2.3 /data", "@scope/server"),
        ("npx --package=pkg@1 tool", "pkg"),
        ("bunx server@latest", "server"),
        ("pnpm dlx server", "server"),
        ("yarn dlx server", "server"),
        ("npm exec -y -- server@2.0.0", "server"),
        ("uvx server==1.2", "server"),
        ("uvx --from server@1.2 tool", "server"),
        ("uv tool run server", "server"),
        ("pipx run --spec a==1 b", "a"),
        ("docker run -i --rm mcp/x:1", "mcp/x"),
        ("python3 -m mcp_server_git", "mcp_server_git"),
        ("node /srv/tools/server.js --port 1", "server.js"),
        ("/usr/local/bin/mcp-files .", "mcp-files"),
        ("npx", "npx"),
        ("sh -c 'exec mcp-files'", "sh"),
    ] {
        let (command, args) = split(line);
        assert_eq!(command_name(&command, &args), want, "{line}");
    }
}
