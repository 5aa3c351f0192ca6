//! The ranges that are not public: the special-purpose registries of IANA, the multicast
//! registries, and where clouds keep their metadata. More special rows stand first.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::class::AddressClass;

/// A range of addresses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Net {
    base: IpAddr,
    bits: u32,
}

impl Net {
    /// Whether an address lies in the range.
    pub(super) fn holds(self, address: IpAddr) -> bool {
        match (self.base, address) {
            (IpAddr::V4(base), IpAddr::V4(address)) => {
                let apart = base.to_bits() ^ address.to_bits();
                apart.leading_zeros() >= self.bits
            }
            (IpAddr::V6(base), IpAddr::V6(address)) => {
                let apart = base.to_bits() ^ address.to_bits();
                apart.leading_zeros() >= self.bits
            }
            _ => false,
        }
    }

    /// The first and the last address.
    #[cfg(test)]
    pub(super) fn ends(self) -> (IpAddr, IpAddr) {
        match self.base {
            IpAddr::V4(base) => {
                let host = u32::MAX.checked_shr(self.bits).unwrap_or(0);
                (self.base, IpAddr::V4((base.to_bits() | host).into()))
            }
            IpAddr::V6(base) => {
                let host = u128::MAX.checked_shr(self.bits).unwrap_or(0);
                (self.base, IpAddr::V6((base.to_bits() | host).into()))
            }
        }
    }
}

/// One row: a range, its class and its name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) net: Net,
    pub(super) class: AddressClass,
    pub(super) name: &'static str,
}

const fn v4(base: [u8; 4], bits: u32) -> Net {
    let [a, b, c, d] = base;
    Net {
        base: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
        bits,
    }
}

const fn v6(base: [u16; 8], bits: u32) -> Net {
    let [a, b, c, d, e, f, g, h] = base;
    Net {
        base: IpAddr::V6(Ipv6Addr::new(a, b, c, d, e, f, g, h)),
        bits,
    }
}

const fn row(net: Net, class: AddressClass, name: &'static str) -> Row {
    Row { net, class, name }
}

use AddressClass::{LinkLocal, Loopback, Multicast, Private, Reserved};

/// Addresses of metadata services, as their makers document them.
pub(super) const METADATA: &[(Net, &str)] = &[
    (v4([169, 254, 169, 254], 32), "cloud metadata"),
    (v4([169, 254, 169, 253], 32), "AWS resolver"),
    (v4([169, 254, 169, 123], 32), "AWS time"),
    (v4([169, 254, 170, 2], 32), "AWS container credentials"),
    (v4([169, 254, 170, 23], 32), "AWS pod identity"),
    (v4([169, 254, 0, 23], 32), "Tencent metadata"),
    (v4([100, 100, 100, 200], 32), "Alibaba metadata"),
    (v4([168, 63, 129, 16], 32), "Azure WireServer"),
    (v4([192, 0, 0, 192], 32), "Oracle metadata"),
    (v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32), "AWS metadata"),
    (
        v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128),
        "Google metadata",
    ),
    (
        v6([0xfd00, 0xc1, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128),
        "Oracle metadata",
    ),
    (
        v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128),
        "Scaleway metadata",
    ),
    (
        v6([0xfd00, 0xa9fe, 0xa9fe, 0, 0, 0, 0, 1], 128),
        "cloud metadata",
    ),
    (
        v6([0xfd00, 0x100, 0, 0, 0, 0, 0x100, 0x200], 128),
        "Alibaba metadata",
    ),
];

