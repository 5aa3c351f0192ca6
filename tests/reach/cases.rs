//! Public faults of the field, played in the world. Each bears the id of its case in `tests/cases`.

use std::fs;

use crate::world::{POLICY, World, text};

/// SBX-14, with a list: the host of the list alone answers, and each denial names host and port. (With
/// an empty list and without one: `tests/gateway/doctor.rs`.)
pub(crate) fn a_list_is_enforced() {
    let world = World::new(POLICY);
    let probe = include_str!("../cases/sandbox/SBX-14.probe.py");
    fs::write(world.at("home/project/probe.py"), probe).unwrap();
    let (listed, other) = ("api.allowed.test:80", "other.denied.test:80");
    let words = ["/usr/bin/python3", "probe.py", listed, other];
    let output = world.run(&["--host", listed], &words);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let want = include_str!("../cases/sandbox/SBX-14.want.tsv");
    for (got, want) in out.lines().zip(want.lines()) {
        assert!(got.starts_with(want), "{got} for {want}\n{err}");
    }
    assert_eq!(out.lines().count(), want.lines().count(), "{err}");
    assert!(
        err.contains(&format!("may not connect to {other}: ")),
        "{err}"
    );
    let served = world.arrived("served");
    assert_eq!(served.len(), 1, "{served:#?}");
}

/// An MCP client over HTTP that takes packed answers, and says what it made of each.
const CLIENT: &str = r#"
import gzip, json, sys, urllib.request
for message in (
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list"},
):
    request = urllib.request.Request(sys.argv[1], json.dumps(message).encode(),
        {"Content-Type": "application/json", "Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request, timeout=10) as reply:
        body, packed = reply.read(), reply.headers.get("Content-Encoding")
        hop = [name for name in ("X-Hop", "Keep-Alive") if name in reply.headers]
        if packed:
            body = gzip.decompress(body)
        said = json.loads(body).get("result", {}) if body else {}
        print(reply.status, packed, hop, [tool["name"] for tool in said.get("tools", [])])
"#;

/// WEB-10: what the proxy passes on is packed as it says, whole, and without the fields that were for
/// the proxy. Within TLS it passes everything as it came.
pub(crate) fn packed_answers_stay_packed() {
    let world = World::new(POLICY);
    let routes = include_str!("../cases/WEB-10.http.json");
    fs::write(world.at("www/routes.json"), routes).unwrap();
    fs::write(world.at("home/project/client.py"), CLIENT).unwrap();
    let plain = "200 gzip [] []\n202 None [] []\n200 gzip [] ['a']\n";
    let within = plain.replace("[] [", "['X-Hop', 'Keep-Alive'] [");
    for (scheme, want) in [("http", plain), ("https", &within)] {
        let url = format!("{scheme}://api.allowed.test/mcp");
        let hosts = [
            "--host",
            "api.allowed.test",
            "--host",
            "api.allowed.test:80",
        ];
        let output = world.run(&hosts, &["/usr/bin/python3", "client.py", &url]);
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert_eq!(out, want, "{url}\n{err}");
    }
}
