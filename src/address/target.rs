//! A host and a port: what is judged, shown, resolved and dialled. Made once from what came in over
//! the wire; everything later takes this value.

use std::fmt;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::host::{HostError, HostName};

/// Where a connection goes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(crate) struct Target {
    /// The canonical host.
    pub(crate) host: HostName,
    /// The port; never 0.
    pub(crate) port: u16,
}

/// What came in names no target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TargetError {
    /// The host is none.
    Host(HostError),
    /// The port is missing, 0 or no number up to 65535.
    Port,
    /// User information stands before the host.
    UserInfo,
}

impl fmt::Display for TargetError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(error) => error.fmt(f),
            Self::Port => f.write_str("a port is a number from 1 to 65535"),
            Self::UserInfo => f.write_str("no user name or password stands before a host"),
        }
    }
}

impl std::error::Error for TargetError {}

impl From<HostError> for TargetError {
    fn from(error: HostError) -> Self {
        Self::Host(error)
    }
}

impl Target {
    /// The authority of a `CONNECT` line, `host:port` (RFC 9112, 3.2.3).
    pub(crate) fn from_authority(text: &str) -> Result<Self, TargetError> {
        match split(text)? {
            (host, Some(port)) => Self::new(host, port),
            (_, None) => Err(TargetError::Port),
        }
    }

    /// The authority of a URL or a `Host` field, whose port may be left out.
    pub(crate) fn from_authority_or(text: &str, default: u16) -> Result<Self, TargetError> {
        let (host, port) = split(text)?;
        Self::new(host, port.unwrap_or(default))
    }

    /// The name in a SOCKS5 request: bytes of any kind, so that no reader may stop early (a NUL ends
    /// a name for `getaddrinfo`).
    pub(crate) fn from_socks_name(name: &[u8], port: u16) -> Result<Self, TargetError> {
        // Bytes that are no text become one that no host holds.
        let text = std::str::from_utf8(name).unwrap_or("\u{fffd}");
        if text.starts_with('[') {
            return Self::new(HostName::from_wire("")?, port);
        }
        Self::new(HostName::from_wire(text)?, port)
    }

    /// The address in a SOCKS5 request.
    pub(crate) fn from_address(address: IpAddr, port: u16) -> Result<Self, TargetError> {
        Self::new(HostName::from(address), port)
    }

    pub(super) fn new(host: HostName, port: u16) -> Result<Self, TargetError> {
        if port == 0 {
            return Err(TargetError::Port);
        }
        Ok(Self { host, port })
    }
}

/// Host and port of an authority.
fn split(text: &str) -> Result<(HostName, Option<u16>), TargetError> {
    if text.contains('@') {
        return Err(TargetError::UserInfo);
    }
    let end = text.rfind(']').map_or(0, |at| at + 1);
    let (before, after) = text.split_at_checked(end).unwrap_or((text, ""));
    let (host, port) = match after.split_once(':') {
        Some((rest, port)) => (format!("{before}{rest}"), Some(number(port)?)),
        None => (text.to_owned(), None),
    };
    Ok((HostName::from_wire(&host)?, port))
}

/// A port: digits and nothing else (`str::parse` takes a `+`).
fn number(text: &str) -> Result<u16, TargetError> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(port) if digits && port != 0 => Ok(port),
        _ => Err(TargetError::Port),
    }
}

/// `host:port`, an IPv6 address in brackets.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if matches!(self.host.address(), Some(IpAddr::V6(_))) {
            return write!(f, "[{}]:{}", self.host, self.port);
        }
        write!(f, "{}:{}", self.host, self.port)
    }
}