/// <https://www.iana.org/assignments/iana-ipv4-special-registry>, and
/// <https://www.iana.org/assignments/multicast-addresses>. Anycast services of the protocol range
/// are set aside with it, though the registry calls two of them reachable.
pub(super) const IPV4: &[Row] = &[
    // RFC 791, RFC 1122: `0.0.0.0` reaches this machine on Linux and macOS.
    row(v4([0, 0, 0, 0], 8), Reserved, "this network"),
    row(v4([10, 0, 0, 0], 8), Private, "private use"), // RFC 1918
    row(v4([100, 64, 0, 0], 10), Private, "shared by carriers"), // RFC 6598
    row(v4([127, 0, 0, 0], 8), Loopback, "loopback"),  // RFC 1122
    row(v4([169, 254, 0, 0], 16), LinkLocal, "link-local"), // RFC 3927
    row(v4([172, 16, 0, 0], 12), Private, "private use"), // RFC 1918
    row(v4([192, 0, 0, 0], 24), Reserved, "IETF protocols"), // RFC 6890
    row(v4([192, 0, 2, 0], 24), Reserved, "documentation"), // RFC 5737
    row(v4([192, 31, 196, 0], 24), Reserved, "AS112"), // RFC 7535
    row(v4([192, 52, 193, 0], 24), Reserved, "AMT relays"), // RFC 7450
    row(v4([192, 88, 99, 0], 24), Reserved, "6to4 relays"), // RFC 7526
    row(v4([192, 168, 0, 0], 16), Private, "private use"), // RFC 1918
    row(v4([192, 175, 48, 0], 24), Reserved, "AS112"), // RFC 7534
    row(v4([198, 18, 0, 0], 15), Reserved, "benchmarking"), // RFC 2544
    row(v4([198, 51, 100, 0], 24), Reserved, "documentation"), // RFC 5737
    row(v4([203, 0, 113, 0], 24), Reserved, "documentation"), // RFC 5737
    row(v4([224, 0, 0, 0], 4), Multicast, "multicast"), // RFC 5771
    row(v4([255, 255, 255, 255], 32), Reserved, "broadcast"), // RFC 919
    row(v4([240, 0, 0, 0], 4), Reserved, "reserved"),  // RFC 1112
];

/// <https://www.iana.org/assignments/iana-ipv6-special-registry>. IPv4-mapped addresses and NAT64
/// are judged by the address inside.
pub(super) const IPV6: &[Row] = &[
    row(v6([0, 0, 0, 0, 0, 0, 0, 1], 128), Loopback, "loopback"), // RFC 4291
    row(
        v6([0, 0, 0, 0, 0, 0, 0, 0], 128),
        Reserved,
        "unspecified", // RFC 4291
    ),
    row(
        v6([0, 0, 0, 0, 0, 0, 0, 0], 96),
        Reserved,
        "IPv4-compatible", // RFC 4291, deprecated
    ),
    row(
        v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96),
        Reserved,
        "IPv4-translated", // RFC 2765
    ),
    row(
        v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48),
        Reserved,
        "local NAT64", // RFC 8215
    ),
    row(v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64), Reserved, "discard"), // RFC 6666
    row(v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64), Reserved, "dummy"),   // RFC 9780
    row(v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32), Reserved, "Teredo"), // RFC 4380
    row(
        v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48),
        Reserved,
        "benchmarking", // RFC 5180
    ),
    row(
        v6([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28),
        Reserved,
        "ORCHID", // RFC 4843, deprecated
    ),
    row(
        v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28),
        Reserved,
        "ORCHIDv2", // RFC 7343
    ),
    row(
        v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23),
        Reserved,
        "IETF protocols", // RFC 2928
    ),
    row(
        v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32),
        Reserved,
        "documentation", // RFC 3849
    ),
    row(v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16), Reserved, "6to4"), // RFC 3056
    row(
        v6([0x2620, 0x4f, 0x8000, 0, 0, 0, 0, 0], 48),
        Reserved,
        "AS112", // RFC 7534
    ),
    row(
        v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20),
        Reserved,
        "documentation", // RFC 9637
    ),
    row(
        v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16),
        Reserved,
        "SRv6 identifiers", // RFC 9602
    ),
    row(
        v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7),
        Private,
        "unique local", // RFC 4193
    ),
    row(
        v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10),
        LinkLocal,
        "link-local", // RFC 4291
    ),
    row(
        v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10),
        Private,
        "site-local", // RFC 3879, deprecated
    ),
    row(
        v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8),
        Multicast,
        "multicast", // RFC 4291
    ),
];
