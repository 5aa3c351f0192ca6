//! One file from the address that the organisation pinned.

use std::time::{Duration, Instant};

use crate::address::WebUrl;

use super::blocking::blocking;
use super::client::{Ask, Client};
use super::error::HttpError;
use super::source::Source;
use super::terms::{Leads, Plain, Terms, look_up};

/// From the first packet to the last.
const LIMIT: Duration = Duration::from_secs(15);

/// Fetches a file. Blocks.
pub(crate) fn fetch(source: Source<'_>) -> Result<Vec<u8>, String> {
    let failed = |why: String| format!("{}: {why}", source.url);
    blocking(get(source)).map_err(failed)?
}

async fn get(source: Source<'_>) -> Result<Vec<u8>, String> {
    let failed = |error: HttpError| format!("{}: {error}", source.url);
    let url = WebUrl::read(source.url).map_err(|fault| format!("{}: {fault}", source.url))?;
    let terms = Terms {
        leads: Leads::Pinned,
        plain: Plain::Never,
        authority: source.authority,
    };
    let addresses = look_up(url.target(), terms.leads).await.map_err(failed)?;
    let client = Client::new(&url, addresses, &terms).map_err(failed)?;
    let mut ask = Ask::get(url);
    ask.deadline = Some(Instant::now() + LIMIT);
    let answer = client.send(ask).await.map_err(failed)?;
    let status = answer.status();
    if (300..400).contains(&status) {
        return Err(format!(
            "{} leads elsewhere ({status}), which is not followed: name the last address",
            source.url
        ));
    }
    if status != 200 {
        return Err(format!("{} answers {status}", source.url));
    }
    answer.whole(source.max).await.map_err(failed)
}
