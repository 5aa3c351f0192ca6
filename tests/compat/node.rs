//! node and npm: threads, processes, an own server, watching, packages from a cache.

use crate::stage::{Line, check};
use crate::tools::{NODE, NPM};

#[test]
fn threads_and_processes() {
    check(&[
        Line::new(
            "node workers",
            &[NODE],
            r#"cat > w.js <<'END'
const { Worker, isMainThread, parentPort } = require("worker_threads");
if (!isMainThread) parentPort.postMessage("from a worker");
else new Worker(__filename).on("message", text => console.log(text));
END
node w.js"#,
            &["from a worker"],
        ),
        Line::new(
            "node children",
            &[NODE],
            r#"cat > c.js <<'END'
const { fork, execSync } = require("child_process");
if (process.argv[2]) process.send("from a child");
else fork(__filename, ["child"]).on("message", text => console.log(text, String(execSync("echo and a shell"))));
END
node c.js"#,
            &["from a child and a shell"],
        ),
        Line::new(
            "node cluster",
            &[NODE],
            r#"cat > c.js <<'END'
const cluster = require("cluster"), http = require("http");
if (cluster.isPrimary) cluster.fork().on("listening", (at) => {
  http.get({ port: at.port, host: "127.0.0.1" }, answer => {
    answer.on("data", text => console.log(String(text))); answer.on("end", () => process.exit());
  });
});
else http.createServer((_, answer) => answer.end("from the cluster")).listen(0, "127.0.0.1");
END
node c.js"#,
            &["from the cluster"],
        ),
    ]);
}

#[test]
fn a_development_server() {
    check(&[Line::new(
        "node server",
        &[NODE],
        r#"cat > s.js <<'END'
const server = require("http").createServer((_, answer) => answer.end("served"));
server.listen(0, "localhost", async () => {
  const answer = await fetch("http://localhost:" + server.address().port);
  console.log(await answer.text()); server.close();
});
END
node s.js"#,
        &["served"],
    )]);
}

#[test]
fn watching() {
    check(&[Line::new(
        "node watch",
        &[NODE],
        r#"mkdir -p src/below && cat > w.js <<'END'
const fs = require("fs");
const watcher = fs.watch("src", { recursive: true }, (_, name) => {
  if (name && name.endsWith("new.txt")) { console.log("saw " + name); watcher.close(); clearInterval(again); }
});
const again = setInterval(() => fs.writeFileSync("src/below/new.txt", String(Math.random())), 50);
END
node w.js"#,
        &["saw below/new.txt"],
    )]);
}

/// Packages come from the user's cache: filled outside from two packages that lie on the disk, so
/// that no network is needed here either.
#[test]
fn packages_from_a_cache() {
    let before = r#"
mkdir -p ../store/left ../store/right && cd ../store
echo '{"name":"left","version":"1.0.0","main":"i.js"}' > left/package.json
echo 'module.exports = "left"' > left/i.js
echo '{"name":"right","version":"1.0.0","main":"i.js","bin":{"right":"b.js"},"scripts":{"postinstall":"echo ran > made"}}' > right/package.json
echo 'module.exports = "right"' > right/i.js
printf '#!/usr/bin/env node\nconsole.log("a program")\n' > right/b.js
npm pack --silent ./left ./right > /dev/null
cat > registry.js <<'END'
const http = require("http"), fs = require("fs"), crypto = require("crypto");
const server = http.createServer((request, answer) => {
  const name = request.url.split("/")[1];
  const file = fs.readFileSync(name.replace(/-1.0.0.tgz$/, "") + "-1.0.0.tgz");
  if (request.url.endsWith(".tgz")) return answer.end(file);
  const host = "http://" + request.headers.host;
  const manifest = { ...JSON.parse(fs.readFileSync(name + "/package.json")),
    dist: { tarball: host + "/" + name + "-1.0.0.tgz",
      integrity: "sha512-" + crypto.createHash("sha512").update(file).digest("base64") } };
  answer.setHeader("content-type", "application/json");
  answer.end(JSON.stringify({ name, "dist-tags": { latest: "1.0.0" }, versions: { "1.0.0": manifest } }));
}).listen(0, "127.0.0.1", () => fs.writeFileSync("port", String(server.address().port)));
END
node registry.js & registry=$!
while [ ! -s port ]; do :; done
cd ../project && echo '{"name":"p","version":"1.0.0","scripts":{"test":"right"}}' > package.json
echo "registry=http://127.0.0.1:$(cat ../store/port)/" > .npmrc
npm install --silent --no-audit --no-fund left@1.0.0 right@1.0.0 || { kill $registry; exit 1; }
kill $registry && rm -rf node_modules"#;
    let line = |script, says| Line {
        before,
        ..Line::new("npm from its cache", &[NODE, NPM], script, says)
    };
    check(&[
        line(
            "npm ci --no-audit --no-fund && node -p 'require(\"left\") + require(\"right\")'
             cat node_modules/right/made && npm test",
            &["leftright", "ran", "a program"],
        ),
        line(
            "npm install --no-audit --no-fund && npm ls && npx --no-install right",
            &["left@1.0.0", "a program"],
        ),
    ]);
}
