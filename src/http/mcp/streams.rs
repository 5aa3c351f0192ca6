//! Streams that no request opened: the server's own messages, and all of them in HTTP+SSE.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::http::{Answer, Verb};
use crate::protocol::json::MESSAGE_MAX;

use super::events::{Event, Events};
use super::fields::Headed;
use super::shared::{Fault, Shared};

const PAUSE: Duration = Duration::from_secs(1);
const PAUSE_MAX: Duration = Duration::from_secs(30);
/// Attempts in a row that brought nothing.
const VAIN_MAX: u32 = 6;

/// Whether an event carries a message. An event without data keeps a place in the stream.
pub(super) fn is_message(event: &Event) -> bool {
    matches!(event.kind.as_str(), "" | "message") && !event.data.trim_ascii().is_empty()
}

/// The stream of the server's own messages (Streamable HTTP): opened again when it ends, and given up
/// where the server has none. `opened` hears when the first attempt has come to something.
pub(super) async fn own(shared: Arc<Shared>, opened: oneshot::Sender<()>) {
    let mut opened = Some(opened);
    let mut events = Events::new(MESSAGE_MAX);
    let (mut vain, mut pause) = (0, PAUSE);
    while vain < VAIN_MAX {
        let mut ask = shared.ask(Verb::Get, shared.endpoint.url.clone(), &Headed::default());
        let id = events.last_id.iter().cloned();
        ask.fields
            .extend(id.map(|id| ("last-event-id".to_owned(), id)));
        vain += 1;
        let answer = shared.send(ask).await;
        // Nobody waits any more where it took long.
        if let Some(opened) = opened.take() {
            let _ = opened.send(());
        }
        match answer {
            Ok(answer) if is_stream(&answer) => {
                if read(&shared, answer, &mut events).await {
                    (vain, pause) = (0, PAUSE);
                }
            }
            Ok(answer) if answer.status() == 404 && shared.has_session() => {
                shared.end("the server ended the session");
                return;
            }
            Ok(answer) if answer.status() < 500 => return,
            Ok(_) | Err(Fault::Http(_)) => {}
            Err(Fault::Said(_)) => return,
        }
        sleep(events.retry.unwrap_or(pause)).await;
        events.again();
        pause = (pause * 2).min(PAUSE_MAX);
    }
}

fn is_stream(answer: &Answer) -> bool {
    answer.status() == 200 && answer.media_type() == "text/event-stream"
}

/// Reads a stream to its end; whether anything was on it.
async fn read(shared: &Shared, mut answer: Answer, events: &mut Events) -> bool {
    let mut any = false;
    while let Ok(Some(bytes)) = answer.next().await {
        let Ok(found) = events.push(&bytes) else {
            return any;
        };
        any |= !found.is_empty();
        for event in found.iter().filter(|event| is_message(event)) {
            shared.pass(&event.data, None).await;
        }
    }
    any
}

/// HTTP+SSE of 2024-11-05: all that the server says comes on this stream; where to post to, first.
pub(super) async fn events(shared: Arc<Shared>) {
    let why = match all(&shared).await {
        Ok(()) => "the stream of events ended".to_owned(),
        Err(fault) => fault.to_string(),
    };
    shared.end(&why);
}

async fn all(shared: &Shared) -> Result<(), Fault> {
    let ask = shared.ask(Verb::Get, shared.endpoint.url.clone(), &Headed::default());
    let mut answer = shared.send(ask).await?;
    if !is_stream(&answer) {
        let status = answer.status();
        return Err(Fault::Said(format!(
            "it has no stream of events (status {status})"
        )));
    }
    let mut events = Events::new(MESSAGE_MAX);
    while let Some(bytes) = answer.next().await? {
        let found = events.push(&bytes);
        let found = found.map_err(|_| Fault::Said("an event is too large".to_owned()))?;
        for event in found {
            if event.kind == "endpoint" {
                shared.set_post_url(Some(post_url(shared, &event)?));
            } else if is_message(&event) {
                shared.pass(&event.data, None).await;
            }
        }
    }
    Ok(())
}

/// Where to post to is the server's word: its own host, and no other, is believed.
fn post_url(shared: &Shared, event: &Event) -> Result<crate::address::WebUrl, Fault> {
    let own = &shared.endpoint.url;
    let told = std::str::from_utf8(&event.data).ok();
    let url = told.and_then(|told| own.joined(told.trim()).ok());
    let url = url.ok_or_else(|| Fault::Said("it names no address to post to".to_owned()))?;
    if url.origin() != own.origin() {
        let to = url.origin();
        return Err(Fault::Said(format!(
            "it wants messages posted to another host ({to}), which is not done"
        )));
    }
    Ok(url)
}
