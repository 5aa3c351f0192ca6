//! The table of addresses, row by row, at both edges and just outside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use crate::address::class::{AddressClass, judge};
use crate::address::table::{IPV4, IPV6, METADATA, Row};

fn check(text: &str, class: &str, range: &str) {
    let judged = judge(text.parse().unwrap());
    assert_eq!(
        (judged.class.name(), judged.range),
        (class, range),
        "{text}"
    );
}

/// Addresses at the edges of rows, and just outside.
const EDGES: &[(&str, &str, &str)] = &[
    ("0.0.0.0", "reserved", "this network"),
    ("0.255.255.255", "reserved", "this network"),
    ("1.0.0.0", "public", "public IPv4"),
    ("9.255.255.255", "public", "public IPv4"),
    ("10.0.0.0", "private", "private use"),
    ("10.255.255.255", "private", "private use"),
    ("11.0.0.0", "public", "public IPv4"),
    ("100.63.255.255", "public", "public IPv4"),
    ("100.64.0.0", "private", "shared by carriers"),
    ("100.127.255.255", "private", "shared by carriers"),
    ("100.128.0.0", "public", "public IPv4"),
    ("100.100.100.200", "metadata", "Alibaba metadata"),
    ("126.255.255.255", "public", "public IPv4"),
    ("127.0.0.0", "loopback", "loopback"),
    ("127.255.255.255", "loopback", "loopback"),
    ("128.0.0.0", "public", "public IPv4"),
    ("168.63.129.15", "public", "public IPv4"),
    ("168.63.129.16", "metadata", "Azure WireServer"),
    ("169.253.255.255", "public", "public IPv4"),
    ("169.254.0.0", "link-local", "link-local"),
    ("169.254.169.254", "metadata", "cloud metadata"),
    ("169.254.170.2", "metadata", "AWS container credentials"),
    ("169.254.255.255", "link-local", "link-local"),
    ("169.255.0.0", "public", "public IPv4"),
    ("172.15.255.255", "public", "public IPv4"),
    ("172.16.0.0", "private", "private use"),
    ("172.31.255.255", "private", "private use"),
    ("172.32.0.0", "public", "public IPv4"),
    ("191.255.255.255", "public", "public IPv4"),
    ("192.0.0.0", "reserved", "IETF protocols"),
    ("192.0.0.9", "reserved", "IETF protocols"),
    ("192.0.0.192", "metadata", "Oracle metadata"),
    ("192.0.1.0", "public", "public IPv4"),
    ("192.0.2.255", "reserved", "documentation"),
    ("192.0.3.0", "public", "public IPv4"),
    ("192.31.196.1", "reserved", "AS112"),
    ("192.52.193.1", "reserved", "AMT relays"),
    ("192.88.99.1", "reserved", "6to4 relays"),
    ("192.167.255.255", "public", "public IPv4"),
    ("192.168.0.0", "private", "private use"),
    ("192.168.255.255", "private", "private use"),
    ("192.169.0.0", "public", "public IPv4"),
    ("192.175.48.1", "reserved", "AS112"),
    ("198.17.255.255", "public", "public IPv4"),
    ("198.18.0.0", "reserved", "benchmarking"),
    ("198.19.255.255", "reserved", "benchmarking"),
    ("198.20.0.0", "public", "public IPv4"),
    ("198.51.100.7", "reserved", "documentation"),
    ("203.0.113.7", "reserved", "documentation"),
    ("223.255.255.255", "public", "public IPv4"),
    ("224.0.0.0", "multicast", "multicast"),
    ("239.255.255.255", "multicast", "multicast"),
    ("240.0.0.0", "reserved", "reserved"),
    ("255.255.255.254", "reserved", "reserved"),
    ("255.255.255.255", "reserved", "broadcast"),
    ("::", "reserved", "unspecified"),
    ("::1", "loopback", "loopback"),
    ("::2", "reserved", "IPv4-compatible"),
    ("::127.0.0.1", "reserved", "IPv4-compatible"),
    ("::ffff:127.0.0.1", "loopback", "loopback"),
    ("::ffff:a9fe:a9fe", "metadata", "cloud metadata"),
    ("::ffff:8.8.8.8", "reserved", "IPv4-mapped"),
    ("::ffff:0:7f00:1", "reserved", "IPv4-translated"),
    ("::1:0:0:0", "reserved", "outside global unicast"),
    ("64:ff9b::808:808", "public", "NAT64 of public IPv4"),
    ("64:ff9b::7f00:1", "loopback", "loopback"),
    ("64:ff9b::a9fe:a9fe", "metadata", "cloud metadata"),
    ("64:ff9b::a00:1", "private", "private use"),
    ("64:ff9b::1:808:808", "reserved", "outside global unicast"),
    ("64:ff9b:1::7f00:1", "reserved", "local NAT64"),
    ("100::1", "reserved", "discard"),
    ("100:0:0:1::1", "reserved", "dummy"),
    ("1fff:ffff::", "reserved", "outside global unicast"),
    ("2000::", "public", "public IPv6"),
    ("2001::1", "reserved", "Teredo"),
    ("2001:2::1", "reserved", "benchmarking"),
    ("2001:1f::1", "reserved", "ORCHID"),
    ("2001:2f::1", "reserved", "ORCHIDv2"),
    ("2001:4:112::1", "reserved", "IETF protocols"),
    ("2001:1ff::1", "reserved", "IETF protocols"),
    ("2001:200::1", "public", "public IPv6"),
    ("2001:db7:ffff::1", "public", "public IPv6"),
    ("2001:db8::1", "reserved", "documentation"),
    ("2001:db9::1", "public", "public IPv6"),
    ("2002:808:808::1", "reserved", "6to4"),
    ("2003::1", "public", "public IPv6"),
    ("2606:4700:4700::1111", "public", "public IPv6"),
    ("2600:1f18::5efe:a00:1", "reserved", "ISATAP"),
    ("2600:1f18::200:5efe:a00:1", "reserved", "ISATAP"),
    ("2600:1f18:0:0:1:5efe:a00:1", "public", "public IPv6"),
    ("2620:4f:8000::1", "reserved", "AS112"),
    ("2620:4f:8001::1", "public", "public IPv6"),
    ("3ffe:ffff::1", "public", "public IPv6"),
    ("3fff::1", "reserved", "documentation"),
    ("3fff:fff:ffff::1", "reserved", "documentation"),
    ("3fff:1000::1", "public", "public IPv6"),
    ("4000::", "reserved", "outside global unicast"),
    ("5f00::1", "reserved", "SRv6 identifiers"),
    ("fc00::1", "private", "unique local"),
    ("fd00:ec2::254", "metadata", "AWS metadata"),
    ("fd20:ce::254", "metadata", "Google metadata"),
    ("fd00:c1::a9fe:a9fe", "metadata", "Oracle metadata"),
    ("fd00:42::42", "metadata", "Scaleway metadata"),
    ("fdff:ffff::1", "private", "unique local"),
    ("fe00::1", "reserved", "outside global unicast"),
    ("fe80::1", "link-local", "link-local"),
    ("febf:ffff::1", "link-local", "link-local"),
    ("fec0::1", "private", "site-local"),
    ("ff02::1", "multicast", "multicast"),
    ("ff0e::1", "multicast", "multicast"),
];

