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
    let every = tools.is_empty();
    // Whatever is permitted holds for what was agreed to, and for arguments that can be judged.
    let agreed = "resource.server.pin == Pin::\"matched\" && \
                  resource.server.tools_pin == Pin::\"matched\" && \
                  context.args_valid && context.args_complete";
    let (word, what, effect, conditions) = match rule.effect {
        Effect::Off if every => ("off", "is switched off", "forbid", String::new()),
        Effect::Off => (
            "off",
            "is switched off",
            "forbid",
            format!("when {{ {these} }}"),
        ),
        Effect::Only if every => (
            "only",
            "is not among the tools in use",
            "forbid",
            String::new(),
        ),
        Effect::Only => (
            "only",
            "is not among the tools in use",
            "forbid",
            format!("unless {{ {these} }}"),
        ),
        Effect::Ask if every => (
            "ask",
            "is asked about each time",
            "forbid",
            "unless { context.approved_now }".to_owned(),
        ),
        Effect::Ask => (
            "ask",
            "is asked about each time",
            "forbid",
            format!("when {{ {these} }} unless {{ context.approved_now }}"),
        ),
        Effect::AskOthers => (
            "ask",
            "is asked about each time",
            "forbid",
            format!("unless {{ {these} || context.approved_now }}"),
        ),
        Effect::Permit if every => (
            "permit",
            "needs no question",
            "permit",
            format!("when {{ {agreed} }}"),
        ),
        Effect::Permit => (
            "permit",
            "needs no question",
            "permit",
            format!("when {{ {these} && {agreed} }}"),
        ),
    };
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
