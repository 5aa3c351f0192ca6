//! Takes a server's tool list into use: compared with what was agreed to, searched for hidden text,
//! decided, pinned. A tool that is new or changed is held back until that is done.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use crate::audit::{EventKind, Outcome};
use crate::clean;
use crate::config;
use crate::decision::{Decision, DecisionError, Permit};
use crate::digest::Digest;
use crate::protocol::json::Json;
use crate::protocol::names;
use crate::protocol::tools::{LISTED_MAX, OfferedTool, ToolsDiff};
use crate::request::{Agent, LedgerError, Pin, PinKind, PinRecord, ReviewTools};
use crate::transport::{CallError as UpstreamError, ServerTools};

use super::launch::lasts;
use super::line::Line;
use super::present::{self, ToolView};
use super::server::{Server, ToolBook};
use super::tool::Tool;

/// How long listing may take.
const LIST_LIMIT: Duration = Duration::from_secs(30);

/// Why a tool list could not be reviewed.
#[derive(Debug)]
pub(crate) enum ReviewError {
    /// The decision could not be taken.
    Decision(DecisionError),
    /// The server did not list its tools.
    Upstream(UpstreamError),
}

impl fmt::Display for ReviewError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision(error) => error.fmt(f),
            Self::Upstream(error) => error.fmt(f),
        }
    }
}

impl From<DecisionError> for ReviewError {
    fn from(error: DecisionError) -> Self {
        Self::Decision(error)
    }
}

impl From<LedgerError> for ReviewError {
    fn from(error: LedgerError) -> Self {
        Self::Decision(error.into())
    }
}

/// A list against what was agreed to.
struct Compared {
    tools: Vec<Arc<Tool>>,
    aside: Vec<(String, String)>,
    digest: Digest,
    known: Option<PinRecord>,
}

impl Compared {
    fn unchanged(&self, tool: &Tool) -> bool {
        let parts = self.known.as_ref().map(|known| &known.parts);
        parts.is_some_and(|parts| parts.get(tool.name()) == Some(&tool.offered.digest))
    }

    fn diff(&self) -> ToolsDiff {
        let known = self.known.iter().flat_map(|known| &known.parts);
        ToolsDiff::between(
            known.map(|(name, digest)| (name.as_str(), *digest)),
            self.tools
                .iter()
                .map(|tool| (tool.name(), tool.offered.digest)),
        )
    }
}

/// Lists the tools of a server and takes them into use as far as they are agreed to.
pub(crate) async fn review(line: &Line, agent: &Agent, server: &Server) -> Result<(), ReviewError> {
    let list = list(server, LIST_LIMIT)
        .await
        .map_err(ReviewError::Upstream)?;
    take(line, agent, server, list, || ()).await
}

/// Lists the tools of a server; none of them is in use yet.
pub(crate) async fn list(server: &Server, limit: Duration) -> Result<ServerTools, UpstreamError> {
    server.upstream.list_tools(limit).await
}

/// Takes a list into use as far as it is agreed to. `asks` is called when a person is asked: what
/// was agreed to before is in use then, everything else is held back.
pub(crate) async fn take(
    line: &Line,
    agent: &Agent,
    server: &Server,
    list: ServerTools,
    asks: impl FnOnce() + Send,
) -> Result<(), ReviewError> {
    let compared = compare(line, server, list)?;
    if compared
        .known
        .as_ref()
        .is_some_and(|known| known.digest == compared.digest)
    {
        server.set_tools(book(&compared, &compared.tools, Pin::Matched, ""));
        return Ok(());
    }
    let held: Vec<_> = (compared.tools.iter())
        .filter(|tool| compared.unchanged(tool))
        .cloned()
        .collect();
    let hold = |why: &str| server.set_tools(book(&compared, &held, Pin::Matched, why));
    hold("waits for a person's answer");
    let (action, views) = question(server, &compared);
    let run = line.run();
    let asked = action.clone();
    let decision = line
        .point
        .decide(line.asking(agent, &run), action, move |_| {
            asks();
            present::tools(&asked, &views)
        })
        .await;
    match decision {
        Ok(Decision::Allow(permit)) => adopt(line, server, permit, &compared)?,
        Ok(Decision::Deny(denial)) => hold(&format!(
            "new or changed, and not agreed to: {}",
            denial.reason()
        )),
        Err(error) => {
            hold("new or changed, and it could not be decided");
            return Err(error.into());
        }
    }
    Ok(())
}

/// Spends the permit: the list is in use, and pinned.
fn adopt(
    line: &Line,
    server: &Server,
    permit: Permit<ReviewTools>,
    compared: &Compared,
) -> Result<(), ReviewError> {
    let lasting = lasts(permit.answer());
    // A permit made void by a reload adopts nothing: the tools stay held back.
    let Ok((_, seq)) = line.point.redeem(permit) else {
        return Ok(());
    };
    let parts: BTreeMap<String, Digest> = compared
        .tools
        .iter()
        .map(|tool| (tool.name().to_owned(), tool.offered.digest))
        .collect();
    let list = PinRecord {
        digest: compared.digest,
        parts,
        shown: texts(&compared.tools),
        at_ms: line.point.now_ms(),
        lasting,
    };
    // Agreed to once or for a session: the next start is compared with the list before.
    if lasting {
        let ledger = line.point.ledger();
        ledger.set_pin(PinKind::Tools, server.subject(), list.clone())?;
    }
    server.accept(list);
    line.point
        .note(EventKind::Outcome(Outcome {
            of: seq,
            ok: true,
            result: "adopted".to_owned(),
            details: json!({"tools": compared.tools.len()}),
            took_ms: 0,
        }))
        .map_err(DecisionError::from)?;
    server.set_tools(book(compared, &compared.tools, Pin::Matched, ""));
    Ok(())
}

