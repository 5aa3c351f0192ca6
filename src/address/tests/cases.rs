//! The public cases about URLs, hosts and addresses: the tables are the tests.

use std::net::IpAddr;

use crate::address::web_url::{UrlFault, WebUrl};
use crate::address::{AddressClass, HostName, Locality, Reach, Unreachable, judge};

const CASES: &str = include_str!("../../../tests/cases/url-cases.tsv");

/// Rows that this module does not decide, and what does.
const OTHERS: &[(&str, &str)] = &[
    ("U006", "a rule, not a URL: which domains a rule may cover"),
    ("U134", "the ports of this program's own listeners"),
    (
        "U165 U166 U168 U169 U170 U174 U205",
        "facts about a URL's text: length, tokens, secrets",
    ),
    ("U182 U184", "the look-up: sandbox/egress/tests"),
    ("U185", "this machine's own addresses: sandbox/egress/tests"),
    (
        "U188 U200 U201 U202 U204 U206 U208 U209 U210 U212 U213 U214 U216 U217 U218 U220 U221 U222 \
         U224 U225 U226 U228 U229 U230 U232 U233 U234 U236 U237 U238 U240 U241 U242 U244 U245 U246 \
         U248 U249",
        "the answer of a web server",
    ),
];

struct Row<'a> {
    id: &'a str,
    text: String,
    addresses: Vec<IpAddr>,
    setting: &'a str,
    want: &'a str,
}

fn rows() -> Vec<Row<'static>> {
    let lines = CASES.lines().skip(1);
    let row = |line: &'static str| {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap();
        let (id, text, addresses, setting, want) = (next(), next(), next(), next(), next());
        // "1st answer A; 2nd answer B": only the first look-up counts.
        let words = addresses.split(';').next().unwrap().split([' ', ',']);
        Row {
            id,
            text: unescaped(text.split(" (").next().unwrap()),
            addresses: words.filter_map(|word| word.parse().ok()).collect(),
            setting,
            want,
        }
    };
    lines.map(row).collect()
}

/// `\t`, `\n` and `\u{…}` as characters.
fn unescaped(text: &str) -> String {
    let text = text.replace("\\t", "\t").replace("\\n", "\n");
    let mut parts = text.split("\\u{");
    let mut out = parts.next().unwrap().to_owned();
    for part in parts {
        let (code, rest) = part.split_once('}').unwrap();
        out.push(char::from_u32(u32::from_str_radix(code, 16).unwrap()).unwrap());
        out.push_str(rest);
    }
    out
}

/// What the words of this module say of a row, composed as a web client composes them.
fn verdict(row: &Row<'_>) -> Result<String, String> {
    let (first, hop) = match row.text.split_once(" -> ") {
        Some((first, hop)) => (first, Some(hop.split_once(' ').unwrap().1)),
        None => (row.text.as_str(), None),
    };
    let url = WebUrl::read(first).and_then(|url| match hop {
        Some(location) => url.joined(location),
        None => Ok(url),
    });
    let url = url.map_err(fault)?;
    let reach = if row.setting == "localhost=on" {
        Reach::Loopback
    } else {
        Reach::Public
    };
    let host = url.target().host.clone();
    reach.name(&host).map_err(unreachable)?;
    let own = host.address();
    // After a hop the answers of the table are those of the first host.
    let leads_to = match own {
        Some(address) => vec![address],
        None => row.addresses.clone(),
    };
    for address in &leads_to {
        reach.address(&host, *address).map_err(unreachable)?;
    }
    if leads_to
        .iter()
        .any(|a| judge(*a).class == AddressClass::Loopback)
    {
        return Ok("ALLOW over http".to_owned());
    }
    let plain = url.as_str().starts_with("http:");
    let url = url.upgraded();
    if url.unusual_port() {
        return Ok("ASK(port)".to_owned());
    }
    if own.is_some() {
        return Ok("ASK(ip literal)".to_owned());
    }
    let strange = match row.setting {
        "host approved" | "localhost=on" | "b.test approved" => false,
        "first fetch from host" => true,
        other => !approved(other.strip_suffix(" approved").unwrap(), &host),
    };
    if strange {
        return Ok("ASK(host)".to_owned());
    }
    Ok(match hop.is_none() && !plain {
        true => "ALLOW".to_owned(),
        false => format!("ALLOW as {}", url.as_str()),
    })
}

fn approved(rule: &str, host: &HostName) -> bool {
    match rule.strip_prefix("*.") {
        Some(domain) => host.as_str().ends_with(&format!(".{domain}")),
        None => host.as_str() == rule,
    }
}

