//! What an entry names when it asks for hosts: one host, or every host below a domain, and a port.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::address::HostName;

use super::start::NetworkWish;

/// The port that is meant when none is named.
const HTTPS: u16 = 443;

/// Stands before a host whose connections may carry anything.
const RAW: &str = "tcp://";

/// Hosts that a sandbox asks for: `api.example.com`, `api.example.com:8443`, `*.example.com`,
/// `[2001:db8::1]:443`. Without a port it is 443 alone.
///
/// What passes is TLS or plain HTTP that names the same host, so that one host of a shared address does
/// not stand for another. `tcp://git.example.com:22` asks for any protocol instead.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HostRule {
    host: HostName,
    reach: Reach,
    port: u16,
    carries: Carries,
}

/// What may pass to a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Carries {
    /// What names the host itself: TLS, plain HTTP.
    Web,
    /// Any bytes.
    Anything,
}

/// How much a rule covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Reach {
    /// The host itself.
    Host,
    /// Every host below it, and not itself.
    Below,
}

impl HostRule {
    /// Whether a connection to this host and port is meant.
    #[must_use]
    pub fn covers(&self, host: &HostName, port: u16) -> bool {
        let host_is_meant = match self.reach {
            Reach::Host => *host == self.host,
            Reach::Below => {
                let below = host.as_str().strip_suffix(self.host.as_str());
                host.address().is_none() && below.is_some_and(|rest| rest.ends_with('.'))
            }
        };
        host_is_meant && port == self.port
    }

    /// The one host and port that it names; none where it names a domain.
    pub(crate) fn target(&self) -> Option<(HostName, u16)> {
        self.is_exact().then(|| (self.host.clone(), self.port))
    }

    /// Whether it names one host, and not all below a domain.
    pub(crate) fn is_exact(&self) -> bool {
        self.reach == Reach::Host
    }

    /// Whether any bytes may pass.
    pub(crate) fn carries_anything(&self) -> bool {
        self.carries == Carries::Anything
    }

    /// The rule as it is put to policy.
    #[must_use]
    pub fn wish(&self) -> NetworkWish {
        let (host, port) = (self.host.clone(), self.port);
        match (self.reach, self.carries) {
            (Reach::Below, _) => NetworkWish::Below { domain: host, port },
            (Reach::Host, Carries::Web) => NetworkWish::Host { host, port },
            (Reach::Host, Carries::Anything) => NetworkWish::Raw { host, port },
        }
    }
}

/// The text names no hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRuleError(String);

impl fmt::Display for HostRuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for HostRuleError {}

impl FromStr for HostRule {
    type Err = HostRuleError;

    fn from_str(text: &str) -> Result<Self, HostRuleError> {
        let refuse = |why: &str| Err(HostRuleError(why.to_owned()));
        let (text, carries) = match text.strip_prefix(RAW) {
            Some(rest) => (rest, Carries::Anything),
            None => (text, Carries::Web),
        };
        if text.contains("://") {
            return refuse("a host has no scheme: write `example.com` or `example.com:8443`");
        }
        let (name, port) = split(text)?;
        let (name, reach) = match name.strip_prefix("*.") {
            Some(domain) => (domain, Reach::Below),
            None => (name, Reach::Host),
        };
        if name.contains('*') {
            return refuse("`*` stands only as the whole first part, as in `*.example.com`");
        }
        let host: HostName = (name.parse()).map_err(|e| HostRuleError(format!("{e}")))?;
        if carries == Carries::Anything && (reach == Reach::Below || name == text) {
            return refuse("`tcp://` stands before one host and its port");
        }
        let broad = host.address().is_some() || !host.as_str().contains('.');
        if reach == Reach::Below && broad {
            return refuse("`*.` stands before a domain of two parts or more");
        }
        Ok(Self {
            host,
            reach,
            port,
            carries,
        })
    }
}

