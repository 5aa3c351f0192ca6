//! Which reply wins, what it is worth, and what happens to the losers.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use proptest::prelude::{Just, Strategy, any, prop_assert, prop_oneof, proptest};

use super::*;
use crate::request::{Asked, Channel};

fn question(longest: Answer) -> Question {
    Question {
        id: "q1".to_owned(),
        action: "tool.call".to_owned(),
        asked: Asked {
            title: "Call add".to_owned(),
            complete: true,
            ..Asked::default()
        },
        because: Vec::new(),
        longest,
        scopes: vec!["this call".to_owned(), "the tool user/fs/add".to_owned()],
        asker: "a client".to_owned(),
    }
}

fn reply(answer: Answer, scope: usize, channel: Channel) -> Reply {
    Reply {
        answer,
        scope,
        channel,
    }
}

/// A channel with a script: what it replies, and when; counts questions and withdrawals.
#[derive(Debug, Default)]
struct Scripted {
    reply: Option<Reply>,
    after: Option<Duration>,
    absent: bool,
    unwatched: bool,
    asked: AtomicUsize,
    withdrawn: AtomicBool,
}

impl Scripted {
    fn says(answer: Answer, after_s: u64) -> Arc<Self> {
        Arc::new(Self {
            reply: Some(reply(answer, 0, Channel::Terminal)),
            after: Some(Duration::from_secs(after_s)),
            ..Self::default()
        })
    }

    fn never() -> Arc<Self> {
        Arc::default()
    }
}

struct Withdrawn<'a>(&'a AtomicBool, bool);

impl Drop for Withdrawn<'_> {
    fn drop(&mut self) {
        self.0.store(!self.1, Ordering::SeqCst);
    }
}

impl Approver for Scripted {
    fn ask<'a>(&'a self, _question: &'a Question) -> Ask<'a> {
        Box::pin(async {
            self.asked.fetch_add(1, Ordering::SeqCst);
            let mut guard = Withdrawn(&self.withdrawn, false);
            match self.after {
                Some(after) => tokio::time::sleep(after).await,
                None => std::future::pending().await,
            }
            guard.1 = true;
            self.reply.clone()
        })
    }

    fn attended(&self) -> bool {
        !self.absent
    }

    fn watched(&self) -> bool {
        !self.unwatched
    }
}

fn broker(channels: &[&Arc<Scripted>]) -> Broker {
    let channels = channels.iter().map(|&c| Arc::clone(c) as Arc<dyn Approver>);
    Broker::new(channels.collect())
}

#[tokio::test(start_paused = true)]
async fn the_first_reply_wins_and_the_others_are_withdrawn() {
    let (slow, fast, never) = (
        Scripted::says(Answer::None, 9),
        Scripted::says(Answer::Once, 3),
        Scripted::never(),
    );
    let answered = broker(&[&slow, &fast, &never])
        .ask(&question(Answer::Remembered))
        .await;
    assert_eq!(answered.map(|r| r.answer), Some(Answer::Once));
    assert!(slow.withdrawn.load(Ordering::SeqCst));
    assert!(never.withdrawn.load(Ordering::SeqCst));
    assert!(!fast.withdrawn.load(Ordering::SeqCst));
}

#[tokio::test(start_paused = true)]
async fn of_replies_that_arrive_together_no_wins() {
    let yes = Scripted::says(Answer::Once, 3);
    let no = Scripted::says(Answer::None, 3);
    for channels in [[&yes, &no], [&no, &yes]] {
        let answered = broker(&channels).ask(&question(Answer::Remembered)).await;
        assert_eq!(answered.map(|r| r.answer), Some(Answer::None));
    }
}

