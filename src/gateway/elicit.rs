//! Questions to the person through the client's `elicitation/create`. The client may answer by
//! itself, so the channel is recorded and its answers last at most this session.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::protocol::json::Json;
use crate::request::{Answer, Approver, Channel, Question, Reply};
use crate::transport::CallOptions;

use super::client::Client;

/// Longer than any question waits; the broker's limit is the one that counts.
const LIMIT: Duration = Duration::from_secs(24 * 3600);

/// The approver that asks through the client.
#[derive(Debug)]
pub(crate) struct Elicitation {
    client: Arc<Client>,
}

impl Elicitation {
    /// Asks through this client.
    pub(crate) fn new(client: Arc<Client>) -> Self {
        Self { client }
    }

    async fn put(&self, question: &Question) -> Option<Reply> {
        let client = self.client.hello()?.name.clone();
        let choices = choices(question);
        let params = Json::object([
            ("message", Json::String(message(question))),
            ("requestedSchema", schema(&choices)),
        ]);
        let params = params.as_object().cloned()?;
        let options = CallOptions::within(LIMIT);
        let answer = (self.client)
            .ask("elicitation/create", params, options)
            .await
            .ok()?;
        let (answer, scope) = match answer.get("action").and_then(Json::as_str)? {
            // What was not offered agrees to nothing: the client shows something else than it was
            // asked to, and nobody would come back to a form that was sent.
            "accept" => {
                let content = answer.get("content").and_then(|form| form.get("answer"));
                let word = content.and_then(Json::as_str).unwrap_or_default();
                let chosen = choices.into_iter().find(|choice| choice.word == word);
                chosen.map_or((Answer::None, 0), |chosen| (chosen.answer, chosen.scope))
            }
            "decline" => (Answer::None, 0),
            // Dismissed without a choice, perhaps by a client that nobody sits at: whoever has
            // `creance approve` open may still answer.
            _ => return None,
        };
        Some(Reply {
            answer,
            scope,
            channel: Channel::Elicitation { client },
        })
    }
}

impl Approver for Elicitation {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(self.put(question))
    }

    fn attended(&self) -> bool {
        self.client.elicits()
    }
}

/// One answer with what it covers.
struct Choice {
    word: String,
    answer: Answer,
    scope: usize,
}

/// What may be answered here: "always" never, since the client may have answered by itself.
fn choices(question: &Question) -> Vec<Choice> {
    let choice = |word: String, answer, scope| Choice {
        word,
        answer,
        scope,
    };
    let mut choices = vec![choice("no".to_owned(), Answer::None, 0)];
    if !question.asked.complete {
        return choices;
    }
    choices.push(choice("once".to_owned(), Answer::Once, 0));
    if question.longest <= Answer::Session {
        for (index, scope) in question.scopes.iter().enumerate() {
            let word = format!("session: {scope}");
            choices.push(choice(word, Answer::Session, index));
        }
    }
    choices
}

fn schema(choices: &[Choice]) -> Json {
    let text = |text: &str| Json::String(text.to_owned());
    let words = choices.iter().map(|c| Json::String(c.word.clone()));
    let answer = Json::object([
        ("type", text("string")),
        ("title", text("Answer")),
        ("enum", Json::Array(words.collect())),
    ]);
    Json::object([
        ("type", text("object")),
        ("properties", Json::object([("answer", answer)])),
        ("required", Json::Array(vec![text("answer")])),
    ])
}

/// The question as text: everything the person must see, then why it is asked.
fn message(question: &Question) -> String {
    let mut text = format!("{}\n", question.asked.title);
    for detail in &question.asked.details {
        if detail.text.contains('\n') {
            text.push_str(&format!("{}:\n", detail.label));
            for line in detail.text.lines() {
                text.push_str(&format!("    {line}\n"));
            }
        } else {
            text.push_str(&format!("{}: {}\n", detail.label, detail.text));
        }
    }
    for warning in &question.asked.warnings {
        text.push_str(&format!("! {warning}\n"));
    }
    for part in &question.because {
        let policy = crate::clean::line(&part.policy, 200);
        let reason = crate::clean::line(&part.reason, 300);
        text.push_str(&format!("asked because of {policy}: {reason}\n"));
    }
    if !question.asked.complete {
        text.push_str("It cannot be shown in full here, so it cannot be agreed to.\n");
    }
    text
}
