//! Decides recorded requests again. What a record does not hold any more (masked secrets) cannot be
//! judged again: where a policy looks at it, the answer is that nobody can tell.

use serde::Deserialize;
use serde_json::Value;

use crate::audit::{EventKind, OutcomeKind, Record};
use crate::request::{
    Act, Action as _, Agent, CallTool, ConnectServer, CreateSample, ElicitForm, ElicitUrl,
    GetPrompt, Principal, Query, ReadResource, ReviewTools, Role, Run, RunCommand, ServerFacts,
    SignIn, StartServer, Wish,
};

use super::explain::Explanation;
use super::facts::Looks;
use super::load::Loaded;
use super::masked::{ARGUMENTS, COMMAND_LINE, is_masked, names_any};
use super::recorded::{Members, call, command, remote, start, tools, whole};
use super::set::PolicySet;
use super::verdict::{PolicyOutcome, Verdict};

/// What a recorded decision would be under another set of policies.
#[derive(Clone, Debug)]
pub struct Replay {
    /// What it was.
    pub then: Decided,
    /// What it would be, and why; or why nobody can tell.
    pub now: Result<Verdict, String>,
}

/// How a decision came out, apart from who could be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decided {
    /// Allowed, by policy or with the answer that is on record.
    Allow,
    /// A person was needed, and did not agree or was not there.
    Ask,
    /// Denied, whatever anybody answers.
    Deny,
}

impl Replay {
    /// What it would be, where that can be told.
    #[must_use]
    pub fn now(&self) -> Option<Decided> {
        let verdict = self.now.as_ref().ok()?;
        Some(match verdict.outcome {
            PolicyOutcome::Allow => Decided::Allow,
            PolicyOutcome::Ask(_) => Decided::Ask,
            PolicyOutcome::Deny => Decided::Deny,
        })
    }
}

impl PolicySet {
    /// Decides a recorded request again, with the answer that is on record; `None` for records that
    /// are no decisions.
    #[must_use]
    pub fn replay(&self, record: &Record) -> Option<Replay> {
        let EventKind::Decision {
            facts,
            outcome,
            because,
            answer,
            ..
        } = &record.event.kind
        else {
            return None;
        };
        let asked = |role: Role| matches!(role, Role::RequiresAnswer | Role::PermitsOnceAnswered);
        let then = match outcome {
            OutcomeKind::Allow => Decided::Allow,
            OutcomeKind::Deny if because.iter().any(|one| asked(one.role)) => Decided::Ask,
            OutcomeKind::Deny => Decided::Deny,
        };
        let now = self.recorded_all(&facts.value()).map(|requests| {
            let queries: Vec<Query<'_>> = requests.iter().map(Recorded::query).collect();
            self.evaluate_all(&queries, *answer)
        });
        Some(Replay { then, now })
    }

    /// Explains a recorded request under these policies, with the answer that is on record; `None`
    /// for records that are no decisions.
    ///
    /// # Errors
    /// Why nobody can tell, inside.
    #[must_use]
    pub fn explain_record(&self, record: &Record) -> Option<Result<Explanation, String>> {
        let EventKind::Decision { facts, answer, .. } = &record.event.kind else {
            return None;
        };
        Some(self.recorded_all(&facts.value()).map(|requests| {
            let queries: Vec<Query<'_>> = requests.iter().map(Recorded::query).collect();
            self.explain(&queries, *answer)
        }))
    }

    fn recorded_all(&self, facts: &Value) -> Result<Vec<Recorded>, String> {
        let parts = facts.as_array().map(Vec::as_slice).unwrap_or_default();
        let parts_in_turn = parts.iter();
        parts_in_turn
            .map(|part| self.recorded(part, parts))
            .collect()
    }

    /// A request from the facts of a record, unless something is gone that these policies look at.
    fn recorded(&self, part: &Value, all: &[Value]) -> Result<Recorded, String> {
        let mut rest = part.clone();
        let mut taken = Vec::new();
        if let Some(facts) = rest.get_mut("facts").and_then(Value::as_object_mut) {
            let looked_at = [
                ("arguments", ARGUMENTS),
                ("args", COMMAND_LINE),
                ("cwd", COMMAND_LINE),
            ];
            taken = looked_at
                .map(|(member, looks)| (member, looks, facts.shift_remove(member)))
                .into();
        }
        let masked = taken
            .into_iter()
            .filter(|(_, _, value)| value.as_ref().is_some_and(is_masked));
        if is_masked(&rest) {
            return Err("its facts hold masked secrets".to_owned());
        }
        let mut masked_arguments = false;
        for (member, looks, _) in masked {
            masked_arguments |= member == "arguments";
            let policies = self.list();
            let mut policies = policies.iter();
            if let Some(policy) = policies.find(|policy| names_any(&policy.text, looks)) {
                return Err(format!(
                    "its `{member}` hold masked secrets, and {} looks at them",
                    policy.id
                ));
            }
        }
        if part
            .get("action")
            .is_some_and(|action| action == ElicitUrl::NAME)
            && let Some(loaded) = self.0.policies.values().find(|loaded| looks_at_url(loaded))
        {
            return Err(format!(
                "a link is not kept on record, and {} looks at it",
                loaded.policy.id()
            ));
        }
        let read = Recorded::read(part, all)?;
        // Masked arguments may not fit where those that were sent did.
        match &read.act {
            Acted::Call(call) if masked_arguments && self.locked(&call.tool).is_some() => {
                Err("its `arguments` hold masked secrets, and its tool has an action of its own, which they have to fit".to_owned())
            }
            _ => Ok(read),
        }
    }
}