fn fault(fault: UrlFault) -> String {
    let name = match fault {
        UrlFault::Control => "control char",
        UrlFault::Whitespace => "whitespace",
        UrlFault::Invisible => "invisible char",
        UrlFault::Scheme => "scheme",
        UrlFault::Form => "form",
        UrlFault::Backslash => "backslash",
        UrlFault::UserInfo => "userinfo",
        UrlFault::Parse => "parse",
        UrlFault::Host => "host syntax",
        UrlFault::Port => "port",
    };
    format!("REFUSE({name})")
}

fn unreachable(why: Unreachable) -> String {
    match why {
        Unreachable::Name(Locality::Localhost) => "REFUSE(local name)".to_owned(),
        Unreachable::Name(Locality::SingleLabel) => "REFUSE(single label)".to_owned(),
        Unreachable::Name(_) => "REFUSE(special-use name)".to_owned(),
        Unreachable::NotLoopback => "REFUSE(address: non-loopback)".to_owned(),
        Unreachable::Address(judged) => match judged.range {
            "this network" => "REFUSE(address: this-network)".to_owned(),
            // The table calls the address of cloud metadata by its range.
            "cloud metadata" => "REFUSE(address: link-local)".to_owned(),
            _ => format!("REFUSE(address: {})", judged.class.name()),
        },
    }
}

/// Where the answer is given under another name than the table's, and why.
const NAMED_OTHERWISE: &[(&str, &str, &str)] = &[
    (
        "U037",
        "REFUSE(form)",
        "an empty host, seen before the parser drops the slashes",
    ),
    (
        "U149",
        "REFUSE(invisible char)",
        "seen before the parser rejects it",
    ),
    (
        "U150",
        "REFUSE(invisible char)",
        "seen before the parser rejects it",
    ),
];

#[test]
fn url_cases() {
    let mut judged = 0;
    for row in rows() {
        if OTHERS
            .iter()
            .any(|(ids, _)| ids.split_whitespace().any(|id| id == row.id))
        {
            continue;
        }
        judged += 1;
        let got = verdict(&row).unwrap_or_else(|refused| refused);
        let renamed = NAMED_OTHERWISE.iter().find(|(id, ..)| *id == row.id);
        let want = renamed.map_or(row.want, |(_, want, _)| want);
        let fits = match want {
            "REFUSE(address)" => got.starts_with("REFUSE(address: "),
            "ALLOW" | "ALLOW, fragment dropped" | "ALLOW to 93.184.215.14 only" => {
                got.starts_with("ALLOW")
            }
            "ALLOW as /x" => got == "ALLOW" && shows(&row, "/x"),
            _ => got == want,
        };
        assert!(fits, "{} {:?}: got {got}, want {want}", row.id, row.text);
        assert!(!row.id.starts_with("U172") || shows(&row, "/"));
    }
    // A row is judged here, or named in OTHERS with what decides it.
    assert_eq!((judged, rows().len()), (137, 187));
}

/// Whether the URL that is fetched ends so.
fn shows(row: &Row<'_>, end: &str) -> bool {
    WebUrl::read(&row.text).unwrap().as_str() == format!("https://example.com{end}")
}

/// WEB-03: all spellings are brought to one address before the test; what does not parse is refused.
#[test]
fn web_03() {
    const CASES: &str = include_str!("../../../tests/cases/WEB-03.urls.tsv");
    for line in CASES.lines().skip(1) {
        let (text, want) = line.split_once('\t').unwrap();
        let judged = WebUrl::read(text).ok().map(|url| {
            let host = url.target().host.clone();
            let address = host.address().unwrap();
            (address, Reach::Public.address(&host, address))
        });
        match (want, judged) {
            ("deny" | "refuse, does not parse", None) => {}
            ("deny", Some((_, result))) => assert!(result.is_err(), "{text}"),
            // The address inside stands for a public one; it is unwrapped, and documentation to us.
            ("allow (public inside)", Some((address, _))) => {
                assert_eq!(address, "192.0.2.7".parse::<IpAddr>().unwrap());
            }
            ("documentation range, as policy says", Some((_, result))) => {
                assert!(result.is_err(), "{text}");
            }
            (want, judged) => panic!("{text}: want {want}, got {judged:?}"),
        }
    }
}

