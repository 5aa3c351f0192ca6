//! What a client may do: where its name may lead, whether it speaks without TLS, whom it believes. And the
//! look-up that comes before.

use std::net::IpAddr;
use std::time::Duration;

use tokio::time::timeout;

use crate::address::{AddressClass, Reach, Target, Unreachable, judge};
use crate::lookup;

use super::error::HttpError;

/// A look-up takes this long at most.
const LOOKUP: Duration = Duration::from_secs(10);

/// The most addresses of one name.
const ADDRESSES_MAX: usize = 16;

/// The terms of a client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    /// Where its name may lead.
    pub(crate) leads: Leads,
    /// Whether it speaks without TLS.
    pub(crate) plain: Plain,
    /// Certificates (PEM) of the only authority that is believed; those of the system otherwise.
    pub(crate) authority: Option<&'a [u8]>,
}

/// Where a name may lead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Leads {
    /// Judged by the table.
    To(Reach),
    /// Wherever root pinned it to: besides public addresses those of a private network and of this
    /// machine, under any name.
    Pinned,
}

/// Whether there may be no TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plain {
    /// Only https.
    Never,
    /// Also http, to addresses of this machine and to no others.
    ToThisMachine,
}

impl Leads {
    /// Whether a host may be looked up.
    fn name(self, target: &Target) -> Result<(), Unreachable> {
        match self {
            Self::To(reach) => reach.name(&target.host),
            Self::Pinned => Ok(()),
        }
    }

    /// Whether a target may lead to an address.
    pub(super) fn address(self, target: &Target, address: IpAddr) -> Result<(), HttpError> {
        let judged = judge(address);
        let reach = match self {
            Self::To(reach) => reach,
            Self::Pinned => {
                return match judged.class {
                    AddressClass::Public | AddressClass::Private | AddressClass::Loopback => Ok(()),
                    _ => Err(Unreachable::Address(judged).into()),
                };
            }
        };
        reach.address(&target.host, address)?;
        let spelled = target.host.address().is_some();
        let loopback = judged.class == AddressClass::Loopback;
        if !spelled && !loopback && lookup::is_own(address) {
            return Err(HttpError::OwnAddress);
        }
        Ok(())
    }
}

/// Looks a target up, once; nothing is judged yet but its name, and nothing dialled. An address is its
/// own answer.
///
/// # Errors
/// The name may not be looked up, or leads nowhere.
pub(crate) async fn look_up(target: &Target, leads: Leads) -> Result<Vec<IpAddr>, HttpError> {
    leads.name(target)?;
    if let Some(address) = target.host.address() {
        return Ok(vec![address]);
    }
    let found = timeout(LOOKUP, lookup::addresses(target.host.as_str())).await;
    let mut addresses: Vec<IpAddr> = Vec::new();
    match found {
        Ok(Ok(found)) => {
            for address in found {
                let address = address.to_canonical();
                if !addresses.contains(&address) {
                    addresses.push(address);
                }
            }
        }
        Ok(Err(_)) => return Err(HttpError::Lookup("the name could not be looked up")),
        Err(_) => return Err(HttpError::Lookup("the look-up took too long")),
    }
    if addresses.is_empty() {
        return Err(HttpError::Lookup("the name has no address"));
    }
    addresses.truncate(ADDRESSES_MAX);
    Ok(addresses)
}
