//! What kind of place an address is. The rows stand in `table.rs`; an address that only wraps an
//! IPv4 address is judged by the address inside.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::table::{IPV4, IPV6, METADATA};

/// The class of an address: the words of Cedar's `IpClass`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AddressClass {
    /// A unicast address of the public internet.
    Public,
    /// An address of a private network, or of a carrier's.
    Private,
    /// This machine.
    Loopback,
    /// This link only.
    LinkLocal,
    /// A cloud's metadata service, which hands out credentials.
    Metadata,
    /// A group.
    Multicast,
    /// Set aside: nothing that a program talks to lives there.
    Reserved,
}

impl AddressClass {
    /// The name in Cedar, in records and in texts.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
            Self::LinkLocal => "link-local",
            Self::Metadata => "metadata",
            Self::Multicast => "multicast",
            Self::Reserved => "reserved",
        }
    }
}

/// An address as the table sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    /// Its class.
    pub(crate) class: AddressClass,
    /// The name of the range that it lies in.
    pub(crate) range: &'static str,
}

impl Judged {
    const fn new(class: AddressClass, range: &'static str) -> Self {
        Self { class, range }
    }
}

/// Judges an address. What no row names is public in IPv4, and reserved in IPv6: only `2000::/3` is
/// global unicast there.
pub(crate) fn judge(address: IpAddr) -> Judged {
    if let Some((_, range)) = METADATA.iter().find(|(row, _)| row.holds(address)) {
        return Judged::new(AddressClass::Metadata, range);
    }
    match address {
        IpAddr::V4(address) => judge_v4(address),
        IpAddr::V6(address) => judge_v6(address),
    }
}

fn judge_v4(address: Ipv4Addr) -> Judged {
    IPV4.iter()
        .find(|row| row.net.holds(IpAddr::V4(address)))
        .map_or(Judged::new(AddressClass::Public, "public IPv4"), |row| {
            Judged::new(row.class, row.name)
        })
}

fn judge_v6(address: Ipv6Addr) -> Judged {
    let [first, second, third, fourth, fifth, sixth, _, _] = address.segments();
    if address.to_ipv4_mapped().is_some() {
        return within(address, "IPv4-mapped", None);
    }
    // RFC 6052: on a network with NAT64 every IPv4 host has such an address.
    if [first, second, third, fourth, fifth, sixth] == [0x64, 0xff9b, 0, 0, 0, 0] {
        let public = Judged::new(AddressClass::Public, "NAT64 of public IPv4");
        return within(address, "NAT64", Some(public));
    }
    if let Some(row) = IPV6.iter().find(|row| row.net.holds(IpAddr::V6(address))) {
        return Judged::new(row.class, row.name);
    }
    if first & 0xe000 != 0x2000 {
        return Judged::new(AddressClass::Reserved, "outside global unicast");
    }
    // RFC 5214: a router of that kind would send it on to the IPv4 address inside.
    if matches!(fifth, 0 | 0x200) && sixth == 0x5efe {
        return Judged::new(AddressClass::Reserved, "ISATAP");
    }
    Judged::new(AddressClass::Public, "public IPv6")
}

/// The judgement of the IPv4 address in the last 32 bits; `public` where that one is public.
fn within(address: Ipv6Addr, wrapper: &'static str, public: Option<Judged>) -> Judged {
    let [.., a, b, c, d] = address.octets();
    let inner = judge(IpAddr::V4(Ipv4Addr::new(a, b, c, d)));
    if inner.class == AddressClass::Public {
        return public.unwrap_or(Judged::new(AddressClass::Reserved, wrapper));
    }
    inner
}