/// Host and port of a text. More than one colon outside of brackets is an IPv6 address.
fn split(text: &str) -> Result<(&str, u16), HostRuleError> {
    let colon = match text.rfind(']') {
        Some(end) => text
            .get(end..)
            .and_then(|rest| rest.find(':'))
            .map(|at| end + at),
        None if text.matches(':').count() == 1 => text.find(':'),
        None => None,
    };
    let Some((name, port)) = colon.and_then(|at| text.split_at_checked(at)) else {
        return Ok((text, HTTPS));
    };
    let digits = port.trim_start_matches(':');
    let plain = digits.bytes().all(|b| b.is_ascii_digit()) && !digits.starts_with('0');
    match digits.parse() {
        Ok(port) if plain => Ok((name, port)),
        _ => Err(HostRuleError(
            "a port is a number from 1 to 65535".to_owned(),
        )),
    }
}

impl fmt::Display for HostRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.wish().to_string())
    }
}

impl TryFrom<String> for HostRule {
    type Error = HostRuleError;

    fn try_from(text: String) -> Result<Self, HostRuleError> {
        text.parse()
    }
}

impl From<HostRule> for String {
    fn from(rule: HostRule) -> Self {
        rule.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(typed: &str, want: &str) {
        let shown = match typed.parse::<HostRule>() {
            Ok(rule) => {
                assert_eq!(rule.to_string().parse().as_ref(), Ok(&rule), "{typed}");
                rule.to_string()
            }
            Err(error) => format!("refused: {error}"),
        };
        assert!(shown.starts_with(want), "{typed}: {shown}");
    }

    /// POL-09: what is stored has one form; what cannot be a host is refused.
    #[test]
    fn rules_have_one_form() {
        check("mcp.example.test.", "mcp.example.test:443");
        check("MCP.Example.Test", "mcp.example.test:443");
        check("münchen.example.test", "xn--mnchen-3ya.example.test:443");
        check("mcp.example.test:8443", "mcp.example.test:8443");
        check("*.example.test", "*.example.test:443");
        check("*.Example.Test.:80", "*.example.test:80");
        check("127.0.0.1", "127.0.0.1:443");
        check("[::1]", "[::1]:443");
        check("::1", "[::1]:443");
        check("[::1]:8080", "[::1]:8080");
        check("localhost:8080", "localhost:8080");
        check("tcp://Git.example.test:22", "tcp://git.example.test:22");
        check("tcp://[::1]:5432", "tcp://[::1]:5432");
        for bad in [
            "",
            ":443",
            "a..example.test",
            "-bad.example.test",
            "\"; permit(principal,action,resource); //",
            "mcp.example.test\nforbid",
            "https://mcp.example.test",
            "tcp://tcp://mcp.example.test:1",
            "tcp://mcp.example.test",
            "tcp://*.example.test:22",
            "mcp.example.test/path",
            "user@mcp.example.test",
            "*",
            "*.test",
            "*.127.0.0.1",
            "a.*.example.test",
            "*a.example.test",
            "a.test:0",
            "a.test:65536",
            "a.test:",
            "a.test:+80",
            "a.test:080",
            "[::1]:x",
        ] {
            check(bad, "refused: ");
        }
    }

    #[test]
    fn a_rule_covers_what_it_says() {
        let covers = |rule: &str, host: &str, port| {
            let rule: HostRule = rule.parse().unwrap();
            rule.covers(&host.parse().unwrap(), port)
        };
        assert!(covers("a.example.test", "A.example.test.", 443));
        assert!(!covers("a.example.test", "a.example.test", 80));
        assert!(!covers("a.example.test", "b.a.example.test", 443));
        assert!(!covers("a.example.test", "a.example.test.evil.test", 443));
        assert!(covers("*.example.test", "a.b.example.test", 443));
        assert!(!covers("*.example.test", "example.test", 443));
        assert!(!covers("*.example.test", "evilexample.test", 443));
        assert!(!covers("*.example.test", "127.0.0.1", 443));
        assert!(covers("::1", "[::1]", 443));
    }
}
