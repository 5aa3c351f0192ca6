//! Addresses that a server or a sign-in server names: read once, with one meaning, and only such as
//! may be talked to or shown. The only way to a page that opens.

use std::fmt;

use crate::address::{AddressClass, Target, WebUrl, judge};

/// What the server itself is, which its sign-in servers may be too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ground {
    /// A server of the internet, or one that is not the user's own: https alone.
    Public,
    /// A server on this machine, of the user's own configuration: http on this machine, too.
    ThisMachine,
}

/// An address that may be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Endpoint {
    text: String,
    url: WebUrl,
}

impl Endpoint {
    /// Reads an address.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub(crate) fn read(text: &str, ground: Ground) -> Result<Self, String> {
        if let Some(odd) = text.chars().find(|c| !is_of_a_uri(*c)) {
            return Err(format!("the URL holds {odd:?}, which no URL holds"));
        }
        if text.contains('#') {
            return Err("the URL has a fragment".to_owned());
        }
        let url = WebUrl::read(text).map_err(|fault| fault.to_string())?;
        let secure = url.as_str().starts_with("https://");
        let local = is_this_machine(url.target());
        match (secure, local, ground) {
            (true, false, _) | (_, true, Ground::ThisMachine) => Ok(Self {
                text: text.to_owned(),
                url,
            }),
            (_, true, Ground::Public) => {
                Err("the URL leads to this machine, and the server is not on it".to_owned())
            }
            (false, false, _) => Err("the URL is not https".to_owned()),
        }
    }

    /// As it was written.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// Where it leads.
    pub(crate) fn target(&self) -> &Target {
        self.url.target()
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        origin(&self.url)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.origin())
    }
}

/// Scheme, host and port of an address; nothing of an address that cannot be read.
pub(crate) fn origin_of(text: &str) -> String {
    WebUrl::read(text).map_or_else(
        |_| "an address that cannot be read".to_owned(),
        |url| origin(&url),
    )
}

fn origin(url: &WebUrl) -> String {
    let text = url.as_str();
    let end = text
        .match_indices('/')
        .nth(2)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text).to_owned()
}

/// `localhost` and loopback addresses.
fn is_this_machine(target: &Target) -> bool {
    match target.host.address() {
        Some(address) => judge(address).class == AddressClass::Loopback,
        None => target.host.as_str() == "localhost" || target.host.as_str().ends_with(".localhost"),
    }
}

/// What a server stands on: its own address.
pub(crate) fn is_local(url: &str) -> bool {
    WebUrl::read(url).is_ok_and(|url| is_this_machine(url.target()))
}

/// Where an address leads; `None` when it cannot be read.
pub(crate) fn target_of(url: &str) -> Option<Target> {
    WebUrl::read(url).ok().map(|url| url.target().clone())
}

/// The characters of RFC 3986, 2: what else stands there is for a shell, or for somebody's eyes.
fn is_of_a_uri(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-._~:/?#[]@!$&'()*+,;=%".contains(c)
}
