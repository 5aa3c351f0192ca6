//! Hosts: in each of their domains; the class of an address literal.

use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use cedar_policy_core::ast::EntityUID;

use crate::address::HostName;
use crate::policy::vocabulary::{TYPES, uid};

use super::build::{Entities, member, text, truth};

/// Puts a host in.
pub(super) fn add(entities: &mut Entities<'_>, host: &HostName) -> EntityUID {
    let name = uid(&TYPES.host, host.as_str());
    let class = host.address().map_or("unresolved", class);
    let attributes = [
        ("name", text(host.as_str())),
        ("literal_ip", truth(host.address().is_some())),
        ("ip_class", member(&TYPES.ip_class, class)),
    ];
    entities.add(&name, attributes, domains(host));
    name
}

/// Puts in what stands for every host below a domain, `Host::"*.example.com"`: it is in the domain and
/// all above it, and no host itself.
pub(super) fn add_below(entities: &mut Entities<'_>, domain: &HostName) -> EntityUID {
    let text_form = format!("*.{domain}");
    let name = uid(&TYPES.host, &text_form);
    let attributes = [
        ("name", text(text_form)),
        ("literal_ip", truth(false)),
        ("ip_class", member(&TYPES.ip_class, "unresolved")),
    ];
    entities.add(&name, attributes, domains(domain));
    name
}

fn domains(host: &HostName) -> HashSet<EntityUID> {
    if host.address().is_some() {
        return HashSet::new();
    }
    std::iter::successors(Some(host.as_str()), |name| {
        name.split_once('.').map(|(_, parent)| parent)
    })
    .map(|domain| uid(&TYPES.domain, domain))
    .collect()
}

fn class(address: IpAddr) -> &'static str {
    match address {
        IpAddr::V4(address) => class_v4(address),
        IpAddr::V6(address) => class_v6(address),
    }
}

/// RFC 6890 and the metadata addresses of the large clouds.
fn class_v4(address: Ipv4Addr) -> &'static str {
    let [a, b, c, _] = address.octets();
    match (a, b, c) {
        _ if matches!(
            address.octets(),
            [169, 254, 169, 254] | [169, 254, 170, 2] | [100, 100, 100, 200] | [192, 0, 0, 192]
        ) =>
        {
            "metadata"
        }
        (127, ..) => "loopback",
        (169, 254, _) => "link-local",
        _ if address.is_private() => "private",
        (100, 64..=127, _) => "private",
        (224..=239, ..) => "multicast",
        (0 | 240..=255, ..)
        | (192, 0, 0 | 2)
        | (198, 18 | 19, _)
        | (198, 51, 100)
        | (203, 0, 113) => "reserved",
        _ => "public",
    }
}

fn class_v6(address: Ipv6Addr) -> &'static str {
    const AWS_METADATA: Ipv6Addr = Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254);
    let [first, second, ..] = address.segments();
    let embedded = || {
        let [.., high, low] = address.segments();
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        Ipv4Addr::new(a, b, c, d)
    };
    match (first, second) {
        _ if address == AWS_METADATA => "metadata",
        _ if address.is_loopback() => "loopback",
        _ if address.is_unspecified() => "reserved",
        // NAT64 reaches the IPv4 address inside (RFC 6052).
        (0x64, 0xff9b) => class_v4(embedded()),
        (0xfe80..=0xfebf, _) => "link-local",
        (0xfc00..=0xfdff, _) | (0xfec0..=0xfeff, _) => "private",
        (0xff00..=0xffff, _) => "multicast",
        (0x2001, 0xdb8) => "reserved",
        (0x2000..=0x3fff, _) => "public",
        _ => "reserved",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_a_class() {
        for (text, want) in [
            ("8.8.8.8", "public"),
            ("127.0.0.1", "loopback"),
            ("::1", "loopback"),
            ("::ffff:127.0.0.1", "loopback"),
            ("::ffff:7f00:1", "loopback"),
            ("10.1.2.3", "private"),
            ("172.31.0.1", "private"),
            ("192.168.1.1", "private"),
            ("100.64.0.1", "private"),
            ("169.254.1.1", "link-local"),
            ("169.254.169.254", "metadata"),
            ("fd00:ec2::254", "metadata"),
            ("64:ff9b::a9fe:a9fe", "metadata"),
            ("fe80::1", "link-local"),
            ("fd12::1", "private"),
            ("224.0.0.1", "multicast"),
            ("ff02::1", "multicast"),
            ("0.0.0.0", "reserved"),
            ("::", "reserved"),
            ("203.0.113.9", "reserved"),
            ("2606:4700::1", "public"),
        ] {
            let host: HostName = text.parse().unwrap();
            assert_eq!(host.address().map(class), Some(want), "{text}");
        }
    }
}
