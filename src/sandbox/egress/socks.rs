//! The words of SOCKS5 (RFC 1928): no sign-in, `CONNECT` alone. Each sandbox has a listener of its
//! own, so who asks is known without a password.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::address::{Target, TargetError};

use super::refusal::Refusal;

/// The first byte of every SOCKS5 message.
pub(super) const VERSION: u8 = 5;
const NO_SIGN_IN: u8 = 0;

/// The answer to a greeting that is accepted.
pub(super) const WELCOME: &[u8] = &[VERSION, NO_SIGN_IN];
/// The answer to one that offers no way in.
pub(super) const NO_METHOD: &[u8] = &[VERSION, 0xff];

/// Reply codes (RFC 1928, 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Code {
    Granted = 0,
    Failed = 1,
    NotAllowed = 2,
    HostUnreachable = 4,
    Refused = 5,
    NoSuchCommand = 7,
    NoSuchAddress = 8,
}

impl Code {
    /// The whole reply; the bound address is nobody's business.
    pub(super) fn message(self) -> [u8; 10] {
        [VERSION, self as u8, 0, 1, 0, 0, 0, 0, 0, 0]
    }
}

/// Reads a greeting: whether the client can do without a sign-in.
pub(super) fn greeting(bytes: &[u8]) -> Option<(bool, usize)> {
    let count = usize::from(*bytes.get(1)?);
    let methods = bytes.get(2..2 + count)?;
    Some((methods.contains(&NO_SIGN_IN), 2 + count))
}

/// Reads a request, and how many bytes it took.
pub(super) fn request(bytes: &[u8]) -> Result<Option<(Target, usize)>, Refusal> {
    let head: Option<[u8; 4]> = bytes.first_chunk().copied();
    let Some([version, command, reserved, kind]) = head else {
        return Ok(None);
    };
    if version != VERSION || reserved != 0 {
        return Err(Refusal::Misfit("this is no SOCKS5 request"));
    }
    if command != 1 {
        return Err(Refusal::NoSuchCommand);
    }
    let rest = bytes.get(4..).unwrap_or_default();
    let found = match kind {
        1 => fixed::<4>(rest)
            .map(|(a, port)| (Target::from_address(Ipv4Addr::from(a).into(), port), 4 + 6)),
        4 => fixed::<16>(rest)
            .map(|(a, port)| (Target::from_address(Ipv6Addr::from(a).into(), port), 4 + 18)),
        3 => name(rest),
        _ => return Err(Refusal::NoSuchAddress),
    };
    match found {
        None => Ok(None),
        Some((Ok(target), used)) => Ok(Some((target, used))),
        Some((Err(error), _)) => Err(error.into()),
    }
}

/// An address of `N` bytes and a port.
fn fixed<const N: usize>(bytes: &[u8]) -> Option<([u8; N], u16)> {
    let (address, rest) = bytes.split_first_chunk::<N>()?;
    let port = u16::from_be_bytes(*rest.first_chunk()?);
    Some((*address, port))
}

/// A name with its length before it, and a port.
fn name(bytes: &[u8]) -> Option<(Result<Target, TargetError>, usize)> {
    let (length, rest) = bytes.split_first()?;
    let (name, rest) = rest.split_at_checked(usize::from(*length))?;
    let port = u16::from_be_bytes(*rest.first_chunk()?);
    let used = 4 + 1 + name.len() + 2;
    Some((Target::from_socks_name(name, port), used))
}
