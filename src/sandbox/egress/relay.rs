//! Bytes in both directions, unchanged, until both sides are done.

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;

use super::client::Client;
use super::gate::End;
use super::meter::{Direction, Meter};

/// Bytes that are held for one direction.
const PIECE: usize = 16 << 10;

/// Joins the two sides. What the program sent so far goes first.
pub(super) async fn relay(client: &mut Client, host: TcpStream, meter: &Meter) -> End {
    let early = client.take_held();
    let (mut from_program, mut to_program) = client.stream.split();
    let (mut from_host, mut to_host) = host.into_split();
    let up = async {
        pass(&early, &mut to_host, meter, Direction::Up).await?;
        pump(&mut from_program, &mut to_host, meter, Direction::Up).await
    };
    let down = pump(&mut from_host, &mut to_program, meter, Direction::Down);
    tokio::select! {
        both = async { tokio::try_join!(up, down) } => both.err().unwrap_or(End::Done),
        () = meter.idle() => End::Idle,
    }
}

/// Counts bytes and passes them on.
pub(super) async fn pass(
    bytes: &[u8],
    to: &mut (impl AsyncWrite + Unpin),
    meter: &Meter,
    direction: Direction,
) -> Result<(), End> {
    if bytes.is_empty() {
        return Ok(());
    }
    meter.count(direction, bytes.len())?;
    to.write_all(bytes).await.map_err(|_| End::Broken)?;
    meter.touch();
    Ok(())
}

/// Passes everything on; the end too.
pub(super) async fn pump(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    meter: &Meter,
    direction: Direction,
) -> Result<(), End> {
    let mut piece = Vec::with_capacity(PIECE);
    loop {
        piece.clear();
        let mut limited = (&mut *from).take(PIECE as u64);
        match limited.read_buf(&mut piece).await {
            Ok(0) => break,
            Ok(_) => pass(&piece, to, meter, direction).await?,
            Err(_) => return Err(End::Broken),
        }
    }
    // The other side may be gone already.
    let _ = to.shutdown().await;
    Ok(())
}
