//! One message posted, and what comes back for it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::clean;
use crate::http::{Answer, HttpError, Verb};
use crate::protocol::json::MESSAGE_MAX;
use crate::protocol::rpc::Id;

use super::connection::Kind;
use super::events::{Event, Events, TooLarge};
use super::fields::Headed;
use super::lines::Told;
use super::shared::{Fault, Shared};
use super::streams;

/// How often the answer to one request is picked up again after its stream broke.
const RESUMES: usize = 8;
const PAUSE: Duration = Duration::from_secs(1);
/// The body of an error is looked at up to here.
const ERROR_MAX: u64 = 64 * 1024;
const NO_ANSWER: &str = "it gave no answer to the request";

/// Posts a request. Whoever waits for its answer gets one, whatever happens.
pub(super) async fn request(shared: Arc<Shared>, (id, headed): (Id, Headed), body: String) {
    let exchange = Exchange {
        shared: &shared,
        id: &id,
        headed: &headed,
    };
    if let Err(fault) = exchange.run(body).await {
        shared.fail(&id, &fault.to_string()).await;
    }
}

/// Posts a note, or an answer to the server. Its loss is not told to anybody: nobody waits for it.
pub(super) async fn note(shared: Arc<Shared>, headed: Headed, (body, until): (String, Instant)) {
    let Ok(url) = shared.post_url().await else {
        return;
    };
    let mut ask = shared.ask(Verb::Post, url, &headed);
    ask.body = Some(body);
    ask.deadline = Some(until);
    match shared.send(ask).await {
        Ok(answer) if answer.status() == 404 && shared.has_session() => session_ended(&shared),
        Ok(_) => {}
        Err(fault) => {
            let origin = shared.endpoint.url.origin();
            let why = clean::line(&fault.to_string(), 300);
            tracing::debug!("{origin}: a note was not taken: {why}");
        }
    }
}

/// Tells the server that its session is over.
pub(super) async fn farewell(shared: &Shared, until: Instant) {
    if shared.has_session() && !shared.speaks_events() {
        let url = shared.endpoint.url.clone();
        let mut ask = shared.ask(Verb::Delete, url, &Headed::default());
        ask.deadline = Some(until);
        // A server may not let its sessions be ended (405).
        let _ = shared.send(ask).await;
    }
}

fn session_ended(shared: &Shared) {
    shared.end("the server ended the session");
}

struct Exchange<'a> {
    shared: &'a Arc<Shared>,
    id: &'a Id,
    headed: &'a Headed,
}

