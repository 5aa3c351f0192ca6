//! Answers the demonstration's questions, and says so.

use std::future::Future;
use std::pin::Pin;

use creance::{Answer, Approver, Channel, Question, Reply};

use crate::cli::out;

/// Agrees once to everything but a tool list that changed behind the user's back.
#[derive(Debug, Default)]
pub(super) struct Player;

impl Player {
    fn answer(question: &Question) -> Reply {
        let answer = if question.action == "server.tools" {
            Answer::None
        } else {
            Answer::Once
        };
        out::note(&format!(
            "asked: {} The demo answers: {}.",
            question.asked.title,
            answer.word()
        ));
        Reply {
            answer,
            scope: 0,
            channel: Channel::Demo,
        }
    }
}

impl Approver for Player {
    fn ask<'a>(
        &'a self,
        question: &'a Question,
    ) -> Pin<Box<dyn Future<Output = Option<Reply>> + Send + 'a>> {
        Box::pin(std::future::ready(Some(Self::answer(question))))
    }

    fn attended(&self) -> bool {
        true
    }
}
