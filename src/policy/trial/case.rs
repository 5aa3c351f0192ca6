//! One test as written: `{"name": …, "do": {…}, "expect": "ask:session", "because": ["org/…"]}`.

use serde_json::{Map, Value as Json};

use crate::policy::facts::answer;
use crate::policy::source::{Lines, Place};
use crate::policy::{PolicyOutcome, PolicyProblem, PolicySource};
use crate::protocol::json;
use crate::request::Answer;

/// A test of policies.
#[derive(Clone, Debug, PartialEq)]
pub struct PolicyTest {
    /// The file that it stands in.
    pub file: String,
    /// The line of its name.
    pub line: usize,
    /// What it shows, in a few words.
    pub name: String,
    /// The told request.
    pub(super) request: Map<String, Json>,
    pub(super) expect: Expect,
    /// Policies of the user's layer that stand beside those that are tested.
    pub(super) beside: Option<String>,
    /// Ids of policies that must be among the reasons.
    pub(super) because: Vec<String>,
}

/// The outcome that is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expect {
    Allow,
    /// A question; with the longest-lived answer, when that matters.
    Ask(Option<Answer>),
    Deny,
}

impl Expect {
    fn read(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None => match text {
                "allow" => Some(Self::Allow),
                "ask" => Some(Self::Ask(None)),
                "deny" => Some(Self::Deny),
                _ => None,
            },
            Some(("ask", word)) => Some(Self::Ask(Some(answer(word)?))),
            Some(_) => None,
        }
    }

    pub(super) fn is(self, outcome: PolicyOutcome) -> bool {
        match (self, outcome) {
            (Self::Allow, PolicyOutcome::Allow)
            | (Self::Deny, PolicyOutcome::Deny)
            | (Self::Ask(None), PolicyOutcome::Ask(_)) => true,
            (Self::Ask(Some(want)), PolicyOutcome::Ask(got)) => want == got,
            _ => false,
        }
    }

    pub(super) fn word(self) -> String {
        match self {
            Self::Allow => "allow".to_owned(),
            Self::Deny => "deny".to_owned(),
            Self::Ask(None) => "ask".to_owned(),
            Self::Ask(Some(answer)) => format!("ask:{}", answer.word()),
        }
    }
}

/// The word of an outcome, as tests write it.
pub(in crate::policy) fn word(outcome: PolicyOutcome) -> String {
    match outcome {
        PolicyOutcome::Allow => Expect::Allow,
        PolicyOutcome::Deny => Expect::Deny,
        PolicyOutcome::Ask(answer) => Expect::Ask(Some(answer)),
    }
    .word()
}

impl PolicyTest {
    /// Whether another test asks the same.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.name == other.name && self.request == other.request
    }

    /// The told request.
    #[cfg(all(test, feature = "prove"))]
    pub(in crate::policy) fn request(&self) -> &Map<String, Json> {
        &self.request
    }

    /// Reads a file of tests: a list of `{"name", "do", "expect", "because"}`.
    ///
    /// # Errors
    /// What is wrong with the file, or with its first test that cannot be read.
    pub fn read(file: &PolicySource) -> Result<Vec<Self>, Box<PolicyProblem>> {
        let lines = Lines::of(&file.text);
        let parsed = json::read(file.text.as_bytes()).map_err(|error| {
            let place = lines.place(error.offset);
            Box::new(PolicyProblem::of_file(file, error.to_string()).at(place))
        })?;
        let Json::Array(tests) = parsed.json.to_value().value else {
            let problem = PolicyProblem::of_file(file, "a file of tests is a list of tests");
            return Err(Box::new(problem.hint(SHAPE)));
        };
        let mut from = 0;
        let mut read = Vec::new();
        for test in &tests {
            let place = place_of(&file.text, &lines, test, &mut from);
            read.push(Self::one(file, test, place)?);
        }
        Ok(read)
    }

    fn one(file: &PolicySource, test: &Json, place: Place) -> Result<Self, Box<PolicyProblem>> {
        let problem =
            |what: String| Box::new(PolicyProblem::of_file(file, what).at(place).hint(SHAPE));
        let known = ["name", "do", "beside", "expect", "because"];
        let members = test
            .as_object()
            .ok_or_else(|| problem("a test is an object".to_owned()))?;
        if let Some(unknown) = members.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(problem(format!("a test has no `{unknown}`")));
        }
        let text = |key: &str| members.get(key).and_then(Json::as_str);
        let name = text("name").filter(|name| !name.is_empty());
        let name = name.ok_or_else(|| problem("a test without a `name`".to_owned()))?;
        let request = members.get("do").and_then(Json::as_object);
        let request = request.ok_or_else(|| problem(format!("`{name}` has no request `do`")))?;
        let expect = text("expect").and_then(Expect::read);
        let expect = expect.ok_or_else(|| {
            problem(format!(
                "`{name}`: `expect` is allow, deny, ask, ask:always, ask:session or ask:once"
            ))
        })?;
        let because = match members.get("because") {
            None => Vec::new(),
            Some(list) => texts(list)
                .ok_or_else(|| problem(format!("`{name}`: `because` is a list of policy ids")))?,
        };
        Ok(Self {
            file: file.file.clone(),
            line: place.line,
            name: name.to_owned(),
            request: request.clone(),
            expect,
            beside: text("beside").map(str::to_owned),
            because,
        })
    }
}

const SHAPE: &str = "[{\"name\": \"…\", \"do\": {\"action\": \"tool.call\", …}, \"expect\": \"ask:once\", \"because\": [\"user/file/id\"]}]";

fn texts(list: &Json) -> Option<Vec<String>> {
    let list = list.as_array()?.iter();
    list.map(|item| item.as_str().map(str::to_owned)).collect()
}

/// Where a test's name stands. Tests come in the order of the file: look on from the last one.
fn place_of(text: &str, lines: &Lines<'_>, test: &Json, from: &mut usize) -> Place {
    let name = test.get("name").and_then(Json::as_str).unwrap_or_default();
    let quoted = Json::from(name).to_string();
    let found = text.get(*from..).and_then(|rest| rest.find(&quoted));
    let at = found.map_or(*from, |offset| *from + offset);
    *from = at + 1;
    while !text.is_char_boundary(*from) {
        *from += 1;
    }
    lines.place(at)
}
