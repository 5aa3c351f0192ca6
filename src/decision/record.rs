//! What of a decision goes on record: names and masked facts, never a secret.

use crate::audit::{EventKind, OutcomeKind};
use crate::clean;
use crate::policy::{PolicySet, Verdict};
use crate::request::{Act, Agent, Answer, Entry, Principal, Query, Run, Wish};

/// How the answer behind a decision came about.
#[derive(Clone, Debug, Default)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) channel: Option<String>,
    pub(super) asked: bool,
}

impl Answered {
    /// The stronger of what is on file for a request and what was answered to the whole that it is part
    /// of.
    pub(super) fn held(on_file: Option<Entry>, covered: Answer) -> Self {
        match on_file {
            Some(entry) if entry.answer >= covered => Self {
                answer: entry.answer,
                channel: Some(entry.channel),
                asked: false,
            },
            _ => Self {
                answer: covered,
                channel: (covered != Answer::None).then(|| "the answer to its start".to_owned()),
                asked: false,
            },
        }
    }
}

/// `agent/claude-code`, `server/user/files`.
pub(super) fn principal(query: &Query<'_>) -> String {
    match query.principal {
        Principal::Agent(agent) => format!("agent/{}", agent.name),
        Principal::Server(server) => format!("server/{}", server.id),
    }
}

/// The resource's name: `user/files`, `user/files/read_text_file`, a path, a program.
pub(super) fn resource(query: &Query<'_>) -> String {
    match query.act {
        Act::StartServer(start) => start.server.id.to_string(),
        Act::ReviewTools(review) => review.server.id.to_string(),
        Act::Wish(wish) => wish_name(wish),
        Act::Connect(connect) => connect.target(),
        Act::ConnectServer(connect, _) => connect.server.id.to_string(),
        Act::CallTool(call) => format!("{}/{}", call.tool.server.id, call.tool.name),
        Act::ReadResource(read) => format!("{}/{}", read.server.id, read.uri),
        Act::GetPrompt(get) => format!("{}/{}", get.server.id, get.name),
        Act::ElicitForm(form) => form.user.clone(),
        Act::ElicitUrl(link) => link.origin(),
        Act::CreateSample(sample) => sample.model.name.clone(),
        Act::RunCommand(run) => run.program.path.clone(),
        Act::SignIn(sign_in) => sign_in.issuer.clone(),
    }
}

fn wish_name(wish: &Wish) -> String {
    match wish {
        Wish::Read(path) | Wish::Write(path) | Wish::Socket(path) => path.text.clone(),
        Wish::Network(network) => network.to_string(),
        Wish::Env(variable) => variable.name.clone(),
    }
}

/// Who asks, as people read it.
pub(super) fn asker(agent: &Agent, run: &Run) -> String {
    let name = clean::line(&agent.name, 80);
    match run.project.id.as_str() {
        "none" => name,
        project => format!("{name} in {}", clean::line(project, 200)),
    }
}

/// The record of a decision.
pub(super) fn decision(
    queries: &[Query<'_>],
    action: &str,
    (outcome, verdict): (OutcomeKind, &Verdict),
    answered: Answered,
    (store, judged_us): (&PolicySet, u64),
) -> EventKind {
    let first = queries.first();
    EventKind::Decision {
        action: action.to_owned(),
        principal: first.map(principal).unwrap_or_default(),
        resource: first
            .map(|query| clean::mask(&resource(query)).into_owned())
            .unwrap_or_default(),
        facts: store.kept(queries),
        outcome,
        because: verdict.because.clone(),
        answer: answered.answer,
        channel: answered.channel,
        asked: answered.asked,
        store: store.digest(),
        judged_us,
    }
}
