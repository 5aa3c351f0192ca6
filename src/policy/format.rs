//! Policies in their one form, and the vocabulary that they are written in.

use cedar_policy_formatter::{Config, policies_str_to_pretty};

use super::set::PolicySet;
use super::source::one_line;
use super::typed::LockedTool;
use super::vocabulary::{JSON, TEXT};

const FORM: Config = Config {
    line_width: 100,
    indent_width: 2,
};

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