impl Exchange<'_> {
    async fn run(&self, body: String) -> Result<(), Fault> {
        let url = self.shared.post_url().await?;
        let mut ask = self.shared.ask(Verb::Post, url, self.headed);
        ask.body = Some(body.clone());
        let answer = self.shared.send(ask).await?;
        let status = answer.status();
        if self.shared.speaks_events() {
            return self.on_the_stream(answer).await;
        }
        if (200..300).contains(&status) {
            if self.headed.method == "initialize" {
                self.shared.open_session(&answer);
            }
            return self.read(answer).await;
        }
        let old = matches!(status, 400 | 404 | 405) && self.headed.method == "initialize";
        if old && self.shared.endpoint.kind == Kind::Either {
            return self.fall_back(answer, body).await;
        }
        let session = status == 404 && self.headed.modern.is_none() && self.shared.has_session();
        let told = self.error(answer).await;
        if session {
            // Its own caller is told before all others.
            if let Err(fault) = told {
                self.shared.fail(self.id, &fault.to_string()).await;
            }
            session_ended(self.shared);
            return Ok(());
        }
        told
    }

    /// The answer comes on the stream of events, if the message was taken.
    async fn on_the_stream(&self, answer: Answer) -> Result<(), Fault> {
        if (200..300).contains(&answer.status()) {
            return Ok(());
        }
        self.error(answer).await
    }

    /// A server that does not know Streamable HTTP may know what came before.
    async fn fall_back(&self, answer: Answer, body: String) -> Result<(), Fault> {
        let status = answer.status();
        if answers(&self.pass_error(answer).await) {
            return Ok(());
        }
        if self.shared.claim_events() {
            self.shared.set_post_url(None);
            let stream = streams::events(Arc::clone(self.shared));
            self.shared.adopt(tokio::spawn(stream).abort_handle());
        }
        let posted = async {
            let url = self.shared.post_url().await?;
            let mut ask = self.shared.ask(Verb::Post, url, self.headed);
            ask.body = Some(body);
            let answer = self.shared.send(ask).await?;
            self.on_the_stream(answer).await
        };
        tokio::select! {
            done = posted => done,
            why = self.shared.over() => Err(Fault::Said(format!(
                "it answers {status}, and does not speak HTTP+SSE either ({why})"
            ))),
        }
    }

    async fn read(&self, answer: Answer) -> Result<(), Fault> {
        match answer.media_type().as_str() {
            "text/event-stream" => self.events(answer).await,
            "application/json" => {
                let most = u64::try_from(MESSAGE_MAX).unwrap_or(u64::MAX);
                let body = answer.whole(most).await?;
                let told = self.pass(&body).await;
                match told.unreadable {
                    _ if told.answers => Ok(()),
                    Some(why) => Err(Fault::Said(format!("its answer cannot be used: {why}"))),
                    None => Err(Fault::Said(NO_ANSWER.to_owned())),
                }
            }
            "" => Err(Fault::Said(NO_ANSWER.to_owned())),
            other => Err(Fault::Said(format!(
                "it answers with `{}`, which is no MCP",
                clean::line(other, 80)
            ))),
        }
    }

    async fn pass(&self, message: &[u8]) -> Told {
        let told = self.shared.pass(message, Some(self.id)).await;
        if let (true, Some(version)) = (self.headed.method == "initialize", &told.version) {
            self.shared.agree(version.clone());
        }
        told
    }

    /// Reads the stream of one request until its answer is there; picks it up again where it can.
    async fn events(&self, first: Answer) -> Result<(), Fault> {
        let mut events = Events::new(MESSAGE_MAX);
        let mut answer = first;
        for _ in 0..=RESUMES {
            let broken = match self.stream(&mut answer, &mut events).await? {
                Stream::Answered => return Ok(()),
                Stream::Ended(broken) => broken,
            };
            // Since 2026-07-28 a broken stream is a lost request.
            let id = events
                .last_id
                .clone()
                .filter(|_| self.headed.modern.is_none());
            let Some(id) = id else {
                let why = "the stream ended before the answer";
                return Err(broken.unwrap_or_else(|| Fault::Said(why.to_owned())));
            };
            sleep(events.retry.unwrap_or(PAUSE)).await;
            events.again();
            let url = self.shared.endpoint.url.clone();
            let mut ask = self.shared.ask(Verb::Get, url, &Headed::default());
            ask.fields.push(("last-event-id".to_owned(), id));
            answer = self.shared.send(ask).await?;
            if answer.status() != 200 || answer.media_type() != "text/event-stream" {
                let why = "the stream broke and cannot be picked up again";
                return Err(Fault::Said(format!("{why} (status {})", answer.status())));
            }
        }
        Err(Fault::Said("the stream broke too often".to_owned()))
    }

    async fn stream(&self, answer: &mut Answer, events: &mut Events) -> Result<Stream, Fault> {
        loop {
            let bytes = match answer.next().await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => return Ok(Stream::Ended(None)),
                Err(error) => return Ok(Stream::Ended(Some(error.into()))),
            };
            let found = events.push(&bytes).map_err(|TooLarge| {
                Fault::Http(HttpError::TooLarge(
                    u64::try_from(MESSAGE_MAX).unwrap_or(u64::MAX),
                ))
            })?;
            if self.pass_all(found).await {
                return Ok(Stream::Answered);
            }
        }
    }

    /// Hands messages on until one is the answer; whether one was.
    async fn pass_all(&self, events: Vec<Event>) -> bool {
        for event in events.into_iter().filter(streams::is_message) {
            if self.pass(&event.data).await.answers {
                return true;
            }
        }
        false
    }

    /// An answer that is none, unless it holds an error of JSON-RPC.
    async fn error(&self, answer: Answer) -> Result<(), Fault> {
        let status = answer.status();
        if answers(&self.pass_error(answer).await) {
            return Ok(());
        }
        Err(Fault::Said(format!("it answers with status {status}")))
    }

    async fn pass_error(&self, answer: Answer) -> Option<Told> {
        if answer.media_type() != "application/json" {
            return None;
        }
        let body = answer.whole(ERROR_MAX).await.ok()?;
        if !Told::of(&body, Some(self.id)).answers {
            return None;
        }
        Some(self.pass(&body).await)
    }
}

fn answers(told: &Option<Told>) -> bool {
    told.as_ref().is_some_and(|told| told.answers)
}

enum Stream {
    /// The answer was on it.
    Answered,
    /// It ended before, with the reason where it broke.
    Ended(Option<Fault>),
}