#[tokio::test(start_paused = true)]
async fn no_answer_in_the_limit_is_no_answer() {
    let late = Scripted::says(Answer::Once, 301);
    let start = tokio::time::Instant::now();
    assert_eq!(
        broker(&[&late]).ask(&question(Answer::Once)).await,
        None,
        "five minutes by default"
    );
    assert_eq!(start.elapsed().as_secs(), 300);
    assert!(late.withdrawn.load(Ordering::SeqCst));
    let patient = broker(&[&late]).with_limit(Duration::from_secs(302));
    assert!(patient.ask(&question(Answer::Once)).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn channels_without_anybody_are_not_asked_and_do_not_speak_for_others() {
    let absent = Arc::new(Scripted {
        absent: true,
        ..Scripted::default()
    });
    assert!(!broker(&[]).attended());
    assert!(!broker(&[&absent]).attended());
    assert_eq!(broker(&[&absent]).ask(&question(Answer::Once)).await, None);
    assert_eq!(absent.asked.load(Ordering::SeqCst), 0);

    let gave_up = Arc::new(Scripted {
        after: Some(Duration::ZERO),
        ..Scripted::default()
    });
    let later = Scripted::says(Answer::Once, 5);
    let answered = broker(&[&gave_up, &later])
        .ask(&question(Answer::Once))
        .await;
    assert_eq!(answered.map(|r| r.answer), Some(Answer::Once));
    assert_eq!(broker(&[&gave_up]).ask(&question(Answer::Once)).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_void_agreement_leaves_the_others_waiting() {
    let eager = Scripted::says(Answer::Once, 1);
    let no = Scripted::says(Answer::None, 5);
    let mut hidden = question(Answer::Once);
    hidden.asked.complete = false;
    let answered = broker(&[&eager, &no]).ask(&hidden).await;
    assert_eq!(answered.map(|r| r.answer), Some(Answer::None));
    assert_eq!(broker(&[&eager]).ask(&hidden).await, None);
}

#[tokio::test(start_paused = true)]
async fn questions_beyond_the_bound_are_not_asked() {
    let slow = Scripted::says(Answer::Once, 5);
    let broker = broker(&[&slow]).with_waiting_max(2);
    let question = question(Answer::Once);
    let (a, b, c) = tokio::join!(
        broker.ask(&question),
        broker.ask(&question),
        broker.ask(&question)
    );
    assert!(a.is_some() && b.is_some());
    assert_eq!(c, None);
    assert_eq!(slow.asked.load(Ordering::SeqCst), 2);
    assert!(broker.ask(&question).await.is_some(), "the places are free");
}

fn elicitation() -> Channel {
    Channel::Elicitation {
        client: "c".to_owned(),
    }
}

#[test]
fn replies_are_weighed() {
    fn check(said: (Answer, usize, Channel), longest: Answer, want: Option<(Answer, usize)>) {
        let given = reply(said.0, said.1, said.2.clone());
        let got = weigh(given, &question(longest)).map(|r| (r.answer, r.scope));
        assert_eq!(got, want, "{said:?} where policy accepts {longest:?}");
    }
    use Answer::{None as No, Once, Remembered, Session};
    let terminal = || Channel::Terminal;
    check(
        (Remembered, 1, terminal()),
        Remembered,
        Some((Remembered, 1)),
    );
    check((Remembered, 1, terminal()), Session, Some((Session, 1)));
    check((Remembered, 1, terminal()), Once, Some((Once, 0)));
    check(
        (Remembered, 1, elicitation()),
        Remembered,
        Some((Session, 1)),
    );
    check((Session, 0, elicitation()), Once, Some((Once, 0)));
    check((Once, 1, terminal()), Remembered, Some((Once, 0)));
    check((Session, 2, terminal()), Remembered, None);
    check((No, 7, terminal()), Once, Some((No, 0)));
    check((Once, 0, terminal()), No, None);
}

fn answer() -> impl Strategy<Value = Answer> {
    prop_oneof![
        Just(Answer::None),
        Just(Answer::Remembered),
        Just(Answer::Session),
        Just(Answer::Once),
    ]
}

proptest! {
    /// A weighed agreement never lasts longer than policy, channel and person allow.
    #[test]
    fn no_reply_outlives_its_bounds(
        said in answer(), longest in answer(), scope in 0_usize..4,
        complete in any::<bool>(), by_client in any::<bool>(),
    ) {
        let channel = if by_client { elicitation() } else { Channel::Terminal };
        let mut question = question(longest);
        question.asked.complete = complete;
        let bound = channel.longest();
        let Some(weighed) = weigh(reply(said, scope, channel), &question) else {
            prop_assert!(said != Answer::None, "a no always stands");
            return Ok(());
        };
        prop_assert!((weighed.answer == Answer::None) == (said == Answer::None));
        prop_assert!(weighed.scope < question.scopes.len());
        if weighed.answer != Answer::None {
            prop_assert!(complete && longest != Answer::None);
            prop_assert!(weighed.answer >= said.max(longest).max(bound));
        }
    }
}

/// A dismissal ends the question unless somebody watches the channels that still wait.
#[tokio::test(start_paused = true)]
async fn a_dismissed_question_waits_for_those_who_watch_only() {
    for watched in [true, false] {
        let dismisses = Arc::new(Scripted {
            after: Some(Duration::from_secs(1)),
            ..Scripted::default()
        });
        let waits = Arc::new(Scripted {
            reply: Some(reply(Answer::Once, 0, Channel::Terminal)),
            after: Some(Duration::from_mins(1)),
            unwatched: !watched,
            ..Scripted::default()
        });
        let begun = tokio::time::Instant::now();
        let question = question(Answer::Session);
        let answered = broker(&[&dismisses, &waits]).ask(&question).await;
        let want = watched.then_some(Answer::Once);
        assert_eq!(answered.map(|reply| reply.answer), want);
        let took = if watched { 60 } else { 3 };
        assert_eq!(begun.elapsed().as_secs(), took);
        assert_eq!(waits.withdrawn.load(Ordering::SeqCst), !watched);
    }
}
