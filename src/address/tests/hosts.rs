//! Hosts: one form for each, whatever was typed or sent.

use crate::address::{HostName, Locality};

#[test]
fn hosts_have_one_form() {
    fn check(typed: &str, want: Option<&str>) {
        let got = typed.parse::<HostName>().ok().map(|host| host.to_string());
        assert_eq!(got.as_deref(), want, "{typed:?}");
    }
    // POL-09: hosts are normalised before they are shown and stored; what cannot be one is refused.
    check("mcp.example.test.", Some("mcp.example.test"));
    check("MCP.Example.Test", Some("mcp.example.test"));
    check("münchen.example.test", Some("xn--mnchen-3ya.example.test"));
    check("127.0.0.1", Some("127.0.0.1"));
    check("[::1]", Some("::1"));
    check("::ffff:127.0.0.1", Some("127.0.0.1"));
    check("[::ffff:7f00:1]", Some("127.0.0.1"));
    check("localhost", Some("localhost"));
    check("a.b_c.example.test", Some("a.b_c.example.test"));
    check(
        "r3---sn-4g5e6nls.example.test",
        Some("r3---sn-4g5e6nls.example.test"),
    );
    for bad in [
        "",
        ".",
        "a..example.test",
        "a.example.test..",
        ".example.test",
        "-bad.example.test",
        "bad-.example.test",
        "\"; permit(principal,action,resource); //",
        "mcp.example.test\nforbid",
        "mcp.example.test:8443",
        "*.example.test",
        "0177.0.0.1",
        "0x7f.1",
        "2130706433",
        "127.1",
        "１２７.0.0.1",
        "exa\u{200b}mple.test",
        "exa\u{ad}mple.test",
        "a b",
        "a\0.test",
        "user@host.test",
        "[::1",
        "[fe80::1%eth0]",
        "a/b",
        "xn--",
        "a%2eexample.test",
    ] {
        check(bad, None);
    }
    check(
        &format!("{}.test", "a".repeat(63)),
        Some(&format!("{}.test", "a".repeat(63))),
    );
    check(&format!("{}.test", "a".repeat(64)), None);
    check(&["abcdefghi"; 26].join("."), None);
}

#[test]
fn what_comes_over_the_wire_is_read_as_a_url_parser_reads_it() {
    fn check(sent: &str, want: Option<&str>) {
        let got = HostName::from_wire(sent).ok().map(|host| host.to_string());
        assert_eq!(got.as_deref(), want, "{sent:?}");
    }
    check("API.Example.TEST", Some("api.example.test"));
    check("api.example.test.", Some("api.example.test"));
    check("0177.0.0.1", Some("127.0.0.1"));
    check("127.1", Some("127.0.0.1"));
    check("0x7f.1", Some("127.0.0.1"));
    check("0x7f000001", Some("127.0.0.1"));
    check("2130706433", Some("127.0.0.1"));
    check("127.0.0.1.", Some("127.0.0.1"));
    check("010.0.0.1", Some("8.0.0.1"));
    check("0", Some("0.0.0.0"));
    check("[::ffff:10.0.0.1]", Some("10.0.0.1"));
    check("[2001:DB8::7]", Some("2001:db8::7"));
    check("xn--bcher-kva.test", Some("xn--bcher-kva.test"));
    for bad in [
        "",
        ".",
        "::1",
        "a..test",
        "a.test..",
        "256.256.256.256",
        "4294967296",
        "1.2.3.4.5",
        "bücher.test",
        "a.test\0.evil.test",
        "a%00.test",
        "a.test%2eevil.test",
        "user@a.test",
        "a.test/",
        "a.test\\",
        "a.test?",
        "a.test#",
        "a.test\r\nHost: evil.test",
        " a.test",
        "[::1%25lo]",
        "[::1]x",
        "[v1.fe80::a]",
        "xn--.test",
    ] {
        check(bad, None);
    }
}

#[test]
fn names_say_where_they_can_lead() {
    for (name, want) in [
        ("example.com", Locality::Public),
        ("notlocalhost", Locality::SingleLabel),
        ("localhost", Locality::Localhost),
        ("a.b.localhost", Locality::Localhost),
        ("localhost.example.com", Locality::Public),
        ("printer.local", Locality::SpecialUse),
        ("metadata.google.internal", Locality::SpecialUse),
        ("internal", Locality::SpecialUse),
        ("notinternal.example.com", Locality::Public),
        ("xlocal.example", Locality::Public),
        ("router.home.arpa", Locality::SpecialUse),
        ("abc.onion", Locality::SpecialUse),
        ("metadata", Locality::SingleLabel),
        ("127.0.0.1", Locality::Public),
    ] {
        let host: HostName = name.parse().unwrap();
        assert_eq!(host.locality(), want, "{name}");
    }
}
