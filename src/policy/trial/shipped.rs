//! The tests of the built-in policies.

use crate::policy::source::PolicySource;
use crate::request::Layer;

/// The tests that come with the built-in policies.
pub(crate) fn builtin_tests() -> Vec<PolicySource> {
    let files = [
        (
            "guardrails",
            include_str!("../../../policies/builtin/tests/guardrails.json"),
        ),
        (
            "defaults",
            include_str!("../../../policies/builtin/tests/defaults.json"),
        ),
    ];
    let source = |(name, text): (&str, &str)| PolicySource {
        layer: Layer::Builtin,
        file: format!("builtin/tests/{name}.json"),
        text: text.to_owned(),
    };
    files.map(source).into()
}
