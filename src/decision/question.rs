//! From a verdict that needs an answer to a question for a person, and from the reply to the answer.

use std::time::Duration;

use crate::policy::Verdict;
use crate::request::{Answer, Asked, Entry, Key, Question, Reply};

/// Builds the question for a verdict.
pub(super) fn build(
    id: String,
    action: &'static str,
    asked: Asked,
    (verdict, longest): (&Verdict, Answer),
    (keys, asker): (&[Key], String),
) -> Question {
    Question {
        id,
        action: action.to_owned(),
        asked,
        because: verdict.because.clone(),
        longest,
        scopes: keys.iter().map(|key| key.scope.clone()).collect(),
        asker,
    }
}

/// The answer that a reply gives to this question. A reply that is longer-lived than policy or its
/// channel accepts counts as the longest that both accept: a shorter-lived answer is the stronger
/// one. A reply about something that was not offered, or that agrees to what could not be shown in
/// full, is a no.
pub(super) fn weigh(question: &Question, reply: &Reply) -> Answer {
    let known = reply.scope < question.scopes.len();
    if reply.answer == Answer::None || !known || !question.asked.complete {
        return Answer::None;
    }
    reply
        .answer
        .max(question.longest)
        .max(reply.channel.longest())
}

/// The ledger entry of an answer that is kept; a "once" is not. A lasting one ends after `kept_for`.
pub(super) fn entry(
    key: &Key,
    reply: &Reply,
    answer: Answer,
    (now_ms, kept_for): (i64, Duration),
) -> Option<Entry> {
    if answer == Answer::Once || answer == Answer::None {
        return None;
    }
    let kept_ms = i64::try_from(kept_for.as_millis()).unwrap_or(i64::MAX);
    Some(Entry {
        action: key.action.to_owned(),
        principal: key.principal.clone(),
        resource: key.resource.clone(),
        fingerprint: key.fingerprint,
        scope: key.scope.clone(),
        answer,
        channel: reply.channel.to_string(),
        at_ms: now_ms,
        until_ms: (answer == Answer::Remembered).then(|| now_ms.saturating_add(kept_ms)),
        holding: key.holding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Channel;

    fn check(
        longest: Answer,
        channel: Channel,
        (answer, scope, complete): (Answer, usize, bool),
        want: Answer,
    ) {
        let question = Question {
            id: "q".into(),
            action: "tool.call".into(),
            asked: Asked {
                complete,
                ..Asked::default()
            },
            because: vec![],
            longest,
            scopes: vec!["this call".into()],
            asker: "test".into(),
        };
        let reply = Reply {
            answer,
            scope,
            channel,
        };
        assert_eq!(weigh(&question, &reply), want);
    }

    #[test]
    fn a_reply_never_outlives_what_policy_and_channel_accept() {
        let elicited = || Channel::Elicitation { client: "c".into() };
        check(
            Answer::Remembered,
            Channel::Terminal,
            (Answer::Remembered, 0, true),
            Answer::Remembered,
        );
        check(
            Answer::Session,
            Channel::Terminal,
            (Answer::Remembered, 0, true),
            Answer::Session,
        );
        check(
            Answer::Once,
            Channel::Terminal,
            (Answer::Session, 0, true),
            Answer::Once,
        );
        check(
            Answer::Remembered,
            elicited(),
            (Answer::Remembered, 0, true),
            Answer::Session,
        );
        check(
            Answer::Remembered,
            Channel::Terminal,
            (Answer::Once, 0, true),
            Answer::Once,
        );
        check(
            Answer::Remembered,
            Channel::Terminal,
            (Answer::None, 0, true),
            Answer::None,
        );
        check(
            Answer::Remembered,
            Channel::Terminal,
            (Answer::Once, 1, true),
            Answer::None,
        );
        check(
            Answer::Remembered,
            Channel::Terminal,
            (Answer::Once, 0, false),
            Answer::None,
        );
    }
}
