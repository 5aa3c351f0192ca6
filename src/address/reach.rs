//! Which addresses a target may lead to. Judged for every address that a name resolves to, before
//! anything is dialled.

use std::fmt;
use std::net::IpAddr;

use super::class::{AddressClass, Judged, judge};
use super::host::{HostName, Locality};

/// How far a permitted target may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Public addresses, by public names.
    #[default]
    Public,
    /// As `Public`; besides, `localhost` and loopback literals lead to loopback addresses, and to
    /// nothing else.
    Loopback,
    /// As `Public`; besides, names and literals of private networks. For a name that somebody
    /// wrote down by itself, never for a whole domain of strangers.
    Private,
    /// The very address that the target is, whatever its class but for metadata, multicast and
    /// reserved ones. A name reaches public addresses only.
    Named,
}

/// A target that leads where it may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unreachable {
    /// By its name alone, before any look-up.
    Name(Locality),
    /// By an address, its own or one that it resolves to.
    Address(Judged),
    /// `localhost` that leads away from this machine.
    NotLoopback,
}

/// The class is said, the address is not: a denial tells a program nothing about the network.
impl fmt::Display for Unreachable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name(Locality::Localhost) => f.write_str("the name stands for this machine"),
            Self::Name(Locality::SingleLabel) => {
                f.write_str("a name without a dot is no public host")
            }
            Self::Name(_) => f.write_str("the name is set aside for local use"),
            Self::Address(judged) if judged.class.name() == judged.range => {
                write!(f, "it leads to a {} address", judged.range)
            }
            Self::Address(judged) => {
                let (class, range) = (judged.class.name(), judged.range);
                write!(f, "it leads to a {class} address ({range})")
            }
            Self::NotLoopback => f.write_str("`localhost` leads away from this machine"),
        }
    }
}

impl std::error::Error for Unreachable {}

impl Reach {
    /// Whether a host may be looked up at all: a name that cannot be public is not sent to DNS.
    ///
    /// # Errors
    /// Why it may not.
    pub(crate) fn name(self, host: &HostName) -> Result<(), Unreachable> {
        let locality = host.locality();
        let fits = match (self, locality) {
            (_, Locality::Public) | (Self::Loopback, Locality::Localhost) => true,
            // `.onion` and `.invalid` lead nowhere; the resolver says so without asking.
            (Self::Private, Locality::SingleLabel | Locality::SpecialUse) => !nowhere(host),
            _ => false,
        };
        if fits {
            return Ok(());
        }
        Err(Unreachable::Name(locality))
    }

    /// Whether a host may lead to an address.
    ///
    /// # Errors
    /// Why it may not.
    pub(crate) fn address(self, host: &HostName, address: IpAddr) -> Result<(), Unreachable> {
        let judged = judge(address);
        let local = host.locality() == Locality::Localhost;
        if local && judged.class != AddressClass::Loopback {
            return Err(Unreachable::NotLoopback);
        }
        let literal = host.address().is_some();
        let fits = match judged.class {
            AddressClass::Public => true,
            AddressClass::Private => self == Self::Private || (self == Self::Named && literal),
            AddressClass::Loopback if self == Self::Loopback => local || literal,
            AddressClass::Loopback | AddressClass::LinkLocal => self == Self::Named && literal,
            AddressClass::Metadata | AddressClass::Multicast | AddressClass::Reserved => false,
        };
        if fits {
            return Ok(());
        }
        Err(Unreachable::Address(judged))
    }
}

/// Names that must never be sent to a resolver (RFC 7686, RFC 6761).
fn nowhere(host: &HostName) -> bool {
    let name = host.as_str();
    ["onion", "invalid", "alt"]
        .iter()
        .any(|domain| name.rsplit('.').next() == Some(domain))
}
