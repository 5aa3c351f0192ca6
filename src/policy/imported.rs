//! Lists of tools of another client as policies of the user: each says where it comes from, and is
//! shown before it is written.

use crate::config::import::{Effect, ToolRule};
use crate::digest::Digest;

use super::rule::quoted;
use super::set::PolicySet;
use super::vocabulary::{TYPES, uid};

/// A policy made of another client's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImportedPolicy {
    /// Its id: the same list makes the same one.
    pub(crate) id: String,
    /// Whether it permits anything.
    pub(crate) permits: bool,
    /// Cedar's text, in its one form.
    pub(crate) text: String,
}

/// The policy that says what a list says.
///
/// # Errors
/// When Cedar does not read it.
pub(crate) fn imported(rule: &ToolRule) -> Result<ImportedPolicy, String> {
    let server = format!("user/{}", rule.server);
    let in_server = format!("resource in {}", uid(&TYPES.server, &server));
    let tools: Vec<String> = (rule.tools.iter())
        .map(|tool| uid(&TYPES.tool, &format!("{server}/{tool}")).to_string())
        .collect();
    let these = format!("[{}].contains(resource)", tools.join(", "));
    let (word, what, effect, conditions) =
        clauses(rule.effect, tools.first().map(|_| these.as_str()));
    let digest = Digest::of_fields("imported-rule/1", &rule.tools).to_string();
    let mark: String = digest.chars().take(6).collect();
    let id = format!(
        "import-{}-{}-{word}-{mark}",
        rule.client.word(),
        rule.server
    );
    let reason = format!("It {what} in {} ({}).", rule.client.title(), rule.field);
    let text = format!(
        "@id({})\n@reason({})\n{effect} (principal, action in Action::\"tool.call\", {in_server})\n{conditions};\n",
        quoted(&id),
        quoted(&reason),
    );
    Ok(ImportedPolicy {
        text: PolicySet::formatted(&text)?,
        permits: rule.effect == Effect::Permit,
        id,
    })
}

/// The word in its id, what its reason says, the effect, the conditions; `of` are the tools named.
fn clauses(effect: Effect, of: Option<&str>) -> (&'static str, &'static str, &'static str, String) {
    // Whatever is permitted holds for what was agreed to, and for arguments that can be judged.
    let agreed = "resource.server.pin == Pin::\"matched\" && \
                  resource.server.tools_pin == Pin::\"matched\" && \
                  context.args_valid && context.args_complete";
    let (word, what, verb) = match effect {
        Effect::Off => ("off", "is switched off", "forbid"),
        Effect::Only => ("only", "is not among the tools in use", "forbid"),
        Effect::Ask | Effect::AskOthers => ("ask", "is asked about each time", "forbid"),
        Effect::Permit => ("permit", "needs no question", "permit"),
    };
    let asked = "unless { context.approved_now }";
    let conditions = match (effect, of) {
        (Effect::Off | Effect::Only, None) => String::new(),
        (Effect::Off, Some(these)) => format!("when {{ {these} }}"),
        (Effect::Only, Some(these)) => format!("unless {{ {these} }}"),
        (Effect::Ask | Effect::AskOthers, None) => asked.to_owned(),
        (Effect::Ask, Some(these)) => format!("when {{ {these} }} {asked}"),
        (Effect::AskOthers, Some(these)) => {
            format!("unless {{ {these} || context.approved_now }}")
        }
        (Effect::Permit, None) => format!("when {{ {agreed} }}"),
        (Effect::Permit, Some(these)) => format!("when {{ {these} && {agreed} }}"),
    };
    (word, what, verb, conditions)
}
