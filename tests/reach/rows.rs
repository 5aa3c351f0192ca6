//! Every way out that a program may try (`probe.py`), with what comes of it.

use std::collections::BTreeMap;
use std::fs;
use std::net::TcpListener;

use crate::world::{POLICY, World, text};

/// `api.allowed.test` on ports 443 and 80 is allowed, and nothing else. What ends in 4xx or `closed`
/// was refused by the proxy; no answer came from behind it.
const WANT: &[(&str, &str)] = &[
    ("allowed host", "200"),
    ("allowed host, fetched", "200 hello"),
    ("allowed host, plain", "200 hello"),
    ("denied host", "403"),
    ("denied host, plain", "403"),
    ("subdomain", "403"),
    ("parent", "403"),
    ("look-alike", "403"),
    ("suffix of another", "403"),
    ("port not listed", "403"),
    ("port 22", "403"),
    ("port 0", "400"),
    ("no port", "400"),
    ("trailing dot", "200"),
    ("upper case", "200"),
    ("punycode", "403"),
    ("Unicode", "400"),
    ("NUL", "400"),
    ("CRLF", "400"),
    ("space", "400"),
    ("percent", "400"),
    ("user", "400"),
    ("zone id", "400"),
    ("decimal address", "403"),
    ("hex address", "403"),
    ("octal address", "403"),
    ("address", "403"),
    ("mapped address", "403"),
    ("loopback", "403"),
    ("loopback, short", "403"),
    ("localhost", "403"),
    ("metadata", "403"),
    ("private", "403"),
    ("name to loopback", "403"),
    ("name to metadata", "403"),
    ("name to private", "403"),
    ("name to own address", "403"),
    ("mixed answers", "403"),
    ("rebinding, first", "200"),
    ("rebinding, second", "403"),
    ("name of the list of hosts", "200"),
    ("the same to private", "403"),
    ("no such name", "502"),
    ("SNI as asked", "answered"),
    ("SNI of another", "closed"),
    ("SNI of the same address", "closed"),
    ("no SNI", "closed"),
    ("hidden name", "closed"),
    ("hidden name, draft", "closed"),
    ("unknown extension", "answered"),
    ("hello in pieces", "answered"),
    ("no TLS on 443", "b'HTTP/1.1 400 Bad'"),
    ("SSH on 443", "b'HTTP/1.1 408 Req'"),
    ("silent hello", "closed"),
    ("slow hello", "closed"),
    ("Host of another", "400"),
    ("two Hosts", "400"),
    ("two lengths", "400"),
    ("second request elsewhere", "1"),
    ("WebSocket", "400"),
    ("WebSocket by its address", "400"),
    ("upgrade, unconnected", "400"),
    ("offer of HTTP/2, not passed on", "200"),
    ("no absolute form", "400"),
    ("https in absolute form", "400"),
    ("large head", "400"),
    ("SOCKS, allowed", "0"),
    ("SOCKS, denied", "2"),
    ("SOCKS, NUL", "2"),
    ("SOCKS, NUL behind", "2"),
    ("SOCKS, CRLF", "2"),
    ("SOCKS, space", "2"),
    ("SOCKS, percent", "2"),
    ("SOCKS, Unicode", "2"),
    ("SOCKS, zone id", "2"),
    ("SOCKS, decimal address", "2"),
    ("SOCKS, name to private", "2"),
    ("SOCKS, mapped address", "2"),
    ("SOCKS, address", "2"),
    ("SOCKS, loopback", "2"),
    ("SOCKS, bind", "7"),
    ("SOCKS, UDP", "7"),
    ("direct TCP", "refused"),
    ("direct IPv6", "refused"),
    ("direct UDP", "refused"),
    ("direct DNS", "refused"),
    ("name lookup", "unknown"),
    ("lookup of a secret", "unknown"),
    ("machine's loopback", "refused"),
    ("machine's address", "refused"),
    ("own loopback", "sent"),
    ("raw socket", "refused"),
    ("packet socket", "refused"),
    ("unix socket", "refused"),
    ("unix socket of the machine", "refused"),
    ("abstract socket of the machine", "refused"),
    ("io_uring", "refused"),
    ("vsock", "refused"),
    ("client without variables", "failed"),
    ("NO_PROXY=*", "failed"),
    ("relay inside", "403"),
    ("many at once", "some, then 200"),
];

