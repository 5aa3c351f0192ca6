//! Policies in their one form, and the vocabulary that they are written in.

use cedar_policy_formatter::{Config, policies_str_to_pretty};

use super::set::PolicySet;
use super::source::one_line;
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

    /// The same in Cedar's JSON form.
    #[must_use]
    pub fn schema_json() -> &'static str {
        JSON
    }
}
