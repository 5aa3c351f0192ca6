//! Serves the gateway over HTTP: each conversation of a client has a gateway, servers and a run of its
//! own, decided in the name of the token that opened it.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{duplex, split};
use tokio::task::JoinSet;

use crate::address::HostName;
use crate::disk;
use crate::front::{Doors, Front, Opened, Opener, Principal, Tokens, new_token};
use crate::gateway::Gateway;
use crate::transport::{Downstream, Inbox};

use super::error::{Error, ErrorKind};
use super::serve::{For, all_recorded, ended_by_signal};
use super::workspace::Workspace;

/// How the gateway is served over HTTP.
#[derive(Clone, Debug)]
pub struct HttpOptions {
    address: SocketAddr,
    hosts: Vec<String>,
    token_file: Option<PathBuf>,
    open: bool,
}

impl HttpOptions {
    /// On this address, to whoever has a token.
    #[must_use]
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            hosts: Vec::new(),
            token_file: None,
            open: false,
        }
    }

    /// Another name that clients call this gateway by.
    #[must_use]
    pub fn with_host(mut self, name: impl Into<String>) -> Self {
        self.hosts.push(name.into());
        self
    }

    /// The file with the tokens. Without one it is `http-tokens` in Creance's own configuration folder,
    /// made with one token when it is missing.
    #[must_use]
    pub fn with_token_file(mut self, path: impl Into<PathBuf>) -> Self {
        self.token_file = Some(path.into());
        self
    }

    /// To everybody who can reach the address, which must be one of this machine alone.
    #[must_use]
    pub fn without_tokens(mut self) -> Self {
        self.open = true;
        self
    }
}

/// A gateway that has its address and serves nobody yet.
pub struct HttpServer {
    workspace: Arc<Workspace>,
    front: Front,
    doors: Doors,
    token_file: Option<PathBuf>,
}

impl fmt::Debug for HttpServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("HttpServer")
            .field(&self.front.url())
            .finish()
    }
}

impl HttpServer {
    /// Takes the address and reads the tokens.
    ///
    /// # Errors
    /// When the address cannot be had or is not safe with these options, or the tokens cannot be used.
    pub async fn bind(workspace: Workspace, options: &HttpOptions) -> Result<Self, Error> {
        let usage = |why: String| Error::new(ErrorKind::Usage, why);
        let address = options.address;
        if !address.ip().is_loopback() && options.token_file.is_none() {
            return Err(usage(format!(
                "{} can be reached from other machines: name the tokens that may use it with \
                 --token-file, or serve 127.0.0.1",
                address.ip()
            )));
        }
        let mut hosts = Vec::new();
        for name in &options.hosts {
            let host = HostName::from_wire(name);
            hosts.push(host.map_err(|why| usage(format!("--host `{name}`: {why}")))?);
        }
        let (doors, token_file) = if options.open {
            let everybody = Principal::named(&workspace.user);
            let doors = Doors::without_tokens(address, hosts, everybody).map_err(usage)?;
            (doors, None)
        } else {
            let (tokens, file) = workspace.tokens(options.token_file.as_deref())?;
            let doors = Doors::with_tokens(address, hosts, tokens).map_err(usage)?;
            (doors, Some(file))
        };
        let front = Front::bind(address).await;
        Ok(Self {
            workspace: Arc::new(workspace),
            front: front.map_err(|why| Error::new(ErrorKind::Io, why))?,
            doors,
            token_file,
        })
    }

    /// Where clients find it.
    #[must_use]
    pub fn url(&self) -> String {
        self.front.url()
    }

    /// The file with the tokens, where there are some.
    #[must_use]
    pub fn token_file(&self) -> Option<&Path> {
        self.token_file.as_deref()
    }

    /// Serves until a signal comes, then ends all conversations and their servers.
    ///
    /// # Errors
    /// When records of the audit log could not be written.
    pub async fn serve(self) -> Result<(), Error> {
        let house = Arc::new(House {
            workspace: self.workspace,
            gateways: Mutex::default(),
            unwritten: AtomicU64::new(0),
        });
        let opening = Arc::clone(&house);
        let open: Opener = Arc::new(move |who| opening.open(who).map_err(|e| e.to_string()));
        self.front.serve(self.doors, open, ended_by_signal()).await;
        let mut gateways = std::mem::take(&mut *house.lock());
        while gateways.join_next().await.is_some() {}
        all_recorded(house.unwritten.load(Ordering::SeqCst))
    }
}

/// The gateways of all conversations.
struct House {
    workspace: Arc<Workspace>,
    gateways: Mutex<JoinSet<()>>,
    unwritten: AtomicU64,
}

impl House {
    /// A gateway in the name of a principal. It ends when its pipe does.
    fn open(self: &Arc<Self>, who: &Principal) -> Result<Opened, Error> {
        let (ours, theirs) = duplex(PIPE);
        let (from, into) = split(theirs);
        let (wire, inbox) = Downstream::connect(from, into);
        let (members, mode) = self.workspace.configured();
        let opened = For {
            members,
            mode,
            problems: self.workspace.problems.clone(),
            user: who.as_str().to_owned(),
            over: "http",
        };
        // Those of now: the files may be others than when serving began.
        let policies = self.workspace.followed.read();
        let (gateway, line) = self.workspace.gateway(wire, opened, &policies)?;
        let house = Arc::clone(self);
        let up = gateway.up();
        let conversation = async move {
            converse(gateway, inbox).await;
            if let Err(error) = line.point.end("the client is gone") {
                tracing::error!("{error}");
            }
            let lost = line.point.unwritten().count;
            house.unwritten.fetch_add(lost, Ordering::SeqCst);
        };
        let mut gateways = self.lock();
        while gateways.try_join_next().is_some() {}
        gateways.spawn(conversation);
        Ok(Opened { pipe: ours, up })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, JoinSet<()>> {
        self.gateways.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn converse(gateway: Arc<Gateway>, inbox: Inbox) {
    gateway.serve(inbox).await;
}

impl Workspace {
    /// The tokens of a file, which is made when Creance's own is missing.
    fn tokens(&self, named: Option<&Path>) -> Result<(Tokens, PathBuf), Error> {
        let failed = |why: String| Error::new(ErrorKind::Config, why);
        let path = match named {
            Some(path) => path.to_path_buf(),
            None => self.folders.config.join("http-tokens"),
        };
        let text = match disk::read_private(&path).map_err(failed)? {
            Some(text) => text,
            None => {
                let token = new_token().map_err(|e| Error::new(ErrorKind::Io, e.to_string()))?;
                let text = format!("# NAME TOKEN, a line each\n{} {token}\n", plain(&self.user));
                disk::write_private(&path, &text).map_err(failed)?;
                text
            }
        };
        let tokens = Tokens::read(&text);
        let tokens = tokens.map_err(|why| failed(format!("`{}`: {why}", path.display())))?;
        Ok((tokens, path))
    }
}

/// A user's name as the name of a token.
fn plain(user: &str) -> String {
    let fits = |c: &char| c.is_ascii_alphanumeric() || "-_.@".contains(*c);
    let name: String = user.chars().filter(fits).take(64).collect();
    if name.is_empty() {
        "me".to_owned()
    } else {
        name
    }
}

const PIPE: usize = 64 * 1024;