/// What the names of the test lead to; of these alone the name server may hear.
const ASKED: &[&str] = &["api.allowed.test", "inside.test"];

pub(crate) fn every_way_out() {
    let world = World::new(POLICY);
    let probe = include_str!("probe.py");
    fs::write(world.at("home/project/probe.py"), probe).unwrap();
    // It is of the namespaces of this test and not of the world's; inside, the port leads nowhere.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let hosts = [
        "--host",
        "api.allowed.test",
        "--host",
        "api.allowed.test:80",
    ];
    let output = world.run(&hosts, &["/usr/bin/python3", "probe.py", &port]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let got: Vec<(&str, &str)> = out
        .lines()
        .filter_map(|line| line.split_once(": "))
        .collect();
    let wrong: Vec<String> = WANT
        .iter()
        .filter(|want| !got.contains(want))
        .map(|(row, want)| {
            let got = got.iter().find(|(name, _)| name == row);
            format!(
                "{row}: want {want}, got {:?}",
                got.map(|(_, outcome)| outcome)
            )
        })
        .collect();
    assert!(
        wrong.is_empty() && got.len() == WANT.len(),
        "{wrong:#?}\n{err}"
    );

    // Nothing arrived but talk with the allowed host, and questions about allowed names.
    let packets = world.arrived("packets");
    let expected = [
        "6 93.184.215.14 443",
        "6 93.184.215.14 80",
        "17 93.184.215.15 53",
    ];
    let foreign: Vec<_> = (packets.keys())
        .filter(|packet| !expected.contains(&packet.as_str()))
        .collect();
    assert!(
        foreign.is_empty() && packets.len() == expected.len(),
        "{packets:#?}"
    );
    let names = world.arrived("names");
    let named = |name: &String| {
        ASKED.iter().any(|asked| {
            name.split(' ')
                .next()
                .is_some_and(|name| name == *asked || name.ends_with(&format!(".{asked}")))
        })
    };
    assert!(!names.is_empty() && names.keys().all(named), "{names:#?}");
    assert!(
        !names.keys().any(|name| name.contains("listed")),
        "{names:#?}"
    );
    let served = world.arrived("served");
    assert!(
        served.keys().all(|line| line.starts_with("93.184.215.14:")),
        "{served:#?}"
    );
    // Who and why, for the person at the terminal.
    assert!(
        err.contains("may not connect to other.denied.test:443: "),
        "{err}"
    );
    assert!(
        err.contains("run it with `--host other.denied.test`"),
        "{err}"
    );
    assert_eq!(secrets(&world), Vec::<String>::new());
}

/// Without a host there is no proxy either: nothing answers, and nothing arrives.
pub(crate) fn nothing_is_granted() {
    let world = World::new(POLICY);
    fs::write(world.at("home/project/probe.py"), include_str!("probe.py")).unwrap();
    let output = world.run(&[], &["/usr/bin/python3", "probe.py", "9"]);
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let rows: Vec<&str> = out.lines().collect();
    assert_eq!(rows.len(), WANT.len(), "{out}\n{err}");
    let reached = ["200", "answered", "found", "open", ": 0", "sent"];
    let open: Vec<&&str> = (rows.iter())
        .filter(|row| reached.iter().any(|word| row.contains(word)))
        .filter(|row| **row != "own loopback: sent")
        .collect();
    assert!(open.is_empty(), "{open:#?}");
    let arrived = ["packets", "names", "served"].map(|log| world.arrived(log));
    assert!(arrived.iter().all(BTreeMap::is_empty), "{arrived:#?}");
}

/// Records hold hosts, and never a path, a query or a header.
fn secrets(world: &World) -> Vec<String> {
    let records = world.records();
    assert!(!records.is_empty());
    let texts = records.iter().map(ToString::to_string);
    texts
        .filter(|text| text.contains("websocket") || text.contains("yyyyyyyy"))
        .collect()
}
