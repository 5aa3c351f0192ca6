//! Tests of the store that need its inside.

#[path = "../../../tests/policy/asked.rs"]
mod asked;
#[expect(dead_code, reason = "shared with tests/policy, which uses all of it")]
#[path = "../../../tests/policy/base.rs"]
pub(crate) mod base;
mod errors;
mod facts;
mod kept;
mod replay;
mod slices;
mod typed;
mod typed_refused;
mod typed_slices;
mod typed_told;

use super::load::load_with;
use super::set::builtin_sources;
use super::typed::Locks;
use super::vocabulary::{JSON, TEXT};

/// The schema in Cedar's JSON form, one line a top-level entry, as the embedded file has it.
fn generated() -> String {
    let (fragment, _) = cedar_policy::SchemaFragment::from_cedarschema_str(TEXT).unwrap();
    let value: serde_json::Value =
        serde_json::from_str(&fragment.to_json_string().unwrap()).unwrap();
    serde_json::to_string_pretty(&value).unwrap() + "\n"
}

/// The embedded form says what the readable one says. `UPDATE=1` writes it anew.
#[test]
fn embedded_schema_is_current() {
    if std::env::var_os("UPDATE").is_some() {
        let file = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/schemas/creance.cedarschema.json"
        );
        std::fs::write(file, generated()).unwrap();
        return;
    }
    assert_eq!(JSON, generated());
}

/// The built-in policies are not validated at each start: they are here.
#[test]
fn built_in_policies_are_valid() {
    let checked = load_with(&builtin_sources(), &Locks::default(), &[]).unwrap();
    assert_eq!(checked.warnings, []);
    assert_eq!(
        super::PolicySet::builtin().list().len(),
        checked.policies.len()
    );
}
