//! The listener: connections in, each on its own task, until the gateway ends.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::connections::{Connections, Seat};
use super::doors::Doors;
use super::endpoint::{Endpoint, PATH};
use super::sessions::{Opener, Sessions};

/// A gateway's front: bound, not yet serving.
pub(crate) struct Front {
    listener: TcpListener,
    address: SocketAddr,
}

impl Front {
    /// Takes an address.
    ///
    /// # Errors
    /// It cannot be had.
    pub(crate) async fn bind(address: SocketAddr) -> Result<Self, String> {
        let failed = |error: std::io::Error| format!("cannot listen on {address}: {error}");
        let listener = TcpListener::bind(address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address })
    }

    /// Where clients find it.
    pub(crate) fn url(&self) -> String {
        format!("http://{}{PATH}", self.address)
    }

    /// Serves until it is told to stop, then ends all conversations.
    pub(crate) async fn serve(self, doors: Doors, open: Opener, stop: impl Future<Output = ()>) {
        let endpoint = Arc::new(Endpoint {
            doors,
            sessions: Sessions::new(open),
        });
        tokio::select! {
            () = accept(&self.listener, &endpoint) => {}
            () = endpoint.sessions.tend() => {}
            () = stop => {}
        }
        endpoint.sessions.end_all();
    }
}

/// Takes connections. They end with this future.
async fn accept(listener: &TcpListener, endpoint: &Arc<Endpoint>) {
    let seats = Connections::default();
    let mut tasks = JoinSet::new();
    loop {
        while tasks.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without a place it is closed at once.
                if let Some(seat) = seats.seat() {
                    tasks.spawn(converse(stream, seat, Arc::clone(endpoint)));
                }
            }
            Err(error) => {
                // As a rule there are no files left: they come back when connections end.
                tracing::warn!("a connection could not be taken: {error}");
                tokio::time::sleep(REST).await;
            }
        }
    }
}

async fn converse(stream: TcpStream, seat: Seat, endpoint: Arc<Endpoint>) {
    // Small answers must not wait for the client's acknowledgement.
    let _ = stream.set_nodelay(true);
    let (endpoint, seat) = (&endpoint, &seat);
    let service = service_fn(move |request| async move {
        let busy = seat.busy();
        let mut reply = endpoint.answer(request).await;
        reply.body_mut().busy = Some(busy);
        Ok::<_, Infallible>(reply)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_headers(FIELDS_MAX)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), service);
    tokio::select! {
        // A connection that breaks is the client's business.
        _ = connection => {}
        () = seat.gone() => {}
    }
}

/// For a whole head, and between two requests.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
const HEAD_MAX: usize = 64 * 1024;
const FIELDS_MAX: usize = 64;
const REST: Duration = Duration::from_millis(100);
