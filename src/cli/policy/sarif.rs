//! Findings in SARIF 2.1.0, the form that code scanning reads.

use creance::PolicyNotice;
use serde_json::{Value, json};

/// One run with all findings.
pub(super) fn report(notices: &[PolicyNotice]) -> Value {
    let results: Vec<Value> = notices.iter().map(result).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "creance",
                "version": env!("CARGO_PKG_VERSION"),
                "rules": [{ "id": "policy", "shortDescription": { "text": "Policies that cannot be used, or do not do what they seem to" } }],
            }},
            "results": results,
        }],
    })
}

fn result(notice: &PolicyNotice) -> Value {
    let level = if notice.fatal { "error" } else { "warning" };
    let Some(place) = &notice.place else {
        return json!({ "ruleId": "policy", "level": level, "message": { "text": notice.text } });
    };
    let hint = if place.hint.is_empty() {
        String::new()
    } else {
        format!(" ({})", place.hint)
    };
    let mut location = json!({ "artifactLocation": { "uri": place.file } });
    // SARIF counts from 1, and a region without a line is none.
    if place.line > 0
        && let Some(members) = location.as_object_mut()
    {
        let region = json!({ "startLine": place.line, "startColumn": place.column.max(1) });
        members.insert("region".to_owned(), region);
    }
    json!({
        "ruleId": "policy",
        "level": level,
        "message": { "text": format!("{}{hint}", place.message) },
        "locations": [{ "physicalLocation": location }],
        "properties": { "policy": place.policy },
    })
}
