//! A host in its one canonical form: lower-case ASCII (punycode) without a final dot, or an address.
//! What is judged, shown, stored and dialled is this value.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr};
use std::str::FromStr;

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

impl FromStr for HostName {
    type Err = HostError;

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
        let ascii = match idna::domain_to_ascii_strict(text.strip_suffix('.').unwrap_or(text)) {
            Ok(ascii) => ascii,
            Err(_) => return refuse("a host name has letters, digits, hyphens and dots only"),
        };
        check_name(&ascii)?;
        Ok(Self {
            text: ascii,
            address: None,
        })
    }
}

fn check_name(name: &str) -> Result<(), HostError> {
    if name.is_empty() || name.len() > 253 {
        return refuse("a host name has 1 to 253 characters");
    }
    for label in name.split('.') {
        let plain = label
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-');
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

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, want: Option<&str>) {
        let got = typed.parse::<HostName>().ok().map(|host| host.to_string());
        assert_eq!(got.as_deref(), want, "{typed:?}");
    }

    /// POL-09: hosts are normalised before they are shown and stored; what cannot be one is refused.
    #[test]
    fn hosts_have_one_form() {
        check("mcp.example.test.", Some("mcp.example.test"));
        check("MCP.Example.Test", Some("mcp.example.test"));
        check("münchen.example.test", Some("xn--mnchen-3ya.example.test"));
        check("127.0.0.1", Some("127.0.0.1"));
        check("[::1]", Some("::1"));
        check("::ffff:127.0.0.1", Some("127.0.0.1"));
        check("[::ffff:7f00:1]", Some("127.0.0.1"));
        check("localhost", Some("localhost"));
        for bad in [
            "",
            ".",
            "a..example.test",
            "-bad.example.test",
            "bad-.example.test",
            "\"; permit(principal,action,resource); //",
            "mcp.example.test\nforbid",
            "mcp.example.test:8443",
            "*.example.test",
            "0177.0.0.1",
            "0x7f.1",
            "2130706433",
            "a b",
            "a\0.test",
            "user@host.test",
            "[::1",
            "a/b",
        ] {
            check(bad, None);
        }
    }
}
