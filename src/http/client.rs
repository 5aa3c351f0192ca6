//! A client for one host, whose addresses were looked up before: it dials these and no others.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT_ENCODING, HeaderName, HeaderValue};
use reqwest::{Method, Request};
use tokio::time::timeout_at;

use crate::address::{AddressClass, Target, WebUrl, judge};

use super::answer::Answer;
use super::error::HttpError;
use super::terms::{Plain, Terms};
use super::tls;

/// A connection stands within this time.
const CONNECT: Duration = Duration::from_secs(10);

/// Node closes a connection that was idle for five seconds; a request must not meet that moment.
const IDLE: Duration = Duration::from_secs(4);
const IDLE_MAX: usize = 4;

/// A client for one host.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    inner: reqwest::Client,
    addresses: Arc<[IpAddr]>,
    target: Target,
    tls: bool,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Get,
    Post,
    Delete,
}

/// One request.
#[derive(Clone)]
pub(crate) struct Ask {
    pub(crate) verb: Verb,
    pub(crate) url: WebUrl,
    pub(crate) fields: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    /// Until when the head of the answer has to be there.
    pub(crate) head: Option<Instant>,
    /// Until when all of it has to be there.
    pub(crate) deadline: Option<Instant>,
}

impl Ask {
    /// A request for a page, with no field and no limit of time.
    pub(crate) fn get(url: WebUrl) -> Self {
        Self {
            verb: Verb::Get,
            url,
            fields: Vec::new(),
            body: None,
            head: None,
            deadline: None,
        }
    }
}

/// Path, query and fields may be secrets.
impl std::fmt::Debug for Ask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} {}", self.verb, self.url.origin())
    }
}

impl Client {
    /// A client that dials these addresses of a URL's host. One that may not be reached refuses them
    /// all: a name that leads to both means to deceive.
    pub(crate) fn new(
        url: &WebUrl,
        addresses: Vec<IpAddr>,
        terms: &Terms<'_>,
    ) -> Result<Self, HttpError> {
        let target = url.target().clone();
        if addresses.is_empty() {
            return Err(HttpError::Lookup("the name has no address"));
        }
        for address in &addresses {
            terms.leads.address(&target, *address)?;
            let here = judge(*address).class == AddressClass::Loopback;
            if !url.is_https() && (terms.plain == Plain::Never || !here) {
                return Err(HttpError::Plain);
            }
        }
        let addresses: Arc<[IpAddr]> = addresses.into();
        let inner = tls::trusting(terms.authority)?
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .http1_only()
            .https_only(url.is_https())
            .connect_timeout(CONNECT)
            .pool_max_idle_per_host(IDLE_MAX)
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true)
            .user_agent(concat!("creance/", env!("CARGO_PKG_VERSION")))
            .dns_resolver(Arc::new(Pinned {
                name: target.host.to_string(),
                addresses: Arc::clone(&addresses),
            }))
            .build()?;
        Ok(Self {
            inner,
            addresses,
            target,
            tls: url.is_https(),
        })
    }

    /// Sends a request; the answer's body is still to come. A redirect is an answer.
    pub(crate) async fn send(&self, ask: Ask) -> Result<Answer, HttpError> {
        if *ask.url.target() != self.target || ask.url.is_https() != self.tls {
            return Err(HttpError::OtherHost);
        }
        let deadline = ask.deadline;
        let until = ask.head.into_iter().chain(deadline).min();
        let sending = self.inner.execute(request(ask)?);
        let response = match until {
            Some(until) => timeout_at(until.into(), sending)
                .await
                .map_err(|_| HttpError::Late)??,
            None => sending.await?,
        };
        let peer = response.remote_addr().ok_or(HttpError::OtherEnd)?;
        let judged = self.addresses.contains(&peer.ip().to_canonical());
        if !judged || peer.port() != self.target.port {
            return Err(HttpError::OtherEnd);
        }
        Answer::new(response, deadline)
    }
}

fn request(ask: Ask) -> Result<Request, HttpError> {
    let method = match ask.verb {
        Verb::Get => Method::GET,
        Verb::Post => Method::POST,
        Verb::Delete => Method::DELETE,
    };
    let url = ask.url.as_str().parse();
    let url = url.map_err(|_| HttpError::Field("the address"))?;
    let mut request = Request::new(method, url);
    let fields = request.headers_mut();
    for (name, value) in ask.fields {
        let name = HeaderName::from_bytes(name.as_bytes());
        let name = name.map_err(|_| HttpError::Field("the name of a field"))?;
        let value = HeaderValue::from_str(&value);
        let mut value = value.map_err(|_| HttpError::Field("the value of a field"))?;
        value.set_sensitive(true);
        fields.insert(name, value);
    }
    fields.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    *request.body_mut() = ask.body.map(Into::into);
    Ok(request)
}

/// Answers one name with the addresses that were judged, and errors on any other.
#[derive(Debug)]
struct Pinned {
    name: String,
    addresses: Arc<[IpAddr]>,
}

impl Resolve for Pinned {
    fn resolve(&self, name: Name) -> Resolving {
        let known = name.as_str() == self.name;
        let addresses = known.then(|| Arc::clone(&self.addresses));
        Box::pin(async move {
            let Some(addresses) = addresses else {
                return Err(io::Error::other("another name than was judged").into());
            };
            // The port is the URL's.
            let found: Vec<SocketAddr> = addresses
                .iter()
                .map(|address| SocketAddr::new(*address, 0))
                .collect();
            let found: Addrs = Box::new(found.into_iter());
            Ok(found)
        })
    }
}