/// WEB-06, WEB-07: whole hosts are compared, in one form; user parts are refused.
#[test]
fn web_06_and_07() {
    let host = |text: &str| WebUrl::read(text).ok().map(|url| url.target().to_string());
    const WEB_06: &str = include_str!("../../../tests/cases/WEB-06.urls.tsv");
    for line in WEB_06.lines().skip(1) {
        let (text, want) = line.split_once('\t').unwrap();
        let allowed = host(text).is_some_and(|host| host == "example.test:443");
        assert_eq!(allowed, want == "allow", "{text}");
    }
    const WEB_07: &str = include_str!("../../../tests/cases/WEB-07.urls.tsv");
    for line in WEB_07.lines().skip(1) {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap();
        let (list, text, want) = (next(), next(), next());
        let (verb, rule) = list.split_once(' ').unwrap();
        if rule.starts_with("*.") || want == "deny when sub-domains are meant" {
            continue; // Patterns are policy's: `resource in Domain::"ok.test"`.
        }
        let rule = rule.parse::<HostName>().unwrap();
        let meets = WebUrl::read(text).ok().map(|url| url.target().host == rule);
        let got = match (verb, meets) {
            (_, None) => "refuse",
            ("block", Some(true)) => "deny",
            ("allow", Some(true)) => "allow",
            other => panic!("{text}: {other:?}"),
        };
        assert_eq!(got, want, "{text}");
    }
}

/// WEB-02: what a name resolves to is judged, not the name. The table's 192.0.2.10 stands for a
/// public address.
#[test]
fn web_02() {
    const CASES: &str = include_str!("../../../tests/cases/WEB-02.hosts.tsv");
    for line in CASES.lines().skip(1) {
        let mut fields = line.split('\t');
        let mut next = || fields.next().unwrap();
        let (name, answers, want) = (next(), next(), next());
        let host: HostName = name.parse().unwrap();
        let first = answers.split(" then ").next().unwrap();
        let addresses = first.split(',').filter(|answer| !answer.is_empty());
        let reach = Reach::Public;
        let by_name = reach.name(&host).is_ok();
        let all = addresses.clone().all(|answer| {
            let answer = if answer == "192.0.2.10" {
                "93.184.215.14"
            } else {
                answer
            };
            reach.address(&host, answer.parse().unwrap()).is_ok()
        });
        // A name under `.test` stands for a public one; no answer is the look-up's error.
        assert_eq!(
            by_name && all,
            want.starts_with("allow") || want == "error",
            "{name}"
        );
        assert_eq!(addresses.count() == 0, want == "error", "{name}");
    }
}

/// How far each reach goes.
#[test]
fn reaches() {
    use Reach::{Loopback, Named, Private, Public};
    for (host, address, may) in [
        (
            "api.test",
            "8.8.8.8",
            &[Public, Loopback, Private, Named][..],
        ),
        ("api.test", "10.0.0.5", &[Private]),
        ("api.test", "100.64.0.1", &[Private]),
        ("api.test", "fd12::1", &[Private]),
        ("api.test", "127.0.0.1", &[]),
        ("api.test", "::1", &[]),
        ("api.test", "169.254.1.1", &[]),
        ("api.test", "169.254.169.254", &[]),
        ("api.test", "224.0.0.1", &[]),
        ("api.test", "0.0.0.0", &[]),
        ("api.test", "192.0.2.1", &[]),
        ("git.corp", "10.0.0.5", &[Private]),
        ("nexus", "10.0.0.5", &[Private]),
        ("nexus", "8.8.8.8", &[Private]),
        ("nexus", "127.0.0.1", &[]),
        ("abc.onion", "10.0.0.5", &[]),
        ("localhost", "127.0.0.1", &[Loopback]),
        ("localhost", "::1", &[Loopback]),
        ("localhost", "10.0.0.1", &[]),
        ("localhost", "8.8.8.8", &[]),
        ("127.0.0.1", "127.0.0.1", &[Loopback, Named]),
        ("10.0.0.5", "10.0.0.5", &[Private, Named]),
        ("169.254.1.1", "169.254.1.1", &[Named]),
        ("169.254.169.254", "169.254.169.254", &[]),
        ("168.63.129.16", "168.63.129.16", &[]),
        ("0.0.0.0", "0.0.0.0", &[]),
        ("224.0.0.1", "224.0.0.1", &[]),
        ("8.8.8.8", "8.8.8.8", &[Public, Loopback, Private, Named]),
    ] {
        let name: HostName = host.parse().unwrap();
        for reach in [Public, Loopback, Private, Named] {
            let result = reach.name(&name).and_then(|()| {
                let address = address.parse().unwrap();
                reach.address(&name, address)
            });
            let want = may.contains(&reach);
            assert_eq!(
                result.is_ok(),
                want,
                "{host} at {address}, {reach:?}: {result:?}"
            );
        }
    }
}