fn compare(line: &Line, server: &Server, list: ServerTools) -> Result<Compared, LedgerError> {
    let kept = line.point.ledger().pin(PinKind::Tools, server.subject())?;
    let kept = kept.filter(|list| list.lasting);
    let now = list.list.digest();
    let known = match server.accepted() {
        Some(accepted) if kept.as_ref().is_none_or(|kept| kept.digest != now) => Some(accepted),
        _ => kept,
    };
    let mut aside: Vec<(String, String)> = list
        .list
        .set_aside()
        .map(|tool| (tool.name.clone(), tool.problem.clone().unwrap_or_default()))
        .collect();
    aside.extend(list.fault.map(|fault| ("(list)".to_owned(), fault)));
    let mut tools = Vec::new();
    for tool in list.list.offered() {
        match unclean(tool) {
            Some(why) => aside.push((tool.name.clone(), why)),
            None => tools.push(Arc::new(Tool::new(tool.clone()))),
        }
    }
    Ok(Compared {
        tools,
        aside,
        digest: now,
        known,
    })
}

/// Why a tool's schemas cannot be offered: above all names of properties with hidden characters,
/// which the server would not know in their clean form.
fn unclean(tool: &OfferedTool) -> Option<String> {
    let schemas = tool.input_schema().into_iter().chain(tool.output_schema());
    let mut errors = schemas.filter_map(|schema| clean::schema(&schema.to_value().value).err());
    errors.next().map(|error| error.to_string())
}

/// The most bytes of tool texts that are kept with a pin.
const TEXTS_MAX: usize = 512 * 1024;

/// What was agreed to, kept so that a change can be shown as one; nothing where it is too much.
fn texts(tools: &[Arc<Tool>]) -> String {
    let texts: BTreeMap<&str, String> = tools
        .iter()
        .map(|tool| (tool.name(), shown(tool)))
        .collect();
    if texts.values().map(String::len).sum::<usize>() > TEXTS_MAX {
        return String::new();
    }
    serde_json::to_string(&texts).unwrap_or_default()
}

/// What was agreed to of one tool, where it was kept.
fn agreed_texts(known: Option<&PinRecord>) -> BTreeMap<String, String> {
    known
        .and_then(|known| serde_json::from_str(&known.shown).ok())
        .unwrap_or_default()
}

fn book(compared: &Compared, offered: &[Arc<Tool>], pin: Pin, why: &str) -> ToolBook {
    let offered: Vec<_> = offered.iter().take(LISTED_MAX).cloned().collect();
    let mut left_out = compared.aside.clone();
    for tool in &compared.tools {
        if offered.iter().any(|kept| kept.name() == tool.name()) {
            continue;
        }
        let why = if why.is_empty() {
            format!("only the first {LISTED_MAX} tools of a server are offered")
        } else {
            why.to_owned()
        };
        left_out.push((tool.name().to_owned(), why));
    }
    let agreed = compared.known.as_ref().map(|known| known.digest);
    let digest = if why.is_empty() {
        Some(compared.digest)
    } else {
        agreed
    };
    ToolBook {
        offered,
        left_out,
        pin: Some(pin),
        digest,
    }
}

/// The request about a list, and what a person sees of each new or changed tool.
fn question(server: &Server, compared: &Compared) -> (ReviewTools, Vec<ToolView>) {
    let alike = names::lookalikes(compared.tools.iter().map(|tool| tool.name()));
    let agreed = agreed_texts(compared.known.as_ref());
    let mut flags: BTreeSet<String> = BTreeSet::new();
    let mut views = Vec::new();
    for tool in &compared.tools {
        if compared.unchanged(tool) {
            continue;
        }
        let mut notes: Vec<String> = Vec::new();
        for flag in clean::flags_in(&tool.offered.raw.to_value().value) {
            flags.insert(flag.name().to_owned());
            notes.push(flag.sentence().to_owned());
        }
        for (first, _) in alike.iter().filter(|(_, name)| *name == tool.name()) {
            flags.insert("look-alike".to_owned());
            let twin = clean::line(first, 120);
            notes.push(format!("its name looks like that of the tool {twin}"));
        }
        let text = shown(tool);
        let before = agreed.get(tool.name());
        views.push(ToolView {
            name: tool.name().to_owned(),
            difference: before.map_or_else(Vec::new, |before| config::difference(before, &text)),
            text,
            notes,
        });
    }
    let diff = compared.diff();
    let action = ReviewTools {
        server: server.facts(),
        tools: compared.digest,
        first_time: compared.known.is_none(),
        added: diff.added,
        removed: diff.removed,
        changed: diff.changed,
        flags: flags.into_iter().collect(),
    };
    (action, views)
}

/// The tool as its server describes it: description first, then everything else.
pub(super) fn shown(tool: &Tool) -> String {
    let raw = &tool.offered.raw;
    let description = raw.get("description").and_then(Json::as_str);
    let mut rest = raw.clone();
    if let Some(members) = rest.as_object_mut() {
        members.remove("name");
        if description.is_some() {
            members.remove("description");
        }
    }
    let mut text = format!("{}\n", description.unwrap_or("(no description)"));
    let exact = rest.to_value();
    match serde_json::to_string_pretty(&exact.value) {
        Ok(pretty) if exact.inexact == 0 => text.push_str(&pretty),
        _ => rest.write_to(&mut text),
    }
    text
}
