//! The host that a TLS client names in its first message (RFC 8446, RFC 6066), read from as many
//! records and packets as it likes to cut it into.

use crate::address::HostName;

use super::head::Misfit;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const RECORD_MAX: usize = 1 << 14;

const SERVER_NAME: u16 = 0;
/// Encrypted ClientHello, and its draft of 2018: the name that counts is another, and unseen.
const ENCRYPTED: &[u16] = &[0xfe0d, 0xffce];

/// What a hello names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ServerName {
    /// No name.
    Absent,
    /// This name, as it stands.
    Named(Vec<u8>),
}

/// Reads a hello; `None` while it is not complete.
///
/// # Errors
/// It is no TLS hello, or one that hides its host.
pub(super) fn read(bytes: &[u8]) -> Result<Option<ServerName>, Misfit> {
    let mut records = Reader(bytes);
    let mut message = Vec::new();
    loop {
        if let Some(body) = complete(&message)? {
            return server_name(body).map(Some);
        }
        match record(&mut records)? {
            Some(part) => message.extend_from_slice(part),
            None => return Ok(None),
        }
    }
}

/// The hello itself agrees with the host that was judged.
///
/// # Errors
/// Why not.
pub(super) fn agrees(name: &ServerName, host: &HostName) -> Result<(), Misfit> {
    let literal = host.address().is_some();
    match name {
        ServerName::Absent if literal => Ok(()),
        ServerName::Absent => Err("the TLS hello names no host"),
        ServerName::Named(name) => {
            let named = std::str::from_utf8(name).ok();
            let named = named.and_then(|name| HostName::from_wire(name).ok());
            if named.as_ref() == Some(host) {
                return Ok(());
            }
            Err("the TLS hello names another host")
        }
    }
}

/// The next record's content; `None` while it is not complete.
fn record<'a>(records: &mut Reader<'a>) -> Result<Option<&'a [u8]>, Misfit> {
    const NO_TLS: Misfit = "what came first is no TLS hello";
    let whole = records.0;
    let (Some(kind), Some(major)) = (whole.first(), whole.get(1)) else {
        return if whole.first().is_none_or(|kind| *kind == HANDSHAKE) {
            Ok(None)
        } else {
            Err(NO_TLS)
        };
    };
    if *kind != HANDSHAKE || *major != 3 {
        return Err(NO_TLS);
    }
    let mut reader = Reader(whole);
    let _ = reader.take(3);
    let Some(length) = reader.u16() else {
        return Ok(None);
    };
    let length = usize::from(length);
    if length == 0 || length > RECORD_MAX {
        return Err(NO_TLS);
    }
    let content = reader.take(length);
    if content.is_some() {
        *records = reader;
    }
    Ok(content)
}

/// The body of the handshake message, once all of it is there.
fn complete(message: &[u8]) -> Result<Option<&[u8]>, Misfit> {
    let mut reader = Reader(message);
    match reader.u8() {
        Some(CLIENT_HELLO) => {}
        None => return Ok(None),
        Some(_) => return Err("what came first is no TLS hello"),
    }
    let (Some(high), Some(low)) = (reader.u8(), reader.u16()) else {
        return Ok(None);
    };
    let length = usize::from(high) << 16 | usize::from(low);
    let Some(body) = reader.take(length) else {
        return Ok(None);
    };
    if !reader.0.is_empty() {
        return Err("more follows the TLS hello in its record");
    }
    Ok(Some(body))
}

fn server_name(body: &[u8]) -> Result<ServerName, Misfit> {
    const CUT: Misfit = "the TLS hello is not well formed";
    let mut reader = Reader(body);
    // Version and random, session, cipher suites, compressions.
    let fixed = reader.take(34).is_some()
        && reader.list8().is_some_and(|session| session.len() <= 32)
        && reader.list16().is_some_and(|suites| !suites.is_empty())
        && reader.list8().is_some_and(|methods| !methods.is_empty());
    if !fixed {
        return Err(CUT);
    }
    if reader.0.is_empty() {
        return Ok(ServerName::Absent);
    }
    let mut extensions = Reader(reader.list16().ok_or(CUT)?);
    if !reader.0.is_empty() {
        return Err(CUT);
    }
    let mut found = ServerName::Absent;
    while !extensions.0.is_empty() {
        let kind = extensions.u16().ok_or(CUT)?;
        let data = extensions.list16().ok_or(CUT)?;
        if ENCRYPTED.contains(&kind) {
            return Err(
                "the TLS hello hides its host (encrypted hello): switch that off in the program",
            );
        }
        if kind != SERVER_NAME {
            continue;
        }
        if found != ServerName::Absent {
            return Err("the TLS hello names two hosts");
        }
        found = ServerName::Named(only_name(data).ok_or("the TLS hello names no single host")?);
    }
    Ok(found)
}

/// The one host name of the extension.
fn only_name(data: &[u8]) -> Option<Vec<u8>> {
    let mut reader = Reader(data);
    let mut list = Reader(reader.list16()?);
    let (kind, name) = (list.u8()?, list.list16()?);
    let alone = reader.0.is_empty() && list.0.is_empty();
    (alone && kind == 0 && !name.is_empty()).then(|| name.to_vec())
}

/// Bytes from the front.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2)?.try_into().ok().map(u16::from_be_bytes)
    }

    fn list8(&mut self) -> Option<&'a [u8]> {
        let length = self.u8()?;
        self.take(length.into())
    }

    fn list16(&mut self) -> Option<&'a [u8]> {
        let length = self.u16()?;
        self.take(length.into())
    }
}
