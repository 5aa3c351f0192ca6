//! What is typed at a question and what it means: a pure state machine. Everything but a clear
//! agreement is "no".

use crate::request::{Answer, Question};

use super::line::{Line, Tone};
use super::render::offered;

/// After this many lines that mean nothing the answer is "no".
const TRIES_MAX: u8 = 3;

/// The state of one conversation.
#[derive(Debug)]
pub(super) struct Dialogue<'a> {
    question: &'a Question,
    agreed: Option<Answer>,
    tries: u8,
}

/// What a typed line led to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step<T> {
    /// Show this, and go on.
    More(T),
    /// An answer, and the index of what it covers.
    Done(Answer, usize),
}

impl<'a> Dialogue<'a> {
    pub(super) fn new(question: &'a Question) -> Self {
        Self {
            question,
            agreed: None,
            tries: 0,
        }
    }

    /// What stands before the cursor.
    pub(super) fn prompt(&self) -> Line {
        if self.agreed.is_some() {
            return Line::new(Tone::Title, "  for which? [1] ");
        }
        let keys: Vec<&str> = offered(self.question).into_iter().map(key).collect();
        Line::new(Tone::Title, &format!("  {} ", keys.join("  ")))
    }

    /// Takes one typed line.
    pub(super) fn line(&mut self, typed: &str) -> Step<Vec<Line>> {
        let typed = typed.trim().to_lowercase();
        match self.agreed {
            None => self.answer(&typed),
            Some(answer) => self.scope(answer, &typed),
        }
    }

    fn answer(&mut self, typed: &str) -> Step<Vec<Line>> {
        let Some(answer) = parse(typed) else {
            return self.again("type one of the words, or its first letter");
        };
        if !offered(self.question).contains(&answer) {
            return self.again("this answer is not offered here");
        }
        let widens = matches!(answer, Answer::Session | Answer::Remembered);
        if !widens || self.question.scopes.len() < 2 {
            return Step::Done(answer, 0);
        }
        self.agreed = Some(answer);
        Step::More(self.scopes())
    }

    fn scope(&mut self, answer: Answer, typed: &str) -> Step<Vec<Line>> {
        if typed.is_empty() {
            return Step::Done(answer, 0);
        }
        if parse(typed) == Some(Answer::None) {
            return Step::Done(Answer::None, 0);
        }
        let chosen = typed.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
        match chosen {
            Some(scope) if scope < self.question.scopes.len() => Step::Done(answer, scope),
            _ => self.again("type one of the numbers, or n for no"),
        }
    }

    fn again(&mut self, hint: &str) -> Step<Vec<Line>> {
        self.tries += 1;
        if self.tries >= TRIES_MAX {
            return Step::Done(Answer::None, 0);
        }
        Step::More(vec![Line::new(Tone::Quiet, &format!("  {hint}"))])
    }

    fn scopes(&self) -> Vec<Line> {
        let numbered = self.question.scopes.iter().zip(1_usize..);
        numbered
            .map(|(scope, number)| {
                let mut line = Line::new(Tone::Plain, &format!("    [{number}] "));
                line.push_untrusted(Tone::Plain, scope);
                line
            })
            .collect()
    }
}

fn key(answer: Answer) -> &'static str {
    match answer {
        Answer::Once => "[o]nce",
        Answer::Session => "[s]ession",
        Answer::Remembered => "[a]lways",
        Answer::None => "[N]o:",
    }
}

fn parse(typed: &str) -> Option<Answer> {
    match typed {
        "" | "n" | "no" => Some(Answer::None),
        "o" | "once" => Some(Answer::Once),
        "s" | "session" => Some(Answer::Session),
        "a" | "always" => Some(Answer::Remembered),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Asked;

    fn question(longest: Answer) -> Question {
        Question {
            id: "q".to_owned(),
            action: "tool.call".to_owned(),
            asked: Asked {
                complete: true,
                ..Asked::default()
            },
            because: Vec::new(),
            longest,
            scopes: vec!["this call".to_owned(), "the tool\nx".to_owned()],
            asker: String::new(),
        }
    }

    fn typed(question: &Question, lines: &[&str]) -> Option<(Answer, usize)> {
        let mut dialogue = Dialogue::new(question);
        lines.iter().find_map(|line| match dialogue.line(line) {
            Step::Done(answer, scope) => Some((answer, scope)),
            Step::More(_) => None,
        })
    }

    #[test]
    fn lines_mean_answers() {
        fn check(longest: Answer, lines: &[&str], want: Option<(Answer, usize)>) {
            let got = typed(&question(longest), lines);
            assert_eq!(got, want, "{lines:?} where policy accepts {longest:?}");
        }
        use Answer::{None as No, Once, Remembered, Session};
        check(Remembered, &["o"], Some((Once, 0)));
        check(Remembered, &[" Once "], Some((Once, 0)));
        check(Remembered, &["s", ""], Some((Session, 0)));
        check(Remembered, &["a", "2"], Some((Remembered, 1)));
        check(Remembered, &["a", "3"], None);
        check(Remembered, &["a", "0", "n"], Some((No, 0)));
        check(Remembered, &["a", "x", "x", "x"], Some((No, 0)));
        check(Remembered, &[""], Some((No, 0)));
        check(Remembered, &["y", "yes", "ok"], Some((No, 0)));
        check(Session, &["a", "s", "2"], Some((Session, 1)));
        check(Once, &["s", "a"], None);
        check(Once, &["s", "a", "o"], Some((Once, 0)));
        check(No, &["o"], None);
    }

    #[test]
    fn agreeing_is_not_offered_for_what_cannot_be_shown() {
        let mut hidden = question(Answer::Remembered);
        hidden.asked.complete = false;
        assert_eq!(typed(&hidden, &["o"]), None);
        assert_eq!(typed(&hidden, &["o", "s", "a"]), Some((Answer::None, 0)));
        assert_eq!(Dialogue::new(&hidden).prompt().to_string(), "  [N]o: ");
    }

    #[test]
    fn only_accepted_answers_are_offered() {
        let prompt = |longest| Dialogue::new(&question(longest)).prompt().to_string();
        assert_eq!(
            prompt(Answer::Remembered),
            "  [o]nce  [s]ession  [a]lways  [N]o: "
        );
        assert_eq!(prompt(Answer::Session), "  [o]nce  [s]ession  [N]o: ");
        assert_eq!(prompt(Answer::Once), "  [o]nce  [N]o: ");
    }

    #[test]
    fn scopes_are_one_line_each() {
        let question = question(Answer::Session);
        let mut dialogue = Dialogue::new(&question);
        let Step::More(lines) = dialogue.line("s") else {
            panic!("the scope is asked for");
        };
        let lines: Vec<String> = lines.iter().map(Line::to_string).collect();
        assert_eq!(
            lines,
            ["    [1] this call", "    [2] the tool<line break>x"]
        );
    }
}