#[test]
fn rows_hold_from_edge_to_edge() {
    for (text, class, range) in EDGES {
        check(text, class, range);
    }
}

/// Each row can be met: none is hidden behind a wider one that stands before it.
#[test]
fn no_row_is_hidden() {
    let special = |address| METADATA.iter().any(|(net, _)| net.holds(address));
    for row in IPV4.iter().chain(IPV6) {
        let (first, last) = row.net.ends();
        let met = |address| judge(address).range == row.name && judge(address).class == row.class;
        assert!(met(first) || met(last), "{row:?}");
        for edge in [first, last] {
            assert_ne!(judge(edge).class, AddressClass::Public, "{row:?}");
            assert!(special(edge) || narrowest(edge).is_some(), "{row:?}");
        }
    }
    for (net, name) in METADATA {
        assert_eq!(judge(net.ends().0).range, *name);
    }
}

/// The narrowest row that holds an address.
fn narrowest(address: IpAddr) -> Option<Row> {
    let rows = IPV4.iter().chain(IPV6).filter(|row| row.net.holds(address));
    rows.copied().min_by_key(|row| {
        let (first, last) = row.net.ends();
        match (first, last) {
            (IpAddr::V4(a), IpAddr::V4(b)) => u128::from(b.to_bits() - a.to_bits()),
            (IpAddr::V6(a), IpAddr::V6(b)) => b.to_bits() - a.to_bits(),
            _ => 0,
        }
    })
}

/// Wrappers of IPv4 that are judged by what is inside.
fn is_wrapper(address: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, ..] = address.segments();
    address.to_ipv4_mapped().is_some() || [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0]
}

proptest! {
    /// The order of the rows is right: judging is taking the narrowest one.
    #[test]
    fn judged_by_the_narrowest_row(bits: u128, shift in 0u32..128, v4: bool) {
        let address: IpAddr = if v4 {
            Ipv4Addr::from_bits(bits as u32).into()
        } else {
            // Short prefixes with few bits set: where the special ranges lie.
            Ipv6Addr::from_bits(bits >> (shift / 2) << (shift / 2)).into()
        };
        let special = METADATA.iter().any(|(net, _)| net.holds(address));
        let wrapper = matches!(address, IpAddr::V6(address) if is_wrapper(address));
        if let Some(row) = narrowest(address) && !special && !wrapper {
            prop_assert_eq!(judge(address).range, row.name);
        }
    }

    /// Whatever wraps an IPv4 address is at least as closed as the address.
    #[test]
    fn wrapping_opens_nothing(bits: u32) {
        let inner = Ipv4Addr::from_bits(bits);
        let [a, b, c, d] = inner.octets().map(u16::from);
        let (high, low) = (a << 8 | b, c << 8 | d);
        let wrapped = [
            inner.to_ipv6_mapped(),
            inner.to_ipv6_compatible(),
            Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low),
            Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low),
            Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1),
            Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, !high, !low),
            Ipv6Addr::new(0x2600, 0, 0, 0, 0, 0x5efe, high, low),
        ];
        for address in wrapped {
            let open = judge(address.into()).class == AddressClass::Public;
            prop_assert!(!open || judge(inner.into()).class == AddressClass::Public, "{}", address);
        }
    }
}