/// Whether a policy looks at the text of a link.
fn looks_at_url(loaded: &Loaded) -> bool {
    let mut looks = Looks::default();
    looks.add(&loaded.policy.as_ref().condition(), None);
    looks.whole_context || looks.fields.contains("url")
}

/// One request of a record.
struct Recorded {
    agent: Agent,
    run: Run,
    server: Option<ServerFacts>,
    act: Acted,
}

enum Acted {
    Start(Box<StartServer>),
    Tools(ReviewTools),
    Wish(Wish),
    Remote(Box<ConnectServer>),
    Call(Box<CallTool>),
    Resource(ReadResource),
    Prompt(GetPrompt),
    Form(Box<ElicitForm>),
    Link(Box<ElicitUrl>),
    Sample(Box<CreateSample>),
    Command(Box<RunCommand>),
    SignIn(Box<SignIn>),
}

impl Recorded {
    fn query(&self) -> Query<'_> {
        let principal = match &self.server {
            Some(server) => Principal::Server(server),
            None => Principal::Agent(&self.agent),
        };
        let act = match &self.act {
            Acted::Start(start) => Act::StartServer(start),
            Acted::Tools(review) => Act::ReviewTools(review),
            Acted::Wish(wish) => Act::Wish(wish),
            Acted::Remote(connect) => {
                Act::ConnectServer(connect, connect.addresses.first().copied())
            }
            Acted::Call(call) => Act::CallTool(call),
            Acted::Resource(read) => Act::ReadResource(read),
            Acted::Prompt(get) => Act::GetPrompt(get),
            Acted::Form(form) => Act::ElicitForm(form),
            Acted::Link(link) => Act::ElicitUrl(link),
            Acted::Sample(sample) => Act::CreateSample(sample),
            Acted::Command(command) => Act::RunCommand(command),
            Acted::SignIn(sign_in) => Act::SignIn(sign_in),
        };
        Query::new(&self.agent, principal, act, &self.run)
    }

    fn read(part: &Value, all: &[Value]) -> Result<Self, String> {
        let top = Members(part);
        let action: String = top.get("action")?;
        let facts = part.get("facts").ok_or("it has no facts")?;
        let members = Members(facts);
        let act = match action.as_str() {
            "server.start" => Acted::Start(Box::new(start(&members)?)),
            "server.tools" => Acted::Tools(tools(&members)?),
            "server.connect" => Acted::Remote(Box::new(remote(&members)?)),
            "tool.call" => Acted::Call(Box::new(call(&members, &top.get::<String>("resource")?)?)),
            "resource.read" => Acted::Resource(ReadResource {
                server: members.get("server")?,
                uri: members.get("uri")?,
            }),
            "prompt.get" => Acted::Prompt(GetPrompt {
                server: members.get("server")?,
                name: members.get("name")?,
                arguments: members.get("arguments")?,
            }),
            "elicit.form" => Acted::Form(whole(facts)?),
            "elicit.url" => Acted::Link(whole(facts)?),
            "sampling.create" => Acted::Sample(whole(facts)?),
            "exec.run" => Acted::Command(Box::new(command(&members)?)),
            "oauth.sign_in" => {
                let read = SignIn::deserialize(facts).map_err(|error| error.to_string())?;
                Acted::SignIn(Box::new(read))
            }
            name if name.starts_with("sandbox.") => {
                Acted::Wish(Wish::deserialize(facts).map_err(|error| error.to_string())?)
            }
            other => return Err(format!("`{other}` cannot be decided again by this version")),
        };
        // A server acts for grants of its own start, whose facts stand before them.
        let by_server = top.get::<String>("principal")?.starts_with("server/");
        let starts = all.iter().filter_map(|part| part.pointer("/facts/server"));
        let server = match starts.into_iter().next().filter(|_| by_server) {
            Some(server) => {
                let server = ServerFacts::deserialize(server);
                Some(server.map_err(|error| format!("its server: {error}"))?)
            }
            None if by_server => return Err("its facts do not hold its server".to_owned()),
            None => None,
        };
        Ok(Self {
            agent: top.get("agent")?,
            run: top.get("run")?,
            server,
            act,
        })
    }
}
