//! Who may knock at all: the names this gateway goes by, the origins that may ask, the tokens.

use std::net::{IpAddr, SocketAddr};

use hyper::HeaderMap;
use hyper::header::{AUTHORIZATION, HOST, ORIGIN};

use crate::address::HostName;

use super::headers;
use super::reply::Refusal;
use super::tokens::{Principal, Tokens};

/// What a request must show.
#[derive(Debug)]
pub(crate) struct Doors {
    hosts: Vec<HostName>,
    loopback: bool,
    guests: Guests,
}

#[derive(Debug)]
enum Guests {
    /// Whoever has a token.
    Tokens(Tokens),
    /// Everybody on this machine, in this name.
    Anyone(Principal),
}

impl Doors {
    /// Only with a token. `hosts` are names that clients use, beside the address itself.
    ///
    /// # Errors
    /// No name is left that a client could use.
    pub(crate) fn with_tokens(
        address: SocketAddr,
        hosts: Vec<HostName>,
        tokens: Tokens,
    ) -> Result<Self, String> {
        let mut doors = Self {
            hosts,
            loopback: address.ip().is_loopback(),
            guests: Guests::Tokens(tokens),
        };
        if !address.ip().is_unspecified() {
            doors.hosts.push(HostName::from(address.ip()));
        } else if doors.hosts.is_empty() {
            return Err(format!(
                "{} means every address of this machine: say with --host NAME how clients call it, as \
                 other names in `Host` are refused",
                address.ip()
            ));
        }
        Ok(doors)
    }

    /// Without tokens.
    ///
    /// # Errors
    /// The address can be reached from other machines.
    pub(crate) fn without_tokens(
        address: SocketAddr,
        hosts: Vec<HostName>,
        everybody: Principal,
    ) -> Result<Self, String> {
        if !address.ip().is_loopback() {
            return Err(format!(
                "{} can be reached from other machines: without tokens only an address such as \
                 127.0.0.1 can be served",
                address.ip()
            ));
        }
        Ok(Self {
            hosts,
            loopback: true,
            guests: Guests::Anyone(everybody),
        })
    }

    /// In whose name a request comes.
    ///
    /// # Errors
    /// Why it is turned away.
    pub(super) fn admit(&self, headers: &HeaderMap) -> Result<Principal, Refusal> {
        let host = self.host(headers)?;
        self.origin(headers, &host)?;
        match &self.guests {
            Guests::Anyone(everybody) => Ok(everybody.clone()),
            Guests::Tokens(tokens) => {
                let shown = headers::one(headers, &AUTHORIZATION)?;
                let token = shown.and_then(|value| {
                    let (scheme, token) = value.split_once(' ')?;
                    (scheme.eq_ignore_ascii_case("bearer")).then_some(token.trim())
                });
                let owner = token.and_then(|token| tokens.owner(token));
                owner.cloned().ok_or(Refusal::unknown_token())
            }
        }
    }

    /// A page that rebinds its name to this address still sends its own name.
    fn host(&self, headers: &HeaderMap) -> Result<(HostName, Option<u16>), Refusal> {
        let text = headers::one(headers, &HOST)?;
        let text = text.ok_or_else(|| Refusal::bad("the field `Host` is missing"))?;
        let host = authority(text).ok_or_else(|| Refusal::bad("`Host` is no host"))?;
        if self.knows(&host.0) {
            return Ok(host);
        }
        Err(Refusal::forbidden(
            "this gateway does not go by the name in `Host` (--host NAME adds one)",
        ))
    }

    fn knows(&self, host: &HostName) -> bool {
        let here = host.as_str() == "localhost" || host.address().is_some_and(is_loopback);
        (self.loopback && here) || self.hosts.contains(host)
    }

    /// Browsers say on whose page a request was made; only a page from here may make one.
    fn origin(&self, headers: &HeaderMap, host: &(HostName, Option<u16>)) -> Result<(), Refusal> {
        let strange = || Refusal::forbidden("a page of another origin may not use this gateway");
        let site = headers::one(headers, &SITE)?;
        if site.is_some_and(|site| site != "same-origin" && site != "none") {
            return Err(strange());
        }
        let Some(origin) = headers::one(headers, &ORIGIN)? else {
            return Ok(());
        };
        let (scheme, rest) = origin.split_once("://").ok_or_else(strange)?;
        let standard = match scheme {
            "http" => 80,
            "https" => 443,
            _ => return Err(strange()),
        };
        let (name, port) = authority(rest).ok_or_else(strange)?;
        let same = name == host.0 && port.unwrap_or(standard) == host.1.unwrap_or(standard);
        if same { Ok(()) } else { Err(strange()) }
    }
}

/// A host and its port.
fn authority(text: &str) -> Option<(HostName, Option<u16>)> {
    let (name, port) = match text.rsplit_once(':') {
        Some((name, port)) if !port.contains(']') => {
            let digits = port.bytes().all(|b| b.is_ascii_digit());
            (name, Some(port.parse().ok().filter(|_| digits)?))
        }
        _ => (text, None),
    };
    Some((HostName::from_wire(name).ok()?, port))
}

fn is_loopback(address: IpAddr) -> bool {
    address.is_loopback()
}

const SITE: hyper::header::HeaderName = hyper::header::HeaderName::from_static("sec-fetch-site");
