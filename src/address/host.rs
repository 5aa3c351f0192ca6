//! A host in its one canonical form: lower-case ASCII (punycode) without a final dot, or an address.
//! What is judged, shown, stored and dialled is this value.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

use idna::uts46::{AsciiDenyList, DnsLength, Hyphens, Uts46};
use serde::{Deserialize, Serialize};

/// A canonical host name or address (RFC 1123, RFC 5890; at most 253 bytes).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostName {
    text: String,
    address: Option<IpAddr>,
}

impl HostName {
    /// The canonical text: no brackets around an IPv6 address.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// A name with letters beyond ASCII as its owner reads it. For people only, beside the canonical
    /// form: two names can look alike.
    pub(crate) fn in_other_letters(&self) -> Option<String> {
        let encoded = self.text.split('.').any(|label| label.starts_with("xn--"));
        encoded.then(|| idna::domain_to_unicode(&self.text).0)
    }

    /// The address, when the host is a literal. IPv4-mapped IPv6 addresses are unmapped.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        self.address
    }
}

/// The text is no host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    reason: &'static str,
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.reason)
    }
}

impl std::error::Error for HostError {}

fn refuse<T>(reason: &'static str) -> Result<T, HostError> {
    Err(HostError { reason })
}

/// Where a name can lead, by the name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Locality {
    /// A name of the public DNS, or an address: the address decides.
    Public,
    /// `localhost` and what is below it (RFC 6761).
    Localhost,
    /// One label: a name of this machine or this network, never of the public DNS.
    SingleLabel,
    /// A domain that is set aside for local use, or that must not be sent to DNS (`.onion`).
    SpecialUse,
}

/// Domains that are never public: RFC 6761, 6762, 7686, 8375, 9476, 9665, the ones that ICANN
/// reserves (`internal`), and those that home routers and companies took for themselves.
const SPECIAL_USE: &[&str] = &[
    "local",
    "internal",
    "home.arpa",
    "lan",
    "intranet",
    "private",
    "corp",
    "home",
    "mail",
    "localdomain",
    "onion",
    "alt",
    "invalid",
    "service.arpa",
    "resolver.arpa",
];

impl HostName {
    /// The host of a `CONNECT` line, a `Host` field, a SOCKS request or a TLS hello: plain ASCII, as
    /// a URL parser reads it, so `127.1` is the address that every resolver would make of it.
    pub(crate) fn from_wire(text: &str) -> Result<Self, HostError> {
        if text.starts_with('[') {
            return text.parse();
        }
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        if !text.bytes().all(plain) {
            return refuse("a host name has letters, digits, hyphens and dots only");
        }
        match url::Host::parse(text) {
            Ok(host) => Self::of_url(&host),
            Err(_) => refuse("no host name or address"),
        }
    }

    /// The host that a URL parser found.
    pub(super) fn of_url<T: AsRef<str>>(host: &url::Host<T>) -> Result<Self, HostError> {
        match host {
            url::Host::Ipv4(address) => Ok(Self::from(IpAddr::V4(*address))),
            url::Host::Ipv6(address) => Ok(Self::from(IpAddr::V6(*address))),
            url::Host::Domain(name) => Self::named(name.as_ref()),
        }
    }

    /// A name in ASCII, in lower case; one final dot is the root and is cut.
    fn named(ascii: &str) -> Result<Self, HostError> {
        let name = ascii.strip_suffix('.').unwrap_or(ascii);
        check_name(name)?;
        Ok(Self {
            text: name.to_owned(),
            address: None,
        })
    }

    /// Where the name can lead.
    pub(crate) fn locality(&self) -> Locality {
        let name = self.as_str();
        let below = |domain: &str| {
            name.strip_suffix(domain)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        if self.address.is_some() {
            return Locality::Public;
        }
        if below("localhost") {
            return Locality::Localhost;
        }
        if SPECIAL_USE.iter().any(|domain| below(domain)) {
            return Locality::SpecialUse;
        }
        if name.contains('.') {
            Locality::Public
        } else {
            Locality::SingleLabel
        }
    }
}

impl FromStr for HostName {
    type Err = HostError;

    /// The host that a person typed. Shorthands of addresses (`127.1`) are refused.
    fn from_str(text: &str) -> Result<Self, HostError> {
        if let Some(inner) = text.strip_prefix('[') {
            let Some(inner) = inner.strip_suffix(']') else {
                return refuse("an address in brackets does not close them");
            };
            return match inner.parse::<Ipv6Addr>() {
                Ok(address) => Ok(Self::from(IpAddr::V6(address))),
                Err(_) => refuse("no IPv6 address stands in the brackets"),
            };
        }
        if let Ok(address) = text.parse::<IpAddr>() {
            return Ok(Self::from(address));
        }
        if text.chars().any(invisible) {
            return refuse("a host name holds characters that cannot be seen");
        }
        let rules = Uts46::new();
        let ascii = rules.to_ascii(
            text.as_bytes(),
            AsciiDenyList::URL,
            Hyphens::Allow,
            DnsLength::Ignore,
        );
        match ascii {
            Ok(ascii) => Self::named(&ascii),
            Err(_) => refuse("a host name has letters, digits, hyphens and dots only"),
        }
    }
}

/// Characters that a host parser drops without a word (default ignorable code points of Unicode 16):
/// what is shown would not be what is dialled.
pub(super) fn invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

fn check_name(name: &str) -> Result<(), HostError> {
    if name.is_empty() || name.len() > 253 {
        return refuse("a host name has 1 to 253 characters");
    }
    for label in name.split('.') {
        // Underscores are no host names of RFC 1123, and are in daily use all the same.
        let plain = label
            .bytes()
            .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'_');
        let edges = label.starts_with('-') || label.ends_with('-');
        if label.is_empty() || label.len() > 63 || !plain || edges {
            return refuse("each part of a host name is 1 to 63 letters, digits or inner hyphens");
        }
    }
    // `0177.0.0.1`, `0x7f.1` and `2130706433` are addresses to some resolvers (WHATWG URL, 3.5).
    let last = name.rsplit('.').next().unwrap_or_default();
    let numeric = last.bytes().all(|b| b.is_ascii_digit());
    let hexadecimal = last
        .strip_prefix("0x")
        .is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
    if numeric || hexadecimal {
        return refuse("a host name that ends in a number is an address in disguise");
    }
    Ok(())
}

impl From<IpAddr> for HostName {
    fn from(address: IpAddr) -> Self {
        let address = address.to_canonical();
        Self {
            text: address.to_string(),
            address: Some(address),
        }
    }
}

impl TryFrom<String> for HostName {
    type Error = HostError;

    fn try_from(text: String) -> Result<Self, HostError> {
        text.parse()
    }
}

impl From<HostName> for String {
    fn from(host: HostName) -> Self {
        host.text
    }
}

impl fmt::Display for HostName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
