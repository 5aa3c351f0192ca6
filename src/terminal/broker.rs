//! One question, several channels: the first valid reply wins, the others are withdrawn, and no
//! reply in time is no reply at all. What a reply may say is settled in `weigh`.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::request::{Answer, Approver, Question, Reply};

/// Puts a question to every attended channel at once.
///
/// No channel, no valid reply within the limit, or too many questions waiting already: nobody
/// answered, and the decision is a denial. So is a question that was dismissed on one channel while
/// nobody watches the others: the person has seen it, and the caller must not wait for nobody.
#[derive(Debug)]
pub struct Broker {
    channels: Vec<Arc<dyn Approver>>,
    limit: Duration,
    places: Semaphore,
}

impl Broker {
    /// How long a question waits unless [`Broker::with_limit`] says otherwise.
    pub const LIMIT: Duration = Duration::from_mins(5);

    /// How many questions wait at once unless [`Broker::with_waiting_max`] says otherwise. A person
    /// who is asked more than this answers without reading.
    pub const WAITING_MAX: usize = 32;

    /// How long after a dismissal the other channels have to show that somebody watches: longer than
    /// `creance approve --follow` takes to look again.
    const DISMISSED: Duration = Duration::from_secs(2);

    /// A broker over these channels.
    #[must_use]
    pub fn new(channels: Vec<Arc<dyn Approver>>) -> Self {
        Self {
            channels,
            limit: Self::LIMIT,
            places: Semaphore::new(Self::WAITING_MAX),
        }
    }

    /// Changes how long a question waits.
    #[must_use]
    pub fn with_limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// Changes how many questions may wait at once; any more are not asked.
    #[must_use]
    pub fn with_waiting_max(mut self, waiting_max: usize) -> Self {
        self.places = Semaphore::new(waiting_max.min(Semaphore::MAX_PERMITS));
        self
    }

    async fn put(&self, question: &Question) -> Option<Reply> {
        let _place = self.places.try_acquire().ok()?;
        let asks = self
            .channels
            .iter()
            .filter(|channel| channel.attended())
            .map(|channel| (channel.as_ref(), channel.ask(question)))
            .collect();
        let first = first_valid(asks, question);
        tokio::time::timeout(self.limit, first).await.ok().flatten()
    }
}

impl Approver for Broker {
    fn ask<'a>(&'a self, question: &'a Question) -> Ask<'a> {
        Box::pin(self.put(question))
    }

    fn attended(&self) -> bool {
        self.channels.iter().any(|channel| channel.attended())
    }
}

type Ask<'a> = Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>>;

/// A channel with its answer to come.
type Asked<'a> = (&'a dyn Approver, Ask<'a>);

/// What the channels came to.
enum Turn {
    /// A reply that counts, or no channel is left.
    Settled(Option<Reply>),
    /// One ended without a reply, and others still wait.
    Dismissed,
}

async fn first_valid(mut asks: Vec<Asked<'_>>, question: &Question) -> Option<Reply> {
    let mut dismissed = false;
    loop {
        let turn = poll_fn(|context| poll_all(&mut asks, question, context));
        tokio::select! {
            turn = turn => match turn {
                Turn::Settled(reply) => return reply,
                Turn::Dismissed => dismissed = true,
            },
            () = tokio::time::sleep(Broker::DISMISSED), if dismissed => {
                if !asks.iter().any(|(channel, _)| channel.watched()) {
                    return None;
                }
            }
        }
    }
}

/// Polls every channel before it settles, so that of replies that arrive together a "no" wins.
fn poll_all(
    asks: &mut Vec<Asked<'_>>,
    question: &Question,
    context: &mut Context<'_>,
) -> Poll<Turn> {
    let mut best: Option<Reply> = None;
    let before = asks.len();
    asks.retain_mut(|(_, ask)| {
        let Poll::Ready(reply) = ask.as_mut().poll(context) else {
            return true;
        };
        if let Some(reply) = reply.and_then(|reply| weigh(reply, question))
            && best.as_ref().is_none_or(|_| reply.answer == Answer::None)
        {
            best = Some(reply);
        }
        false
    });
    match best {
        Some(reply) => Poll::Ready(Turn::Settled(Some(reply))),
        None if asks.is_empty() => Poll::Ready(Turn::Settled(None)),
        None if asks.len() < before => Poll::Ready(Turn::Dismissed),
        None => Poll::Pending,
    }
}

/// What a reply is worth.
///
/// "No" always stands. An agreement is void (as if its channel had nobody) when the question could
/// not be shown whole, when no answer is accepted, or when the scope is none of those offered. One
/// that lasts longer than policy or channel accept is shortened: the person agreed to at least
/// this request, just now, so the shorter answer says less than was meant and never more. An answer
/// for this request alone has the narrowest scope.
fn weigh(mut reply: Reply, question: &Question) -> Option<Reply> {
    if reply.answer == Answer::None {
        reply.scope = 0;
        return Some(reply);
    }
    let offered = question.asked.complete
        && question.longest != Answer::None
        && reply.scope < question.scopes.len();
    if !offered {
        return None;
    }
    reply.answer = reply
        .answer
        .max(question.longest)
        .max(reply.channel.longest());
    if reply.answer == Answer::Once {
        reply.scope = 0;
    }
    Some(reply)
}

#[cfg(test)]
#[path = "tests/broker.rs"]
mod tests;
