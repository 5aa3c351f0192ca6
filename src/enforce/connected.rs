//! A connection to a remote server, joined to the peer that speaks through it; and where its name may lead,
//! by whose server it is.

use std::net::IpAddr;

use crate::address::{Locality, Reach};
use crate::config::Remote;
use crate::request::Source;
use crate::transport::{Upstream, UpstreamEvents};

#[cfg(feature = "http")]
pub(super) use with_http::{Connected, blocking_look_up, look_up, open};
#[cfg(not(feature = "http"))]
pub(super) use without::{Connected, blocking_look_up, look_up, open};

/// An answer of the server that wants a sign-in, or another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// 401 or 403.
    pub(crate) status: u16,
    /// The values of `WWW-Authenticate`, as they came: clean them before anybody reads them.
    pub(crate) authenticate: Vec<String>,
}

/// How far a server may reach. A project's reaches public addresses by public names. Another's entry may
/// name this machine or a private network, but a name of the public DNS never leads inside: who owns the
/// name would decide which machine it means.
fn reach(source: Source, remote: &Remote) -> Reach {
    let host = &remote.address.target().host;
    match (source, host.address(), host.locality()) {
        (Source::Project, ..) | (_, None, Locality::Public) => Reach::Public,
        (_, Some(_), _) => Reach::Named,
        (_, None, Locality::Localhost) => Reach::Loopback,
        (_, None, Locality::SingleLabel | Locality::SpecialUse) => Reach::Private,
    }
}

/// What authorises each request.
#[cfg(feature = "http")]
pub(super) type Authorised = std::sync::Arc<dyn crate::http::Authorise>;
#[cfg(not(feature = "http"))]
pub(super) struct Authorised;

/// What a connection is joined to.
pub(super) type Opened = (Upstream, UpstreamEvents, Connected);

#[cfg(feature = "http")]
mod with_http {
    use tokio::sync::Mutex;

    use crate::config::Protocol;
    use crate::http::mcp::{self, Connection, Endpoint, Kind};
    use crate::http::{self, Client, Leads, Plain, Terms};
    use crate::transport::CloseHook;

    use super::{Authorised, Challenge, IpAddr, Opened, Remote, Source, Upstream, reach};

    /// An open connection.
    #[derive(Debug)]
    pub(crate) struct Connected {
        connection: Mutex<Connection>,
        signs: mcp::Signs,
        origin: String,
    }

    impl Connected {
        /// The last answer that wanted a sign-in.
        pub(crate) fn challenge(&self) -> Option<Challenge> {
            let challenge = self.signs.challenge()?;
            Some(Challenge {
                status: challenge.status,
                authenticate: challenge.authenticate,
            })
        }

        /// Scheme, host and port.
        pub(crate) fn origin(&self) -> &str {
            &self.origin
        }

        /// Waits for its end, once its input is closed.
        pub(crate) async fn ended(&self) {
            self.connection.lock().await.ended().await;
        }
    }

    fn terms(source: Source, remote: &Remote) -> Terms<'static> {
        Terms {
            leads: Leads::To(reach(source, remote)),
            plain: match source {
                Source::Project => Plain::Never,
                _ => Plain::ToThisMachine,
            },
            authority: None,
        }
    }

    /// Where a server's name leads now.
    pub(crate) async fn look_up(source: Source, remote: &Remote) -> Result<Vec<IpAddr>, String> {
        let leads = terms(source, remote).leads;
        let found = http::look_up(remote.address.target(), leads).await;
        found.map_err(|error| error.to_string())
    }

    /// The same for those who do not wait in a runtime.
    pub(crate) fn blocking_look_up(source: Source, remote: &Remote) -> Result<Vec<IpAddr>, String> {
        http::blocking(look_up(source, remote))?
    }

    /// Opens a connection at these addresses. Nothing is sent before the first message.
    pub(crate) fn open(
        (source, remote): (Source, &Remote),
        addresses: Vec<IpAddr>,
        authorise: Authorised,
    ) -> Result<Opened, String> {
        let client = Client::new(&remote.address, addresses, &terms(source, remote));
        let opened = mcp::open(Endpoint {
            url: remote.address.clone(),
            kind: match remote.protocol {
                Protocol::Either => Kind::Either,
                Protocol::Http => Kind::Streamable,
                Protocol::Sse => Kind::Events,
            },
            client: client.map_err(|error| error.to_string())?,
            authorise,
        });
        let hook = CloseHook::new(opened.connection.story());
        let (upstream, events) = Upstream::connect(
            opened.to_server,
            opened.from_server,
            tokio::io::empty(),
            hook,
        );
        let connected = Connected {
            signs: opened.connection.signs(),
            connection: Mutex::new(opened.connection),
            origin: remote.address.origin(),
        };
        Ok((upstream, events, connected))
    }
}

#[cfg(not(feature = "http"))]
mod without {
    use super::{Authorised, Challenge, IpAddr, Opened, Remote, Source, reach};

    const ABSENT: &str = "this build of Creance has no remote servers (the feature `http`)";

    /// There is none.
    #[derive(Debug)]
    pub(crate) enum Connected {}

    impl Connected {
        pub(crate) fn challenge(&self) -> Option<Challenge> {
            match *self {}
        }

        pub(crate) fn origin(&self) -> &str {
            match *self {}
        }

        pub(crate) async fn ended(&self) {
            match *self {}
        }
    }

    pub(crate) async fn look_up(source: Source, remote: &Remote) -> Result<Vec<IpAddr>, String> {
        blocking_look_up(source, remote)
    }

    pub(crate) fn blocking_look_up(source: Source, remote: &Remote) -> Result<Vec<IpAddr>, String> {
        let _ = reach(source, remote);
        Err(ABSENT.to_owned())
    }

    pub(crate) fn open(
        _: (Source, &Remote),
        _: Vec<IpAddr>,
        _: Authorised,
    ) -> Result<Opened, String> {
        Err(ABSENT.to_owned())
    }
}
