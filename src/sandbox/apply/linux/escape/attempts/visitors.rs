//! Two sandboxes at a time: what one holds, the other must not find.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::ground::Ground;
use super::{Attempts, read, skip};

pub(super) const ATTEMPTS: Attempts = &[
    ("neighbour-temp", |g| read(neighbour(g)?.temp.join("held"))),
    ("neighbour-write", |g| {
        super::append(neighbour(g)?.temp.join("planted"))
    }),
    ("neighbour-tmp", |_| read("/tmp/held")),
    ("neighbour-memory", |_| read("/dev/shm/held")),
    ("neighbour-port", |g| {
        let port = neighbour(g)?.port;
        if port == 0 {
            return Err(skip("the neighbour has no network of its own"));
        }
        Ok(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map(drop)?)
    }),
];

/// What a neighbour holds, as it says itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(in super::super) struct Held {
    pub(in super::super) temp: PathBuf,
    pub(in super::super) port: u16,
}

/// Where the host tells the second sandbox about the first.
pub(in super::super) const NEIGHBOUR: &str = "neighbour.json";

fn neighbour(ground: &Ground) -> Result<Held, super::Told> {
    let text = fs::read(ground.outside.join(NEIGHBOUR))?;
    serde_json::from_slice(&text).map_err(|_| skip("no neighbour"))
}

/// Puts things in every private place, says where, and waits.
pub(in super::super) fn hold(temp: &[u8]) -> i32 {
    let temp = PathBuf::from(String::from_utf8_lossy(temp).into_owned());
    for place in [&*temp, Path::new("/tmp"), Path::new("/dev/shm")] {
        let _ = fs::write(place.join("held"), "held");
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
    let port = listener.as_ref().and_then(|one| one.local_addr().ok());
    let port = port.map_or(0, |address| address.port());
    let held = serde_json::to_string(&Held { temp, port });
    let _ = writeln!(io::stdout().lock(), "{}", held.unwrap_or_default());
    let _ = io::stdin().lock().read_to_end(&mut Vec::new());
    0
}
