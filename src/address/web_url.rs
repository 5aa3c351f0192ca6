//! A URL with one meaning: what the WHATWG parser repairs in silence is refused, so that what a
//! person is shown is what is fetched.

use std::fmt;

use url::Url;

use super::host::{HostName, invisible};
use super::ports;
use super::target::Target;

/// A URL that may be fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WebUrl {
    url: Url,
    target: Target,
}

/// Why a text is no such URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UrlFault {
    /// A control character, which parsers drop.
    Control,
    /// A blank, which parsers trim or encode.
    Whitespace,
    /// A character that cannot be seen, which parsers drop.
    Invisible,
    /// Another scheme than `http` and `https`.
    Scheme,
    /// Not `scheme://` and a host.
    Form,
    /// A backslash before the path: a slash to some parsers and a part of the host to others.
    Backslash,
    /// A user name or password, also an empty one.
    UserInfo,
    /// The parser takes it for no URL.
    Parse,
    /// The host is none.
    Host,
    /// A port that no page lives on.
    Port,
}

impl UrlFault {
    fn text(self) -> &'static str {
        match self {
            Self::Control => "holds a control character",
            Self::Whitespace => "holds a blank",
            Self::Invisible => "holds a character that cannot be seen",
            Self::Scheme => "is neither http nor https",
            Self::Form => "is not of the form `https://host/path`",
            Self::Backslash => "holds a backslash in its host",
            Self::UserInfo => "holds a user name or password",
            Self::Parse => "cannot be read",
            Self::Host => "names no valid host",
            Self::Port => "names a port that is not for the web",
        }
    }
}

impl fmt::Display for UrlFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the URL {}", self.text())
    }
}

impl std::error::Error for UrlFault {}

impl WebUrl {
    /// Reads a URL as a person or a model wrote it.
    ///
    /// # Errors
    /// The first fault.
    pub(crate) fn read(text: &str) -> Result<Self, UrlFault> {
        check_characters(text)?;
        let (scheme, rest) = text.split_once(':').ok_or(UrlFault::Parse)?;
        if scheme.is_empty() || scheme.contains(['/', '?', '#']) {
            return Err(UrlFault::Parse);
        }
        if !["http", "https"]
            .iter()
            .any(|s| scheme.eq_ignore_ascii_case(s))
        {
            return Err(UrlFault::Scheme);
        }
        check_authority(rest)?;
        let mut url = Url::parse(text).map_err(|_| UrlFault::Parse)?;
        // Never sent; kept, it would make two cache entries of one page.
        url.set_fragment(None);
        let host = url.host().ok_or(UrlFault::Parse)?;
        let host = HostName::of_url(&host).map_err(|_| UrlFault::Host)?;
        let port = url.port_or_known_default().ok_or(UrlFault::Port)?;
        if ports::is_bad(port) {
            return Err(UrlFault::Port);
        }
        // The dialled, the shown and the sent host are one (`example.com.` is another to a server).
        let shown = Target { host, port }.url_host();
        url.set_host(Some(&shown)).map_err(|_| UrlFault::Host)?;
        let target = Target::from_authority_or(&shown, port).map_err(|_| UrlFault::Host)?;
        Ok(Self { url, target })
    }

    /// Where a redirect leads, whose `Location` may be relative.
    ///
    /// # Errors
    /// The first fault.
    #[cfg(any(test, feature = "http"))]
    pub(crate) fn joined(&self, location: &str) -> Result<Self, UrlFault> {
        check_characters(location)?;
        let path = location.split(['?', '#']).next().unwrap_or_default();
        if path.contains('\\') {
            return Err(UrlFault::Backslash);
        }
        // A colon before any slash ends a scheme.
        let start = path.split('/').next().unwrap_or_default();
        if start.contains(':') {
            return Self::read(location);
        }
        if location.starts_with("//") {
            check_authority(location)?;
        }
        let url = self.url.join(location).map_err(|_| UrlFault::Parse)?;
        Self::read(url.as_str())
    }

    /// Where it leads.
    pub(crate) fn target(&self) -> &Target {
        &self.target
    }

    /// Whether it asks for a port that the web does not use by default.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the web client is not there yet")
    )]
    pub(crate) fn unusual_port(&self) -> bool {
        self.url.port().is_some()
    }

    /// The same page over TLS; port 80 becomes 443, another port stays.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "the web client is not there yet")
    )]
    #[must_use]
    pub(crate) fn upgraded(mut self) -> Self {
        if self.url.scheme() == "http" && self.url.set_scheme("https").is_ok() {
            self.target.port = self.url.port_or_known_default().unwrap_or(443);
        }
        self
    }

    /// Whether it is spoken to over TLS.
    pub(crate) fn is_https(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// Scheme, host and port: all of it that may stand in an error or an event.
    pub(crate) fn origin(&self) -> String {
        self.url.origin().ascii_serialization()
    }

    /// The canonical text.
    pub(crate) fn as_str(&self) -> &str {
        self.url.as_str()
    }
}

impl Target {
    /// The host as a URL writes it.
    fn url_host(&self) -> String {
        match self.host.address() {
            Some(std::net::IpAddr::V6(address)) => format!("[{address}]"),
            _ => self.host.to_string(),
        }
    }
}

fn check_characters(text: &str) -> Result<(), UrlFault> {
    for c in text.chars() {
        if c.is_control() {
            return Err(UrlFault::Control);
        }
        if c.is_whitespace() {
            return Err(UrlFault::Whitespace);
        }
        if invisible(c) {
            return Err(UrlFault::Invisible);
        }
    }
    Ok(())
}

/// What stands after `scheme:` up to the path.
fn check_authority(rest: &str) -> Result<(), UrlFault> {
    let rest = rest.strip_prefix("//").ok_or(UrlFault::Form)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if authority.contains('\\') {
        return Err(UrlFault::Backslash);
    }
    if authority.contains('@') {
        return Err(UrlFault::UserInfo);
    }
    if authority.is_empty() {
        return Err(UrlFault::Form);
    }
    Ok(())
}
