//! Policies in their one form, and the vocabulary that they are written in.

use cedar_policy::{ActionConstraint, EntityUid, Policy, PolicySet as Cedar};
use cedar_policy_formatter::{Config, policies_str_to_pretty};

use super::load::is_group;
use super::set::PolicySet;
use super::source::one_line;
use super::typed::LockedTool;
use super::vocabulary::{JSON, TEXT};

const FORM: Config = Config {
    line_width: 100,
    indent_width: 2,
};

/// A policy whose scope says `action ==` a group.
fn of_group(policy: &Policy) -> Option<(&Policy, EntityUid)> {
    match policy.action_constraint() {
        ActionConstraint::Eq(action) if is_group(&action) => Some((policy, action)),
        _ => None,
    }
}

/// A policy's text with its action in the group. The words may stand in a reason or a condition, too:
/// they are put in the place of each until it is the scope that has changed, and nothing else has.
fn in_group(policy: &Policy, action: &EntityUid) -> Option<String> {
    let written = policy.to_string();
    let (wrong, right) = (
        format!("action == {action}"),
        format!("action in [{action}]"),
    );
    let mut at = written.match_indices(&wrong);
    at.find_map(|(at, _)| {
        let (before, rest) = (written.get(..at)?, written.get(at + wrong.len()..)?);
        let text = format!("{before}{right}{rest}");
        let mended = Policy::parse(None, &text).ok()?;
        let group = ActionConstraint::In(vec![action.clone()]);
        let annotations = |policy: &Policy| {
            let all = policy.annotations();
            let all = all.map(|(name, text)| (name.to_owned(), text.to_owned()));
            all.collect::<Vec<(String, String)>>()
        };
        let same = annotations(&mended) == annotations(policy);
        (same && mended.action_constraint() == group).then_some(text)
    })
}

impl PolicySet {
    /// A file of policies in its one form. Comments stay.
    ///
    /// # Errors
    /// When it cannot be read, in one line.
    pub fn formatted(text: &str) -> Result<String, String> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let pretty =
            policies_str_to_pretty(text, &FORM).map_err(|error| one_line(&error.to_string()))?;
        Ok(pretty.trim_end().to_owned() + "\n")
    }

    /// The same, and mends what has one meaning only: `action == Action::"group"`, which no request
    /// meets, becomes `action in [Action::"group"]`.
    ///
    /// # Errors
    /// When it cannot be read, in one line.
    pub fn mended(text: &str) -> Result<String, String> {
        let mut text = Self::formatted(text)?;
        let policies: Cedar = text
            .parse()
            .map_err(|error| one_line(&format!("{error}")))?;
        for (policy, action) in policies.policies().filter_map(of_group) {
            let mended = in_group(policy, &action).ok_or_else(|| {
                format!("`action == {action}` cannot be mended: write `action in [{action}]`")
            })?;
            text = text.replace(&policy.to_string(), &mended);
        }
        Self::formatted(&text)
    }

    /// The vocabulary of policies, as people and editors read it.
    #[must_use]
    pub fn schema() -> &'static str {
        TEXT
    }

    /// The action of a tool that policies name, as it stands in the schema beside the others.
    pub(crate) fn typed_action(name: &str, tool: &LockedTool) -> String {
        // The general action as it is written, from its head to its end.
        let general = TEXT.split_once("\naction \"tool.call\" in [\"tool\"]");
        let body = general.and_then(|(_, rest)| rest.split_once("\n  }\n};"));
        let body = body.map_or("", |(body, _)| body.trim_end());
        format!(
            "// {}\naction \"{}\" in [\"tool.call\"]{body},\n    input: {}\n  }}\n}};",
            tool.digest,
            name.escape_debug(),
            tool.input_type()
        )
    }

    /// The same in Cedar's JSON form.
    #[must_use]
    pub fn schema_json() -> &'static str {
        JSON
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_mended() {
        for (text, want) in [
            (
                "// kept\nforbid(principal,action==Action::\"start\",resource);",
                "// kept\nforbid (\n  principal,\n  action in [Action::\"start\"],\n  resource\n);\n",
            ),
            (
                "@reason(\"no action == Action::\\\"tool\\\"\") permit(principal, action == Action::\"tool\", resource);",
                "@reason(\"no action == Action::\\\"tool\\\"\")\npermit (\n  principal,\n  action in [Action::\"tool\"],\n  resource\n);\n",
            ),
        ] {
            let mended = PolicySet::mended(text);
            assert_eq!(mended.as_deref(), Ok(want), "{text}");
            assert_eq!(PolicySet::mended(want).as_deref(), Ok(want), "{text}");
        }
        // An action that is no group, and a group in a condition, stay.
        let whole = "permit (principal, action == Action::\"tool.call\", resource) when { action == Action::\"tool\" };";
        assert_eq!(PolicySet::mended(whole), PolicySet::formatted(whole));
        let twice =
            "@id(\"a\") permit (principal, action == Action::\"tool\", resource);\n".repeat(2);
        let mended = PolicySet::mended(&twice).unwrap();
        assert_eq!(
            mended.matches("in [Action::\"tool\"]").count(),
            2,
            "{mended}"
        );
        assert!(PolicySet::mended("permit (").is_err());
    }
}
